/* SPDX-License-Identifier: Apache-2.0 */
/* Queries a store of many processes' dumps. To be used by one thread at a time; every call may block. */
#ifndef JESCOPE_FLEET_STORE_H
#define JESCOPE_FLEET_STORE_H

#include "export/destination.h"
#include "fleet/question.h"
#include "fleet/state.h"

typedef struct FleetStore FleetStore;

/* URL is clickhouse://HOST:PORT/DATABASE. Does not connect yet. */
FleetStore *fleet_store_new(const char *url, const ExportAccess *access, GError **error);
/* Whether URL is valid; reads no file. */
gboolean fleet_store_check(const char *url, GError **error);
void fleet_store_free(FleetStore *store);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(FleetStore, fleet_store_free)

/* The bytes that all answers to one FleetStore may have together, after which each call fails with FLEET_ERROR_ANSWER.
 * A test sets fewer. */
#define FLEET_ANSWERS_MAX ((guint64)2 << 30)
/* Of one that is a table: some 400 000 processes. */
#define FLEET_TABLE_MAX ((gsize)64 << 20)
void fleet_store_limit(FleetStore *store, guint64 bytes);

/* The memory that the values of all answers together may take (document_weight()), after which each call fails in the
 * same way: three bytes of an answer can stand for a hundred. Some 150 000 stacks of 50 frames. A test sets less. */
#define FLEET_VALUES_MAX ((guint64)2 << 30)
void fleet_store_limit_values(FleetStore *store, guint64 bytes);

/* The hosts that all answers to fleet_trace() may have together: some 40 000 at each moment. */
#define FLEET_HOLDINGS_MAX ((guint64)1 << 19)

/* The time that is waited for all answers together, after which each call fails with FLEET_ERROR_SLOW: a command asks
 * up to some dozens of questions, and a store decides how many more there are. A test sets less. */
#define FLEET_WAIT_MS (120 * 1000)
void fleet_store_limit_time(FleetStore *store, guint milliseconds);

/* The name of its database, which needs no quoting in SQL. */
const char *fleet_store_database(const FleetStore *store);
char *fleet_store_version(FleetStore *store, GError **error); /* of the server: "18.16.1". To be freed */

/* Part of the fleet, at a time or over a range of times. */
typedef struct {
    FleetFilter filter;
    gint64 at;       /* microseconds since 1970; 0: the time of the latest dump */
    gint64 from, to; /* a range instead of AT, sampled at FLEET_MOMENTS moments; 0: none */
    gint64 window;   /* microseconds: maximum age of a process's dump at a moment */
} FleetPart;

enum { FLEET_MOMENTS = 12 };

/* One process at a moment. */
typedef struct {
    const char *service, *host, *version, *zone;
    guint64 pid;
    gint64 time; /* time of its dump */
    gdouble inuse, variance;
    gdouble allocated, resident; /* from the allocator's counters; 0: unknown */
} FleetProcess;

typedef struct {
    gint64 time;
    GArray *processes; /* of FleetProcess; texts are owned by the census */
    gpointer rows;     /* private */
} FleetCensus;

void fleet_census_clear(FleetCensus *census);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(FleetCensus, fleet_census_clear)

/* The processes of PART at TIME, one of fleet_part_moments(). */
gboolean fleet_census(FleetStore *store, const FleetPart *part, gint64 time, FleetCensus *census, GError **error);

/* Sets *N to the number of moments of PART, and TIMES to their times in ascending order. FALSE with FLEET_ERROR_EMPTY
 * if the store has no matching dump. */
gboolean fleet_part_moments(FleetStore *store, const FleetPart *part, gint64 times[FLEET_MOMENTS], guint *n,
                            GError **error);

typedef enum {
    FLEET_SUM,         /* total of all processes */
    FLEET_PER_PROCESS, /* mean per process */
} FleetScale;

/* The stacks of a part, for fleet_document_read(). */
typedef struct {
    GArray *documents; /* of int: descriptors, one, or one per moment */
    GArray *times;     /* of gint64: the time of each document */
    guint moments;
    guint processes, hosts; /* at the latest moment */
    gsize bytes;            /* total of all documents; bounded */
} FleetTaken;

void fleet_taken_clear(FleetTaken *taken);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(FleetTaken, fleet_taken_clear)

/* Takes all moments in one document. FALSE with FLEET_ERROR_EMPTY if there is no process at any moment. */
gboolean fleet_take(FleetStore *store, const FleetPart *part, FleetScale scale, FleetTaken *taken, GError **error);

/* Takes one document per moment. */
gboolean fleet_take_series(FleetStore *store, const FleetPart *part, FleetTaken *taken, GError **error);

/* The bytes in use in stacks with a function, on one host. */
typedef struct {
    char *host;
    gdouble inuse, variance;
} FleetHolding;

/* The FleetHolding of each host with FUNCTION in a stack, at TIME. NULL with ERROR: FLEET_ERROR_ANSWER, if the store
 * has named more than FLEET_HOLDINGS_MAX. */
GPtrArray *fleet_trace(FleetStore *store, const FleetPart *part, gint64 time, const char *function, GError **error);

/* Drops all days before DAY ("2026-11-22") from all tables. Returns their number, -1 with ERROR: FLEET_ERROR_ANSWER,
 * before any is dropped, if the store lists something other than such days of jescope's tables, one of them twice, or
 * more than FLEET_PARTITIONS_MAX. */
enum { FLEET_PARTITIONS_MAX = 16384 };
int fleet_expire(FleetStore *store, const char *day, GError **error);

#endif
