/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parameters of the native API, in the query or in a body that is a form or a JSON object; the query takes precedence.
 * Errors are answered here, with the parameter and its value: a false result means that the reply is complete.
 */
#ifndef JESCOPE_ROUTES_NATIVE_PARAMETERS_H
#define JESCOPE_ROUTES_NATIVE_PARAMETERS_H

#include "routes/query.h"
#include "routes/route.h"

/* To be used with CHOICE_SAMPLER_ROW. */
#define NATIVE_SAMPLER_MEMORY_ROW                                                                                      \
    {                                                                                                                  \
        "sampler-memory", "size",                                                                                      \
            "memory that jescope's own sampler uses at most, until it is off again, rounded to a power of two; from "  \
            "1MiB to what the server allows (--max-sampler-memory, 8MiB by default)"                                   \
    }

/* Whether all parameters of REQUEST are parameters of ROUTE, and not too long. */
bool native_check(const Route *route, const RouteRequest *request, RouteReply *reply);

QueryState native_find(const RouteRequest *request, const char *name, QueryValue *value);

enum { NATIVE_WATCH_MAX_MS = 300000 }; /* how long a request may last */

/* The type of a value, with its limits. */
typedef enum {
    NATIVE_DURATION, /* milliseconds, up to the maximum of a lease */
    NATIVE_WATCH,    /* milliseconds, up to NATIVE_WATCH_MAX_MS */
    NATIVE_PERIOD,   /* bytes */
    NATIVE_OUTPUT,   /* bytes of a dump */
    NATIVE_SAMPLER_MEMORY,
    NATIVE_NUMBER,
    NATIVE_COUNT,           /* a number of rows */
    NATIVE_THREADS,         /* at least one */
    NATIVE_ARENA,           /* a number, or CONTROL_ALL_ARENAS */
    NATIVE_SIGNED,          /* an int64_t */
    NATIVE_BOOLEAN,         /* 0 or 1 */
    NATIVE_NEEDED = 1 << 8, /* flag: the parameter is required */
} NativeKind;

/* Reads the parameter NAME, of the kind WANTED. If it is absent, *VALUE is unchanged. */
bool native_read(const RouteRequest *request, unsigned wanted, const char *name, uint64_t *value, RouteReply *reply);
/* Reads a duration from "for" or "duration", but not both. NEEDED: NATIVE_NEEDED or 0. */
bool native_for(const RouteRequest *request, unsigned needed, uint64_t *ms, RouteReply *reply);
/* Reads a sampling period: *PERIOD as WireLeaseRequest.period, 0 if the parameter "sample" is absent. */
bool native_period(const RouteRequest *request, uint32_t *period, RouteReply *reply);
/* Reads the parameters "sampler" and "sampler-memory"; the memory must be allowed by HOST. */
bool native_choice(const RouteHost *host, const RouteRequest *request, SamplerChoice *choice, RouteReply *reply);

/* Reads the parameters "force", "max-output" and "symbolize". */
bool native_capture(const RouteRequest *request, RouteCapture *capture, RouteReply *reply);

/* Rejects a value: MUST completes "it must be ...". */
void native_refuse(RouteReply *reply, const char *name, const char *value, const char *must);

#endif
