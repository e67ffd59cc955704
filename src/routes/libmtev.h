/* SPDX-License-Identifier: Apache-2.0 */
/* libmtev's /mtev/memory.json and /mtev/heap_profile. docs/dialects.md tells what is kept and what is made safe. */
#ifndef JESCOPE_ROUTES_LIBMTEV_H
#define JESCOPE_ROUTES_LIBMTEV_H

#include "routes/routes.h"

void libmtev_memory(const RouteHost *host, const RouteRequest *request, RouteReply *reply);
void libmtev_heap_profile(const RouteHost *host, const RouteRequest *request, RouteReply *reply);
RouteRole libmtev_heap_profile_role(const RouteRequest *request);
bool libmtev_takes_no_dump(const RouteRequest *request);
void libmtev_options(const RouteHost *host, const RouteRequest *request, RouteReply *reply);

/* Its answer to a path or a method it does not know. */
void libmtev_unknown(const Route *route, const RouteRequest *request, RouteReply *reply);

#endif
