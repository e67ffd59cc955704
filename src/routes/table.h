/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a dialect is, and the rows of all: each file of endpoints has its own. Rows of dialects.def and endpoints.def
 * declare them here, and put them into routes_tables and into the build.
 */
#ifndef JESCOPE_ROUTES_TABLE_H
#define JESCOPE_ROUTES_TABLE_H

#include "routes/route.h"

enum {
    DIALECT_PATHS_MAX = 3,
};

typedef struct {
    RouteDialect dialect;
    const char *name;                     /* as --dialects has it */
    const char *title;                    /* of its chapter in docs/api.md */
    const char *about;                    /* a sentence for it */
    const char *paths[DIALECT_PATHS_MAX]; /* what begins with one of these is the dialect's, whether it is on or not */
    /* Answers a path without a row (ROUTE is NULL), or a method that its row does not have. */
    void (*unknown)(const Route *route, const RouteRequest *request, RouteReply *reply);
    void (*wrong_method)(const Route *route, const RouteRequest *request, RouteReply *reply);
} Dialect;

/* The native one first, then as in dialects.def: ROUTE_N_DIALECTS of them. */
extern const Dialect *const routes_dialects[];

/* The dialect of a request without a row; ROUTE is the one with another method, or NULL. */
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
