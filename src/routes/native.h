/* SPDX-License-Identifier: Apache-2.0 */
/* The native API, as far as it is about one target. */
#ifndef JESCOPE_ROUTES_NATIVE_H
#define JESCOPE_ROUTES_NATIVE_H

#include "routes/routes.h"

RouteRole native_role(const RouteRequest *request);

void native_unknown(const Route *route, const RouteRequest *request, RouteReply *reply);
void native_wrong_method(const Route *route, const RouteRequest *request, RouteReply *reply);

#endif
