/* SPDX-License-Identifier: Apache-2.0 */
#include "target/user-name.h"

enum { NAMED = 1000, UNNAMED = 1001 };

static guint asked;

static char *
look_up(uid_t uid)
{
    asked++;
    return uid == NAMED ? g_strdup("alice") : NULL;
}

static char *
look_up_slowly(uid_t uid)
{
    g_usleep(2000);
    return look_up(uid);
}

static void
assert_name(UserNames *names, uid_t uid, const char *expected)
{
    g_autofree char *name = user_names_get(names, uid);
    g_assert_cmpstr(name, ==, expected);
}

/* Whether it has a name or not, the database is asked once for each id. */
static void
test_answers_are_kept(void)
{
    g_autoptr(UserNames) names = user_names_new(look_up, G_USEC_PER_SEC);
    asked = 0;
    for (guint i = 0; i < 3; i++) {
        assert_name(names, NAMED, "alice");
        assert_name(names, UNNAMED, "1001");
    }
    g_assert_cmpuint(asked, ==, 2);
}

static void
test_slow_database(void)
{
    g_autoptr(UserNames) names = user_names_new(look_up_slowly, 1000);
    asked = 0;
    assert_name(names, NAMED, "alice");
    for (uid_t uid = UNNAMED; uid < UNNAMED + 1000; uid++) {
        g_autofree char *number = g_strdup_printf("%u", uid);
        assert_name(names, uid, number);
    }
    assert_name(names, NAMED, "alice");
    g_assert_cmpuint(asked, ==, 1);
}

static void
test_the_system_s(void)
{
    g_autofree char *root = user_name(0), *none = user_name(4000000000u);
    g_assert_cmpstr(root, ==, "root");
    g_assert_cmpstr(none, ==, "4000000000");
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/target/user-name/answers-are-kept", test_answers_are_kept);
    g_test_add_func("/target/user-name/slow-database", test_slow_database);
    g_test_add_func("/target/user-name/system", test_the_system_s);
    return g_test_run();
}
