/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/groups.h"

static FleetCensus
census_of(const FleetProcess *processes, guint n)
{
    FleetCensus census = {.processes = g_array_new(FALSE, FALSE, sizeof(FleetProcess))};
    g_array_append_vals(census.processes, processes, n);
    return census;
}

static void
test_sums(void)
{
    static const FleetProcess processes[] = {
        {.service = "a",
         .host = "h1",
         .version = "1",
         .inuse = 10,
         .variance = 4,
         .allocated = 9,
         .resident = 12,
         .time = 5},
        {.service = "a", .host = "h2", .version = "2", .inuse = 20, .variance = 5, .time = 7},
        {.service = "b", .host = "h1", .version = "1", .inuse = 50, .variance = 1, .allocated = 1, .resident = 2},
    };
    g_auto(FleetCensus) census = census_of(processes, G_N_ELEMENTS(processes));
    g_autoptr(GPtrArray) services = fleet_groups(&census, FLEET_BY_SERVICE);
    g_autoptr(GPtrArray) hosts = fleet_groups(&census, FLEET_BY_HOST);
    g_autoptr(GHashTable) by_service = fleet_groups_by_name(services);
    g_autoptr(GHashTable) by_host = fleet_groups_by_name(hosts);
    const FleetGroup *a = g_hash_table_lookup(by_service, "a");
    gdouble variance, median;
    g_assert_cmpuint(services->len, ==, 2);
    g_assert_cmpstr(((const FleetGroup *)services->pdata[0])->name, ==, "b");
    g_assert_cmpuint(a->processes, ==, 2);
    g_assert_cmpuint(a->hosts, ==, 2);
    g_assert_cmpuint(a->versions, ==, 2);
    g_assert_cmpuint(a->counted, ==, 1);
    g_assert_cmpint(a->latest, ==, 7);
    g_assert_cmpfloat(a->inuse, ==, 30);
    g_assert_cmpfloat(fleet_group_each(a, &variance), ==, 15);
    g_assert_cmpfloat(variance, ==, 9 / 4.0);
    g_assert_cmpuint(((const FleetGroup *)g_hash_table_lookup(by_host, "h1"))->processes, ==, 2);
    g_assert_null(g_hash_table_lookup(by_host, "h3"));
    g_assert_false(fleet_groups_mark(hosts, &median));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/groups/sums", test_sums);
    return g_test_run();
}
