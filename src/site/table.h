/* SPDX-License-Identifier: Apache-2.0 */
/* The whole route table of `jescope serve`. */
#ifndef JESCOPE_SITE_TABLE_H
#define JESCOPE_SITE_TABLE_H

#include "routes/route.h"

/* The rows about the service as a whole, then those about a target: routes_tables. NULL at the end. */
extern const RouteTable *const site_tables[];

#define PAGES(name) extern const RouteTable name##_routes;
#include "site/pages.def"
#undef PAGES

#endif
