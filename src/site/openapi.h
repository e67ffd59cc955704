/* SPDX-License-Identifier: Apache-2.0 */
/* Documents of the API generated from its route tables: docs/api.md and the OpenAPI description
 * (https://spec.openapis.org/oas/v3.0.3). */
#ifndef JESCOPE_SITE_OPENAPI_H
#define JESCOPE_SITE_OPENAPI_H

#include "routes/route.h"
#include "site/site.h"

/* A documented method of a path. */
typedef struct {
    const char *group; /* "service", "target", or the name of a dialect */
    char *method;      /* "GET" */
    char *path;        /* with {name} for variable components */
    const char *summary;
    const RouteParameter *parameters; /* of the query; ends with a NULL name; NULL: none */
    RouteRole role;                   /* of Route: some rows change something for certain parameters only */
} OpenapiOperation;

/* The operations of TABLES, of OpenapiOperation, in the order of the tables: the service's first. */
GPtrArray *openapi_operations(const RouteTable *const *tables);

GBytes *openapi_write(const RouteTable *const *tables);

#endif
