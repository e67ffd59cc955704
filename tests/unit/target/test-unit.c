/* SPDX-License-Identifier: Apache-2.0 */
#include "target/unit.h"

#include <string.h>

#define SYSTEM ((uid_t)-1)

static const struct {
    const char *path;
    const char *name; /* NULL: it is in none */
    uid_t manager;
} cases[] = {
    {"/system.slice/redis-server.service", "redis-server.service", SYSTEM},
    {"/system.slice/system-redis.slice/redis@a.service/payload", "redis@a.service", SYSTEM},
    {"/machine.slice/outer.service/inner.scope/x", "inner.scope", SYSTEM},
    {"/user.slice/user-1000.slice/user@1000.service/app.slice/app-x.scope", "app-x.scope", 1000},
    {"/user.slice/user-1000.slice/user@1000.service/app.slice/a.service/b", "a.service", 1000},
    {"/user.slice/user-1000.slice/user@1000.service", "user@1000.service", SYSTEM},
    {"/user.slice/user-1000.slice/session-3.scope", "session-3.scope", SYSTEM},
    {"/user@.service/a.service", "a.service", SYSTEM},
    {"/user@4294967295.service/a.service", "a.service", SYSTEM},
    {"/user@-1.service/a.service", "a.service", SYSTEM},
    {"/", NULL, 0},
    {"", NULL, 0},
    {"/system.slice", NULL, 0},
    {"/docker/023a9eda38fb", NULL, 0},
    {"/system.slice/shop.service/a\xff.service", "shop.service", SYSTEM},
    {"/system.slice/shop.service/\033]0;x\a.scope", "shop.service", SYSTEM},
    {"/system.slice/\xc3\xa9.service", NULL, 0},
};

static void
test_paths(void)
{
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        Unit unit;
        g_assert_cmpint(unit_of_path(cases[i].path, &unit), ==, cases[i].name != NULL);
        if (cases[i].name == NULL)
            continue;
        g_assert_cmpstr(unit.name, ==, cases[i].name);
        g_assert_cmpuint(unit.manager, ==, cases[i].manager);
    }
}

/* Longer than any unit of systemd's. */
static void
test_long_name(void)
{
    Unit unit;
    g_autofree char *name = g_strnfill(UNIT_NAME_SIZE - strlen(".service"), 'x');
    g_autofree char *path = g_strconcat("/", name, ".service", NULL);
    g_assert_false(unit_of_path(path, &unit));
    g_assert_true(unit_of_path(path + 2, &unit));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/unit/paths", test_paths);
    g_test_add_func("/unit/long-name", test_long_name);
    return g_test_run();
}
