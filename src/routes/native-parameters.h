/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parameters of the native API: in the query, or in a form that is the body; the query's comes first. What is refused
 * is answered at once, with the parameter and its value: a false result means that the reply is whole.
 */
#ifndef JESCOPE_ROUTES_NATIVE_PARAMETERS_H
#define JESCOPE_ROUTES_NATIVE_PARAMETERS_H

#include "routes/query.h"
#include "routes/routes.h"

/* Whether all that REQUEST brings are parameters of ROUTE, short enough. */
bool native_check(const Route *route, const RouteRequest *request, RouteReply *reply);

QueryState native_find(const RouteRequest *request, const char *name, QueryValue *value);

/* What a parameter must be. If it is absent, *value stays as it is, and that is no failure unless it is NEEDED. */
typedef enum {
    NATIVE_OPTIONAL,
    NATIVE_NEEDED,
} NativeNeed;

bool native_duration(const RouteRequest *request, const char *name, NativeNeed need, uint64_t *ms, RouteReply *reply);
bool native_size(const RouteRequest *request, const char *name, NativeNeed need, uint64_t *bytes, RouteReply *reply);
bool native_number(const RouteRequest *request, const char *name, NativeNeed need, uint64_t *number, RouteReply *reply);
bool native_signed(const RouteRequest *request, const char *name, NativeNeed need, int64_t *number, RouteReply *reply);
bool native_boolean(const RouteRequest *request, const char *name, NativeNeed need, bool *value, RouteReply *reply);

/* Refuses a value: MUST completes "it must be ...". */
void native_refuse(RouteReply *reply, const char *name, const char *value, const char *must);

#endif
