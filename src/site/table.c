/* SPDX-License-Identifier: Apache-2.0 */
#include "site/table.h"

#include "routes/table.h"

#include <stddef.h>

const RouteTable *const site_tables[] = {
#define PAGES(name) &name##_routes,
#include "site/pages.def"
#undef PAGES
#define ENDPOINTS(name) &native_##name##_routes,
#include "routes/endpoints.def"
#undef ENDPOINTS
#define DIALECT(name, constant) &name##_routes,
#include "routes/dialects.def"
#undef DIALECT
    NULL,
};
