/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dialects, and the rows of all routes: each file of endpoints has its own. Rows of dialects.def and endpoints.def
 * declare them here, and add them to routes_tables and to the build.
 */
#ifndef JESCOPE_ROUTES_TABLE_H
#define JESCOPE_ROUTES_TABLE_H

#include "routes/route.h"

enum {
    DIALECT_PATHS_MAX = 3,
};

typedef struct {
    RouteDialect dialect;
    const char *name;  /* the word of --dialects */
    const char *title; /* of its chapter in docs/api.md */
    const char *about; /* a sentence for that chapter */
    const char
        *paths[DIALECT_PATHS_MAX]; /* paths that begin with one of these belong to the dialect, even if it is off */
    /* Answers a path without a row (ROUTE is NULL), or a method that its row does not have. */
    void (*unknown)(const Route *route, const RouteRequest *request, RouteReply *reply);
    void (*wrong_method)(const Route *route, const RouteRequest *request, RouteReply *reply);
} Dialect;

/* The native one first, then in the order of dialects.def: ROUTE_N_DIALECTS of them. */
extern const Dialect *const routes_dialects[];

/* The dialect of a request without a row; ROUTE is a row of the same path with another method, or NULL. */
const Dialect *dialect_of(const Route *route, const RouteRequest *request);

#define ENDPOINTS(name) extern const RouteTable native_##name##_routes;
#include "routes/endpoints.def"
#undef ENDPOINTS
extern const Dialect native_dialect;
#define DIALECT(name, constant)                                                                                        \
    extern const RouteTable name##_routes;                                                                             \
    extern const Dialect name##_dialect;
#include "routes/dialects.def"
#undef DIALECT

#endif
