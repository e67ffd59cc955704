/* SPDX-License-Identifier: Apache-2.0 */
/* From errors of the rooms below to what a route is told. */
#ifndef JESCOPE_SERVICE_FAILURE_H
#define JESCOPE_SERVICE_FAILURE_H

#include "routes/routes.h"

#include <glib.h>

/* Fills FAILURE from ERROR and returns what kind of failure it is. CODE is target_errno()'s, for errors of a target. */
RouteResult failure_from_error(const GError *error, int code, RouteFailure *failure);

RouteResult failure_set(RouteFailure *failure, RouteResult result, const char *format, ...) G_GNUC_PRINTF(3, 4);

/* ROUTE_SYSTEM, from errno: "cannot WHAT: ..." */
RouteResult failure_from_errno(RouteFailure *failure, const char *what);

#endif
