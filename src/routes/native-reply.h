/* SPDX-License-Identifier: Apache-2.0 */
/* Replies of the native API: JSON throughout, errors as {"error":{"code":…,"message":…,"hint":…}}. */
#ifndef JESCOPE_ROUTES_NATIVE_REPLY_H
#define JESCOPE_ROUTES_NATIVE_REPLY_H

#include "routes/json.h"
#include "routes/routes.h"

#define NATIVE_PARAMETERS_HINT (outcome_row(OUTCOME_INVALID)->hint)

typedef struct {
    const char *code; /* for programs: lower case and '_' */
    const char *hint; /* the remedy */
} NativeError;

/* FORMAT is the message: one sentence without a full stop. */
void native_error(RouteReply *reply, unsigned status, const NativeError *error, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The error for a host function that did not return OUTCOME_DONE. */
void native_failure(RouteReply *reply, Outcome result, const Failure *failure);

/* Adds the header Location of a new resource ID below the path of REQUEST. */
void native_location(RouteReply *reply, const RouteRequest *request, uint64_t id);

/* Begins a JSON object that is the whole body; native_end() ends it and adds a newline. */
void native_begin(Json *json, RouteReply *reply, unsigned status);
void native_end(Json *json);

/* Seconds since 1970, or null for 0. */
void native_time(Json *json, const char *name, uint64_t ms);

#endif
