/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes samples as text that Prometheus accepts both as OpenMetrics 1.0 (https://openmetrics.io) and as its own format
 * 0.0.4: a counter's TYPE and HELP have its name with "_total", as 0.0.4 requires, unless strict. Families are named
 * "jemalloc_" + the metric's name + its base unit, counters with "_total". Times are in seconds; a decay time of
 * "never" is +Inf. Arenas have the label arena (by default only "merged"), size classes the label size; the caller adds
 * those of targets.
 */
#ifndef JESCOPE_STATS_OPENMETRICS_H
#define JESCOPE_STATS_OPENMETRICS_H

#include "stats/stats.h"

typedef enum {
    OPENMETRICS_ARENAS = 1 << 0,  /* every arena, not only the merged one */
    OPENMETRICS_CLASSES = 1 << 1, /* size classes: many series */
    OPENMETRICS_STRICT = 1 << 2,  /* TYPE and HELP of counters without "_total": only OpenMetrics, not 0.0.4 */
} OpenMetricsParts;

typedef struct {
    const StatsSample *sample;
    const char *const *labels; /* name, value, name, value..., NULL; NULL: none */
} OpenMetricsSource;

/* A family that is not from a sample. */
typedef struct {
    const char *name; /* a counter's with "_total" */
    StatsType type;
    const char *unit; /* the name's suffix: "bytes"; "" for none */
    const char *help; /* without the full stop */
} OpenMetricsFamily;

/* Appends TYPE, UNIT and HELP; of PARTS only OPENMETRICS_STRICT is used. */
void openmetrics_announce(GString *out, const OpenMetricsFamily *family, OpenMetricsParts parts);

/* Appends NAME="VALUE" to a list of labels. */
void openmetrics_append_label(GString *labels, const char *name, const char *value);

/* The name of METRIC's family, with "_total" for a counter; free with g_free(). */
char *openmetrics_family(StatsMetric metric);

/* Appends all families of COUNT sources, each family once, without "# EOF". */
void openmetrics_append(GString *out, const OpenMetricsSource *sources, guint count, OpenMetricsParts parts);

void openmetrics_append_end(GString *out);

#endif
