/* SPDX-License-Identifier: Apache-2.0 */
/* Dumps in the form that a request asks for. */
#ifndef JESCOPE_ROUTES_NATIVE_DUMP_H
#define JESCOPE_ROUTES_NATIVE_DUMP_H

#include "routes/routes.h"

/* Sends the kept dump ID as REQUEST's parameters want it. */
void native_send_dump(const RouteHost *host, const RouteRequest *request, uint64_t id, RouteReply *reply);

#endif
