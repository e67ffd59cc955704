/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions to the tables of export/clickhouse-schema.h, as SQL that only selects, filters and adds up: trees, names,
 * differences and growth are ours. Every answer is in ClickHouse's format JSONCompact. Times are microseconds since
 * 1970, in UTC.
 */
#ifndef JESCOPE_FLEET_QUESTION_H
#define JESCOPE_FLEET_QUESTION_H

#include <glib.h>

/* Which dumps; NULL: any. */
typedef struct {
    const char *service;
    const char *version;
    const char *host;
    const char *zone;
    const char *const *labels; /* "NAME=VALUE" each, NULL at the end; or NULL */
} FleetFilter;

/* The state at a time: of each process the last dump in the window that ends then. */
typedef struct {
    gint64 at;
    gint64 window;
} FleetMoment;

enum { FLEET_FUTURE_SECONDS = 300 }; /* dumps further ahead of now are of clocks that are wrong, and not used */

/* FALSE with G_IO_ERROR_INVALID_ARGUMENT: a label has no '='. */
gboolean fleet_filter_check(const FleetFilter *filter, GError **error);

/* One row: the time of the latest dump before UNTIL (0: no dump), and the number of dumps. */
char *fleet_ask_latest(const char *database, const FleetFilter *filter, gint64 until);

/* Several of them, in ascending order. */
typedef struct {
    const gint64 *times;
    guint n; /* at least 1 */
    gint64 window;
} FleetMoments;

/* Rows, one a moment that has dumps: its time as text, processes, hosts, the largest period, whether what was allocated
 * in all is known of all processes. */
char *fleet_ask_counts(const char *database, const FleetFilter *filter, const FleetMoments *moments);

typedef enum {
    FLEET_ALL_VALUES,
    FLEET_INUSE_VALUES, /* those of what is in use; the others are 0, and not read */
} FleetValues;

/* Rows: hash as text, then the sums of the values and their variances, births, deaths. */
char *fleet_ask_stacks(const char *database, const FleetFilter *filter, const FleetMoment *moment, FleetValues values);

/* The same, added up over moments, and not of the dumps of these, but of the whole dumps that they build on, up to an
 * hour older: a tenth of the rows, in one question. */
char *fleet_ask_whole(const char *database, const FleetFilter *filter, const FleetMoments *moments, FleetValues values);

/* Rows: hash as text, names, files, build ids, offsets as text, of the stacks that FROM to UNTIL may have. */
char *fleet_ask_names(const char *database, const FleetFilter *filter, gint64 from, gint64 until);

/* Rows, one a process: service, host, version, zone, pid, time, in use, its variance, allocated, resident. */
char *fleet_ask_processes(const char *database, const FleetFilter *filter, const FleetMoment *moment);

/* Rows, one a host: its name, what stacks with FUNCTION have in use there, the variance, births, deaths; as
 * fleet_ask_stacks() has it, or, with FLEET_WHOLE, as fleet_ask_whole(). */
typedef enum { FLEET_EXACT, FLEET_WHOLE } FleetDetail;
char *fleet_ask_function(const char *database, const FleetFilter *filter, const FleetMoment *moment, FleetDetail detail,
                         const char *function);

#endif
