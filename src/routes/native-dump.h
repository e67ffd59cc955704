/* SPDX-License-Identifier: Apache-2.0 */
/* Dumps in the form that a request selects. */
#ifndef JESCOPE_ROUTES_NATIVE_DUMP_H
#define JESCOPE_ROUTES_NATIVE_DUMP_H

#include "routes/routes.h"

/* Sends the kept dump ID according to REQUEST's parameters. */
void native_send_dump(const RouteHost *host, const RouteRequest *request, uint64_t id, RouteReply *reply);

#endif
