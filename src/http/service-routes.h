/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of the native API that is about the service as a whole; what is about one target is in routes_table(). One
 * row per path, as there: docs/api.md and the OpenAPI description read both tables.
 */
#ifndef JESCOPE_HTTP_SERVICE_ROUTES_H
#define JESCOPE_HTTP_SERVICE_ROUTES_H

#include "http/site.h"

typedef struct {
    const char *methods;              /* "GET|HEAD" */
    const char *pattern;              /* as Route.pattern */
    const char *summary;              /* one lower-case phrase; NULL: documentation leaves it out */
    const RouteParameter *parameters; /* ends with a NULL name; NULL: none */
    unsigned flags;                   /* RouteFlag */
    RouteRole role;
    /* Answers EXCHANGE now or later (exchange.h). Runs on the main loop and must not block. */
    void (*answer)(Site *site, Exchange *exchange);
} ServiceRoute;

/* The whole table, *n rows. */
const ServiceRoute *service_routes_table(size_t *n);

/* NULL: all that REQUEST's query names are parameters of ROUTE; else the answer. Pages, which may be linked to from
 * anywhere, take anything. */
Answer *service_routes_check(const ServiceRoute *route, const RouteRequest *request);

/* As routes_find(). */
RouteMatch service_routes_find(const RouteRequest *request, const ServiceRoute **route);

#endif
