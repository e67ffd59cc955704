/* SPDX-License-Identifier: Apache-2.0 */
/* Replies of the native API: JSON throughout, errors as {"error":{"code":…,"message":…,"hint":…}}. */
#ifndef JESCOPE_ROUTES_NATIVE_REPLY_H
#define JESCOPE_ROUTES_NATIVE_REPLY_H

#include "routes/routes.h"

typedef struct {
    const char *code; /* for programs: lower case and '_' */
    const char *hint; /* the way out */
} NativeError;

/* FORMAT makes the message: one sentence without a full stop. */
void native_error(RouteReply *reply, unsigned status, const NativeError *error, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The error for a host function that did not return ROUTE_DONE. */
void native_failure(RouteReply *reply, RouteResult result, const RouteFailure *failure);

/* The header Allow with the methods that ROUTE's path has in all rows. */
void native_allow(RouteReply *reply, const Route *route);

#endif
