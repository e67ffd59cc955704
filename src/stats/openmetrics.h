/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples as text that Prometheus reads as OpenMetrics 1.0 and as its own format 0.0.4 alike (https://openmetrics.io);
 * for that, a counter's TYPE and HELP name it with its "_total", as 0.0.4 requires, unless strict. Families "jemalloc_"
 * + the metric's name + its base unit, counters with "_total". Times are in seconds, a decay time of "never" is +Inf.
 * The label of arenas is arena (by default only "merged"), that of size classes size; the caller gives those of
 * targets.
 */
#ifndef JESCOPE_STATS_OPENMETRICS_H
#define JESCOPE_STATS_OPENMETRICS_H

#include "stats/stats.h"

typedef enum {
    OPENMETRICS_ARENAS = 1 << 0,  /* every arena, not the merged one alone */
    OPENMETRICS_CLASSES = 1 << 1, /* size classes: many series */
    OPENMETRICS_STRICT = 1 << 2,  /* TYPE and HELP of a counter without "_total": OpenMetrics alone, not 0.0.4 */
} OpenMetricsParts;

typedef struct {
    const StatsSample *sample;
    const char *const *labels; /* name, value, name, value..., NULL; NULL: none */
} OpenMetricsSource;

/* A family that is not of the sample. */
typedef struct {
    const char *name; /* a counter's with "_total" */
    StatsType type;
    const char *unit; /* the name's suffix: "bytes"; "" for none */
    const char *help; /* without the full stop */
} OpenMetricsFamily;

/* Its TYPE, UNIT and HELP; of PARTS only OPENMETRICS_STRICT counts. */
void openmetrics_announce(GString *out, const OpenMetricsFamily *family, OpenMetricsParts parts);

/* Adds NAME="VALUE" to a list of labels. */
void openmetrics_append_label(GString *labels, const char *name, const char *value);

/* The family of METRIC, a counter's with "_total"; free with g_free(). */
char *openmetrics_family(StatsMetric metric);

/* All families of COUNT sources, each family once, "# EOF" not written. */
void openmetrics_append(GString *out, const OpenMetricsSource *sources, guint count, OpenMetricsParts parts);

void openmetrics_append_end(GString *out);

#endif
