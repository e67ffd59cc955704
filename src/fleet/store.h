/* SPDX-License-Identifier: Apache-2.0 */
/* A store of many processes' dumps, which is asked. Belongs to one thread at a time; every call may block. */
#ifndef JESCOPE_FLEET_STORE_H
#define JESCOPE_FLEET_STORE_H

#include "export/destination.h"
#include "fleet/question.h"
#include "fleet/state.h"

typedef struct FleetStore FleetStore;

/* URL is clickhouse://HOST:PORT/DATABASE. Nothing is sent yet. */
FleetStore *fleet_store_new(const char *url, const ExportAccess *access, GError **error);
/* Whether URL can be one; no file is read. */
gboolean fleet_store_check(const char *url, GError **error);
void fleet_store_free(FleetStore *store);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(FleetStore, fleet_store_free)

/* The name of its database, which needs no quotes in SQL. */
const char *fleet_store_database(const FleetStore *store);
char *fleet_store_version(FleetStore *store, GError **error); /* of the server: "18.16.1". To be freed */

/* Part of the fleet, at a time or over a range of times. */
typedef struct {
    FleetFilter filter;
    gint64 at;       /* microseconds since 1970; 0: when the latest dump was taken */
    gint64 from, to; /* a range instead of a time: FLEET_MOMENTS moments of it; 0: none */
    gint64 window;   /* a process counts with its last dump of that long before a moment, microseconds */
} FleetPart;

enum { FLEET_MOMENTS = 12 };

/* One process at a moment. */
typedef struct {
    const char *service, *host, *version, *zone;
    guint64 pid;
    gint64 time; /* of its dump */
    gdouble inuse, variance;
    gdouble allocated, resident; /* by the allocator's own counters; 0: unknown */
} FleetProcess;

typedef struct {
    gint64 time;
    GArray *processes; /* FleetProcess, whose texts it owns */
    gpointer rows;     /* private */
} FleetCensus;

void fleet_census_clear(FleetCensus *census);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(FleetCensus, fleet_census_clear)

/* The processes of PART at MOMENT (below fleet_part_moments()). */
gboolean fleet_census(FleetStore *store, const FleetPart *part, gint64 time, FleetCensus *census, GError **error);

/* How many moments PART has, and their times in ascending order. FLEET_ERROR_EMPTY: the store has no such dump. */
gboolean fleet_part_moments(FleetStore *store, const FleetPart *part, gint64 times[FLEET_MOMENTS], guint *n,
                            GError **error);

typedef enum {
    FLEET_SUM,         /* of all processes */
    FLEET_PER_PROCESS, /* the mean of them */
} FleetScale;

/* The stacks of a part, to be read by fleet_document_read(). */
typedef struct {
    GArray *documents; /* int: descriptors, one, or one a moment */
    GArray *times;     /* gint64: of each */
    guint moments;
    guint processes, hosts; /* at the latest moment */
    gsize bytes;            /* of all documents; bounded */
} FleetTaken;

void fleet_taken_clear(FleetTaken *taken);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(FleetTaken, fleet_taken_clear)

/* All moments in one document. FLEET_ERROR_EMPTY: no process counts at any of them. */
gboolean fleet_take(FleetStore *store, const FleetPart *part, FleetScale scale, FleetTaken *taken, GError **error);

/* One document for each moment. */
gboolean fleet_take_series(FleetStore *store, const FleetPart *part, FleetTaken *taken, GError **error);

/* What stacks with FUNCTION hold on one host. */
typedef struct {
    char *host;
    gdouble inuse, variance;
} FleetHolding;

/* FleetHolding of each host that has any, at TIME. */
GPtrArray *fleet_trace(FleetStore *store, const FleetPart *part, gint64 time, const char *function, GError **error);

/* Drops the days before DAY ("2026-11-22") from all tables. Returns their number, -1 on error. */
int fleet_expire(FleetStore *store, const char *day, GError **error);

#endif
