/* SPDX-License-Identifier: Apache-2.0 */
/* What belongs to a dialect as a whole, beside the rows of routes_table(). */
#ifndef JESCOPE_ROUTES_TABLE_H
#define JESCOPE_ROUTES_TABLE_H

#include "routes/routes.h"

typedef struct {
    RouteDialect dialect;
    const char *name; /* as --dialects has it */
    const char *const
        *paths; /* that begin with one of these are the dialect's, whether it is on or not; NULL at the end */
    /* Answers to a path that is in no row (ROUTE is NULL), or whose row has not the method. */
    void (*unknown)(const Route *route, const RouteRequest *request, RouteReply *reply);
    void (*wrong_method)(const Route *route, const RouteRequest *request, RouteReply *reply);
} Dialect;

/* The dialect of a request that no row answers; ROUTE is the one whose method differs, or NULL. */
const Dialect *dialect_of(const Route *route, const RouteRequest *request);

/* All, *n of them; the native one last. */
const Dialect *dialects_table(size_t *n);

#endif
