/* SPDX-License-Identifier: Apache-2.0 */
#include "routes/table.h"

#include <string.h>
#include <strings.h>

const RouteTable *const routes_tables[] = {
#define ENDPOINTS(name) &native_##name##_routes,
#include "routes/endpoints.def"
#undef ENDPOINTS
#define DIALECT(name, constant) &name##_routes,
#include "routes/dialects.def"
#undef DIALECT
    NULL,
};

const Dialect *const routes_dialects[] = {
    &native_dialect,
#define DIALECT(name, constant) &name##_dialect,
#include "routes/dialects.def"
#undef DIALECT
};

static bool
owns(const Dialect *dialect, const char *path)
{
    for (size_t i = 0; i < DIALECT_PATHS_MAX && dialect->paths[i] != NULL; i++)
        if (strncasecmp(path, dialect->paths[i], strlen(dialect->paths[i])) == 0)
            return true;
    return false;
}

const Dialect *
dialect_of(const Route *route, const RouteRequest *request)
{
    for (size_t i = 1; i < ROUTE_N_DIALECTS; i++)
        if (route != NULL ? routes_dialects[i]->dialect == route->dialect : owns(routes_dialects[i], request->path))
            return routes_dialects[i];
    return &native_dialect;
}
