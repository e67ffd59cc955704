/* SPDX-License-Identifier: Apache-2.0 */
#include "site/metrics.h"

#include <string.h>

static void
test_format(void)
{
    static const struct {
        const char *accept;
        MetricsFormat format;
    } rows[] = {
        {NULL, METRICS_TEXT},
        {"", METRICS_TEXT},
        {"*/*", METRICS_TEXT},
        {"text/plain", METRICS_TEXT},
        {"application/openmetrics-text", METRICS_OPENMETRICS},
        {"Application/OpenMetrics-Text; version=1.0.0", METRICS_OPENMETRICS},
        {"application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1", METRICS_OPENMETRICS},
        {"application/openmetrics-text;q=0.5,text/plain", METRICS_TEXT},
        {"application/openmetrics-text;q=0", METRICS_TEXT},
        {"application/openmetrics-text;q=7,text/plain", METRICS_OPENMETRICS},
        {"application/openmetrics-textual", METRICS_TEXT},
        {",;,;;=,q=,;q", METRICS_TEXT},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
        g_assert_cmpint(metrics_format(rows[i].accept), ==, rows[i].format);
}

static void
test_ourselves(void)
{
    g_autoptr(GPtrArray) none = g_ptr_array_new();
    MetricsOwn own = {.service = {.targets = 3, .done = G_MAXUINT64}, .server = {.connections = 5, .by_class[3] = 7}};
    const RuleCount count = {.rule = g_strdup("a\"b"), .series = {[RULE_HOLDING] = 4}};
    g_autoptr(GArray) rules = rule_counts_new();
    own.rules = g_array_append_val(rules, count);
    MetricsScrape scrape = {.scraped = none, .duration_us = 1500000, .own = &own};
    g_autoptr(GBytes) bytes = metrics_write(&scrape, METRICS_OPENMETRICS);
    g_autofree char *text = g_strndup(g_bytes_get_data(bytes, NULL), g_bytes_get_size(bytes));
    g_assert_nonnull(strstr(text, "# TYPE jescope_work_done counter\n"));
    g_assert_nonnull(strstr(text, "\njescope_work_done_total 18446744073709551615\n"));
    g_assert_nonnull(strstr(text, "\njescope_targets 3\n"));
    g_assert_nonnull(strstr(text, "\njescope_http_connections 5\n"));
    g_assert_nonnull(strstr(text, "\njescope_http_responses_total{class=\"4xx\"} 7\n"));
    g_assert_nonnull(strstr(text, "\njescope_scrape_duration_seconds 1.5\n"));
    g_assert_nonnull(strstr(text, "\njescope_rule_series{rule=\"a\\\"b\",state=\"armed\"} 0\n"));
    g_assert_nonnull(strstr(text, "\njescope_rule_series{rule=\"a\\\"b\",state=\"holding\"} 4\n"));
    g_assert_null(strstr(text, "jescope_target_up"));
    g_assert_true(g_str_has_suffix(text, "\n# EOF\n"));
}

static void
test_targets_alone(void)
{
    g_autoptr(GPtrArray) none = g_ptr_array_new();
    MetricsScrape scrape = {.scraped = none, .duration_us = 2};
    static const char expected[] =
        "# TYPE jescope_scrape_duration_seconds gauge\n"
        "# UNIT jescope_scrape_duration_seconds seconds\n"
        "# HELP jescope_scrape_duration_seconds Time this scrape took.\n"
        "jescope_scrape_duration_seconds 2e-06\n"
        "# TYPE jescope_scrape_late_targets gauge\n"
        "# HELP jescope_scrape_late_targets Targets that did not answer this scrape in time.\n"
        "jescope_scrape_late_targets 0\n";
    g_autoptr(GBytes) bytes = metrics_write(&scrape, METRICS_TEXT);
    g_assert_cmpmem(g_bytes_get_data(bytes, NULL), g_bytes_get_size(bytes), expected, strlen(expected));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/site/metrics/format", test_format);
    g_test_add_func("/site/metrics/ourselves", test_ourselves);
    g_test_add_func("/site/metrics/targets-alone", test_targets_alone);
    return g_test_run();
}
