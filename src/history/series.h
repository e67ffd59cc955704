/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time series of values in the history, one per target and value.
 *
 * A selector names values: METRIC[@OWNER[/ITEM]]. METRIC is a name of metrics.def. OWNER is an arena's number,
 * "merged", "destroyed", "all" (each real arena separately) or, for mutexes, "global"; the default is all arenas
 * together. ITEM is the size of a class in bytes, the name of a mutex, or "all" (each separately), the default.
 */
#ifndef JESCOPE_HISTORY_SERIES_H
#define JESCOPE_HISTORY_SERIES_H

#include "history/history.h"

typedef struct {
    gint64 time_us; /* time of the sample; with a step: the start of the step */
    double value;
    gboolean after_gap; /* samples before it are missing, or from another process */
} SeriesPoint;

typedef struct {
    char *target;
    StatsMetric metric;
    guint owner; /* as in SectionKey: 0: the process; otherwise arena + 1 */
    char *item;  /* the size of the class or the name of the mutex; NULL: neither */
    gboolean rate;
    GArray *points; /* SeriesPoint, by time */
} Series;

/* Limits for one query; 0: no limit. */
typedef struct {
    guint64 values; /* values read from samples, even if a step combines them */
    guint64 points; /* in all series together */
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
    gboolean rate; /* change per second instead of the value; not computed across a restart */
    SeriesLimits limits;
} SeriesQuery;

/* The series of QUERY, of Series, by selector, target, owner and item. NULL with HISTORY_ERROR_MISSING for an unknown
 * target or metric, or with HISTORY_ERROR_TOO_LARGE once QUERY->limits are exceeded. A selector without values in the
 * range yields no series. */
GPtrArray *series_read(History *history, const SeriesQuery *query, GError **error);

/* "arena.mapped@3", "bin.curregs@merged/16", "allocated". */
char *series_selector(const Series *series);

/* "bytes", "bytes per second". */
char *series_unit(const Series *series);

#endif
