/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/openmetrics.h"

#include <string.h>

static void
test_families(void)
{
    static const struct {
        StatsMetric metric;
        const char *family;
    } rows[] = {
        {STATS_ALLOCATED, "jemalloc_allocated_bytes"},
        {STATS_ZERO_REALLOCS, "jemalloc_zero_reallocs_total"},
        {STATS_BACKGROUND_INTERVAL, "jemalloc_background_thread_run_interval_seconds"},
        {STATS_ARENA_TCACHE, "jemalloc_arena_tcache_bytes"},
        {STATS_ARENA_DIRTY_DECAY, "jemalloc_arena_dirty_decay_seconds"},
        {STATS_ARENA_DIRTY_PURGED, "jemalloc_arena_dirty_purged_pages_total"},
        {STATS_MUTEX_TOTAL_WAIT, "jemalloc_mutex_total_wait_time_seconds_total"},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *family = openmetrics_family(rows[i].metric);
        g_assert_cmpstr(family, ==, rows[i].family);
    }
}

static void
test_values(void)
{
    static const char *const labels[] = {"target", "a\"b\\c\nd", NULL};
    g_autoptr(StatsSample) one = stats_sample_new(STATS_SOURCE_LIVE);
    g_autoptr(StatsSample) other = stats_sample_new(STATS_SOURCE_LIVE);
    const OpenMetricsSource sources[] = {{one, labels}, {other, NULL}};
    stats_values_set(one->totals, STATS_ALLOCATED, G_MAXUINT64);
    stats_values_set(other->totals, STATS_ALLOCATED, 5);
    stats_values_set(other->totals, STATS_BACKGROUND_INTERVAL, 1500000000);
    stats_values_set(stats_sample_arena(one, 7)->values, STATS_ARENA_DIRTY_DECAY, (uint64_t)-1);
    g_autoptr(GString) out = g_string_new(NULL);
    openmetrics_append(out, sources, 2, OPENMETRICS_ARENAS);
    openmetrics_append_end(out);
    const char *allocated =
        strstr(out->str, "jemalloc_allocated_bytes{target=\"a\\\"b\\\\c\\nd\"} 18446744073709551615\n"
                         "jemalloc_allocated_bytes 5\n");
    g_assert_nonnull(allocated);
    g_assert_null(strstr(allocated, "# TYPE jemalloc_allocated_bytes"));
    g_assert_nonnull(strstr(out->str, "jemalloc_background_thread_run_interval_seconds 1.5\n"));
    g_assert_nonnull(strstr(out->str, ",arena=\"7\"} +Inf\n"));
    g_assert_null(strstr(out->str, "jemalloc_mapped_bytes"));
    g_assert_true(g_str_has_suffix(out->str, "\n# EOF\n"));
}

static void
test_strict(void)
{
    static const OpenMetricsFamily family = {"own_seconds_total", STATS_COUNTER, "seconds", "Time spent"};
    g_autoptr(StatsSample) sample = stats_sample_new(STATS_SOURCE_LIVE);
    g_autoptr(GString) out = g_string_new(NULL);
    stats_values_set(sample->totals, STATS_ZERO_REALLOCS, 3);
    openmetrics_append(out, &(OpenMetricsSource){sample, NULL}, 1, OPENMETRICS_STRICT);
    g_assert_cmpstr(out->str, ==,
                    "# TYPE jemalloc_zero_reallocs counter\n"
                    "# HELP jemalloc_zero_reallocs Calls of realloc with a pointer and size zero.\n"
                    "jemalloc_zero_reallocs_total 3\n");
    g_string_truncate(out, 0);
    openmetrics_announce(out, &family, OPENMETRICS_STRICT);
    g_assert_cmpstr(out->str, ==,
                    "# TYPE own_seconds counter\n# UNIT own_seconds seconds\n# HELP own_seconds Time spent.\n");
    g_string_truncate(out, 0);
    openmetrics_announce(out, &family, 0);
    g_assert_cmpstr(out->str, ==, "# TYPE own_seconds_total counter\n# HELP own_seconds_total Time spent.\n");
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/stats/openmetrics/families", test_families);
    g_test_add_func("/stats/openmetrics/values", test_values);
    g_test_add_func("/stats/openmetrics/strict", test_strict);
    return g_test_run();
}
