/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds SQL queries on the tables of export/clickhouse-schema.h. They only select, filter and sum; trees, names,
 * differences and growth are computed by jescope. Answers are in ClickHouse's format JSONCompact. Every result is to be
 * freed. Times are microseconds since 1970, in UTC.
 */
#ifndef JESCOPE_FLEET_QUESTION_H
#define JESCOPE_FLEET_QUESTION_H

#include <glib.h>

/* Selects dumps; NULL members match any. */
typedef struct {
    const char *service;
    const char *version;
    const char *host;
    const char *zone;
    const char *const *labels; /* "NAME=VALUE" each, NULL at the end; or NULL */
} FleetFilter;

/* The state at a time: for each process, the last dump in the window that ends at that time. */
typedef struct {
    gint64 at;
    gint64 window;
} FleetMoment;

enum { FLEET_FUTURE_SECONDS = 300 }; /* dumps further in the future are due to wrong clocks, and ignored */

/* FALSE with G_IO_ERROR_INVALID_ARGUMENT if a label has no '='. */
gboolean fleet_filter_check(const FleetFilter *filter, GError **error);

/* One row: the time of the latest dump up to UNTIL (0: no dump), and the number of dumps. */
char *fleet_ask_latest(const char *database, const FleetFilter *filter, gint64 until);

/* Several moments, in ascending order. */
typedef struct {
    const gint64 *times;
    guint n; /* at least 1 */
    gint64 window;
} FleetMoments;

/* One row per moment that has dumps: its time as text, processes, hosts, the largest sampling period, and whether
 * cumulative values are known for all processes. */
char *fleet_ask_counts(const char *database, const FleetFilter *filter, const FleetMoments *moments);

typedef enum {
    FLEET_ALL_VALUES,
    FLEET_INUSE_VALUES, /* values in use; the others are 0 and not read */
} FleetValues;

/* One row per stack: its hash as text, the sums of the values and their variances, births, deaths. */
char *fleet_ask_stacks(const char *database, const FleetFilter *filter, const FleetMoment *moment, FleetValues values);

/* Like fleet_ask_stacks(), but summed over MOMENTS, and only from the full dumps that the dumps of these are based on,
 * which are up to an hour older: a tenth of the rows, in one query. */
char *fleet_ask_whole(const char *database, const FleetFilter *filter, const FleetMoments *moments, FleetValues values);

/* One row per stack that may occur between FROM and UNTIL: hash as text, names, files, build ids, offsets as text. */
char *fleet_ask_names(const char *database, const FleetFilter *filter, gint64 from, gint64 until);

/* One row per process: service, host, version, zone, pid, time, bytes in use, their variance, allocated, resident. */
char *fleet_ask_processes(const char *database, const FleetFilter *filter, const FleetMoment *moment);

/* One row per host: its name, the bytes in use in stacks with FUNCTION, their variance, births, deaths; from the data
 * of fleet_ask_stacks(), or with FLEET_WHOLE, of fleet_ask_whole(). */
typedef enum { FLEET_EXACT, FLEET_WHOLE } FleetDetail;
char *fleet_ask_function(const char *database, const FleetFilter *filter, const FleetMoment *moment, FleetDetail detail,
                         const char *function);

#endif
