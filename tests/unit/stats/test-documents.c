/* SPDX-License-Identifier: Apache-2.0 */
/* docs/metrics.md and docs/advice.md are what the tables say; with the argument --write they are made so. */
#include "stats/advice.h"
#include "stats/openmetrics.h"

#include <string.h>

static const char *const scope_titles[] = {
    [STATS_SCOPE_TOTALS] = "The process",
    [STATS_SCOPE_ARENA] = "An arena, or all of them merged",
    [STATS_SCOPE_BIN] = "A small size class of an arena",
    [STATS_SCOPE_LARGE] = "A large size class of an arena",
    [STATS_SCOPE_MUTEX] = "A mutex",
};

static void
append_metric(GString *out, StatsMetric metric)
{
    static const char *const types[] = {[STATS_GAUGE] = "gauge", [STATS_COUNTER] = "counter"};
    const StatsMetricInfo *info = &stats_metrics[metric];
    g_autofree char *family = openmetrics_family(metric);
    g_auto(GStrv) controls = g_strsplit(info->controls, " ", -1);
    g_autofree char *listed = g_strjoinv("`, `", controls);
    g_string_append_printf(out, "| `%s` | %s | %s | %s | %s%s%s | `%s` | %s |\n", info->name, types[info->type],
                           stats_unit_name(info->unit), info->versions, listed[0] != '\0' ? "`" : "", listed,
                           listed[0] != '\0' ? "`" : "", family, info->help);
}

static char *
metrics_document(void)
{
    g_autoptr(GString) out = g_string_new(
        "<!-- SPDX-License-Identifier: Apache-2.0 -->\n<!-- Made from src/stats/metrics.def by `ninja -C build "
        "update-metrics`. -->\n# Metrics\n\nWhat jescope reads of jemalloc's statistics, by which name, and what it is "
        "called elsewhere. A value that a version or a\nsource does not have is absent, never zero. Where no control "
        "is "
        "named, the value follows from others or comes from the system.\n");
    for (guint scope = 0; scope < STATS_SCOPE_COUNT; scope++) {
        g_string_append_printf(out,
                               "\n## %s\n\n| name | type | unit | jemalloc | control | OpenMetrics | what |\n"
                               "|---|---|---|---|---|---|---|\n",
                               scope_titles[scope]);
        StatsMetric first = stats_scope_first((StatsScope)scope);
        for (guint i = 0; i < stats_scope_count((StatsScope)scope); i++)
            append_metric(out, first + i);
    }
    return g_string_free(g_steal_pointer(&out), FALSE);
}

static char *
advice_document(void)
{
    g_autoptr(GString) out = g_string_new(
        "<!-- SPDX-License-Identifier: Apache-2.0 -->\n<!-- Made from src/stats/advice.c by `ninja -C build "
        "update-metrics`. -->\n# Advice\n\n`jescope stats --advise` looks for these. Each finding comes with the "
        "numbers "
        "that show it; a rule whose values the source does\nnot have is silent. Thresholds are where a change is "
        "likely to "
        "be worth it, not where something is broken.\n");
    for (guint i = 0; advice_rule(i) != NULL; i++) {
        const AdviceRule *rule = advice_rule(i);
        g_string_append_printf(out, "\n## %s\n\n%s.\n\n- Found when: %s.\n- Change: %s.\n", rule->id, rule->finding,
                               rule->threshold, rule->change);
    }
    return g_string_free(g_steal_pointer(&out), FALSE);
}

static const struct {
    const char *file;
    char *(*make)(void);
} documents[] = {{"metrics.md", metrics_document}, {"advice.md", advice_document}};

static void
test_documents(void)
{
    for (gsize i = 0; i < G_N_ELEMENTS(documents); i++) {
        g_autofree char *path = g_build_filename(DOCS, documents[i].file, NULL);
        g_autofree char *made = documents[i].make();
        g_autofree char *kept = NULL;
        g_assert_true(g_file_get_contents(path, &kept, NULL, NULL));
        if (strcmp(made, kept) != 0)
            g_test_message("%s is out of date: run 'ninja -C build update-metrics'", documents[i].file);
        g_assert_cmpstr(made, ==, kept);
    }
}

static int
write_documents(void)
{
    gboolean fine = TRUE;
    for (gsize i = 0; i < G_N_ELEMENTS(documents); i++) {
        g_autofree char *path = g_build_filename(DOCS, documents[i].file, NULL);
        g_autofree char *made = documents[i].make();
        fine &= g_file_set_contents(path, made, -1, NULL);
    }
    return fine ? 0 : 1;
}

int
main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--write") == 0)
        return write_documents();
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/stats/documents", test_documents);
    return g_test_run();
}
