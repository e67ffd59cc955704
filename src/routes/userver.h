/* SPDX-License-Identifier: Apache-2.0 */
/* userver's /service/jemalloc/prof/{command}. docs/dialects.md tells what is kept and what is made safe. */
#ifndef JESCOPE_ROUTES_USERVER_H
#define JESCOPE_ROUTES_USERVER_H

#include "routes/routes.h"

void userver_command(const RouteHost *host, const RouteRequest *request, RouteReply *reply);

bool userver_is_quick(const RouteRequest *request);

/* Its answers to a path or a method it does not know. */
void userver_unknown(const Route *route, const RouteRequest *request, RouteReply *reply);
void userver_wrong_method(const Route *route, const RouteRequest *request, RouteReply *reply);

#endif
