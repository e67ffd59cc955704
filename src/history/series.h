/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Series: how values of the history moved, one series per target and value.
 *
 * A selector names values: METRIC[@OWNER[/ITEM]]. METRIC is a name of metrics.def. OWNER is an arena's number,
 * "merged", "destroyed", "all" (each real arena by itself) or, for mutexes, "global"; left out it is all arenas
 * together. ITEM is the size of a class in bytes, the name of a mutex, or "all" (each by itself), which is also what
 * leaving it out means.
 */
#ifndef JESCOPE_HISTORY_SERIES_H
#define JESCOPE_HISTORY_SERIES_H

#include "history/history.h"

typedef struct {
    gint64 time_us; /* of the sample; with a step: where the step begins */
    double value;
    gboolean after_gap; /* samples are missing before it, or the process was another */
} SeriesPoint;

typedef struct {
    char *target;
    StatsMetric metric;
    guint owner; /* as SectionKey: 0 the process, else arena + 1 */
    char *item;  /* the size of the class or the name of the mutex; NULL: neither */
    gboolean rate;
    GArray *points; /* SeriesPoint, by time */
} Series;

/* How much one query may read; 0: no limit. */
typedef struct {
    guint64 values; /* of samples, whether or not a step combines them */
    guint64 points; /* of all series together */
    guint series;
} SeriesLimits;

/* How the samples of one step become one point. */
typedef enum {
    SERIES_MEAN,
    SERIES_MIN,
    SERIES_MAX,
    SERIES_LAST,
} SeriesEach;

typedef struct {
    const char *const *targets;   /* NULL-terminated; empty: every target */
    const char *const *selectors; /* NULL-terminated */
    HistoryRange range;
    guint64 step_us; /* 0: every sample is a point */
    SeriesEach each;
    gboolean rate; /* change per second instead of the value; never across a restart */
    SeriesLimits limits;
} SeriesQuery;

/* The series of QUERY, of Series, by selector, target, owner and item. HISTORY_ERROR_MISSING: a target or metric that
 * is not kept; HISTORY_ERROR_TOO_LARGE: beyond QUERY->limits, about which little more was read than they allow. A
 * selector that no sample in the range has values for gives no series. */
GPtrArray *series_read(History *history, const SeriesQuery *query, GError **error);

/* "arena.mapped@3", "bin.curregs@merged/16", "allocated". */
char *series_selector(const Series *series);

/* "bytes", "bytes per second". */
char *series_unit(const Series *series);

#endif
