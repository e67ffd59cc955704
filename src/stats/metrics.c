/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/stats.h"

#include <string.h>

const StatsMetricInfo stats_metrics[STATS_METRIC_COUNT] = {
#define STATS_METRIC(scope, id, name, controls, json, text, ctype, type, unit, versions, help)                         \
    {STATS_SCOPE_##scope, name,         controls,          json,     text,                                             \
     STATS_CTYPE_##ctype, STATS_##type, STATS_UNIT_##unit, versions, help},
#include "stats/metrics.def"
#undef STATS_METRIC
};

/* The first metric of each scope in metrics.def, whose rows are consecutive (checked by a test). */
static const StatsMetric scope_firsts[STATS_SCOPE_COUNT + 1] = {
    [STATS_SCOPE_TOTALS] = STATS_ALLOCATED, [STATS_SCOPE_ARENA] = STATS_ARENA_THREADS,
    [STATS_SCOPE_BIN] = STATS_BIN_SIZE,     [STATS_SCOPE_LARGE] = STATS_LARGE_SIZE,
    [STATS_SCOPE_MUTEX] = STATS_MUTEX_OPS,  [STATS_SCOPE_COUNT] = STATS_METRIC_COUNT,
};

static const char *const unit_names[] = {
    [STATS_UNIT_BYTES] = "bytes",
    [STATS_UNIT_PAGES] = "pages",
    [STATS_UNIT_COUNT] = "count",
    [STATS_UNIT_NANOSECONDS] = "nanoseconds",
    [STATS_UNIT_MILLISECONDS] = "milliseconds",
};

G_DEFINE_QUARK(jescope_stats_error, stats_error)

StatsMetric
stats_scope_first(StatsScope scope)
{
    return scope_firsts[scope];
}

guint
stats_scope_count(StatsScope scope)
{
    return scope_firsts[scope + 1] - scope_firsts[scope];
}

gboolean
stats_metric_by_name(const char *name, StatsMetric *metric)
{
    for (guint i = 0; i < STATS_METRIC_COUNT; i++) {
        if (strcmp(stats_metrics[i].name, name) == 0) {
            *metric = (StatsMetric)i;
            return TRUE;
        }
    }
    return FALSE;
}

const char *
stats_unit_name(StatsUnit unit)
{
    return unit_names[unit];
}
