/* SPDX-License-Identifier: Apache-2.0 */
/* What a request is about, and on which threads it is answered. */
#include "site/resolved.h"
#include "site/table.h"

#include <string.h>

static Resolved *
resolve(const char *method, const char *path, const char *query)
{
    static const Site site = {.tables = site_tables, .dialects = ROUTE_DIALECT_ALL};
    return resolved_new(&site, &(RouteRequest){.method = method, .path = path, .query = query, .body = ""});
}

/* However long its name is: an empty one would be the default target. */
static void
test_keeps_the_target(void)
{
    static const char *const patterns[] = {"/api/v1/targets/%s", "/api/v1/targets/%s/profiling",
                                           "/api/v1/targets/%s/series", "/targets/%s/mtev/heap_profile"};
    static const gsize lengths[] = {1, 63, 64, 65, SERVER_URI_MAX - 32};
    for (gsize i = 0; i < G_N_ELEMENTS(patterns); i++)
        for (gsize n = 0; n < G_N_ELEMENTS(lengths); n++) {
            g_autofree char *name = g_strnfill(lengths[n], 'x');
            g_auto(GStrv) halves = g_strsplit(patterns[i], "%s", 2);
            g_autofree char *path = g_strconcat(halves[0], name, halves[1], NULL);
            g_autoptr(Resolved) resolved = resolve("GET", path, "");
            g_assert_cmpint(resolved->match.state, ==, ROUTE_MATCHED);
            g_assert_cmpstr(resolved->target, ==, name);
        }
}

/* URLs in replies lead back to the target, whatever it is called. */
static void
test_encodes_the_prefix(void)
{
    g_autoptr(Resolved) resolved = resolve("GET", "/targets/a?b#c d%é\"/mtev/heap_profile", "");
    g_assert_cmpstr(resolved->target, ==, "a?b#c d%é\"");
    g_assert_cmpstr(resolved->prefix, ==, "/targets/a%3Fb%23c%20d%25%C3%A9%22");
}

/* A profile of now does not wait for the threads that sleep as long as others asked. */
static void
test_only_what_sleeps_waits_for_sleepers(void)
{
    static const struct {
        const char *path, *query;
        ServicePace pace;
    } rows[] = {
        {"/debug/pprof/heap", "", SERVICE_SLOW},           {"/debug/pprof/allocs", "debug=1", SERVICE_SLOW},
        {"/debug/pprof/heap", "seconds=1", SERVICE_WAITS}, {"/pprof/heap", "seconds=1", SERVICE_SLOW},
        {"/mtev/heap_profile", "", SERVICE_QUICK},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(Resolved) resolved = resolve("GET", rows[i].path, rows[i].query);
        ServiceWork work = resolved_work(resolved, NULL);
        g_assert_cmpint(work.pace, ==, rows[i].pace);
        work.free_data(work.data);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/site/resolved/keeps-the-target", test_keeps_the_target);
    g_test_add_func("/site/resolved/encodes-the-prefix", test_encodes_the_prefix);
    g_test_add_func("/site/resolved/only-what-sleeps-waits-for-sleepers", test_only_what_sleeps_waits_for_sleepers);
    return g_test_run();
}
