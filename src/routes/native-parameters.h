/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parameters of the native API: in the query, or in a body that is a form or a JSON object; the query's comes first.
 * Errors are answered here, with the parameter and its value: a false result means that the reply is complete.
 */
#ifndef JESCOPE_ROUTES_NATIVE_PARAMETERS_H
#define JESCOPE_ROUTES_NATIVE_PARAMETERS_H

#include "routes/query.h"
#include "routes/route.h"

/* Beside CHOICE_SAMPLER_ROW. */
#define NATIVE_SAMPLER_MEMORY_ROW                                                                                      \
    {                                                                                                                  \
        "sampler-memory", "size",                                                                                      \
            "memory that jescope's own sampler uses at most, until it is off again, rounded to a power of two; from "  \
            "1MiB to what the server allows (--max-sampler-memory, 8MiB by default)"                                   \
    }

/* Whether all that REQUEST brings are parameters of ROUTE, short enough. */
bool native_check(const Route *route, const RouteRequest *request, RouteReply *reply);

QueryState native_find(const RouteRequest *request, const char *name, QueryValue *value);

/* What a value must be; each kind has its limits. */
typedef enum {
    NATIVE_DURATION, /* milliseconds, as long as a lease may be */
    NATIVE_WATCH,    /* milliseconds that a request may last */
    NATIVE_PERIOD,   /* bytes */
    NATIVE_OUTPUT,   /* bytes of a dump */
    NATIVE_SAMPLER_MEMORY,
    NATIVE_NUMBER,
    NATIVE_COUNT,           /* of rows */
    NATIVE_THREADS,         /* at least one */
    NATIVE_ARENA,           /* a number, or CONTROL_ALL_ARENAS */
    NATIVE_SIGNED,          /* an int64_t */
    NATIVE_BOOLEAN,         /* 0 or 1 */
    NATIVE_NEEDED = 1 << 8, /* beside a kind: to leave it out is an error */
} NativeKind;

/* Reads the parameter NAME, of the kind that WANTED names. If it is absent, *VALUE stays as it is. */
bool native_read(const RouteRequest *request, unsigned wanted, const char *name, uint64_t *value, RouteReply *reply);
/* A duration by the name "for", or "duration", but not both. NEEDED: NATIVE_NEEDED or 0. */
bool native_for(const RouteRequest *request, unsigned needed, uint64_t *ms, RouteReply *reply);
/* A sampling period: *PERIOD as WireLeaseRequest.period, 0 if the parameter "sample" is absent. */
bool native_period(const RouteRequest *request, uint32_t *period, RouteReply *reply);
/* The parameters "sampler" and "sampler-memory"; the memory is one that HOST allows. */
bool native_choice(const RouteHost *host, const RouteRequest *request, SamplerChoice *choice, RouteReply *reply);

/* The parameters "force" and "max-output", and "symbolize". */
bool native_capture(const RouteRequest *request, RouteCapture *capture, RouteReply *reply);

/* Refuses a value: MUST completes "it must be ...". */
void native_refuse(RouteReply *reply, const char *name, const char *value, const char *must);

#endif
