/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JESCOPE_ROUTES_PPROF_SYMBOL_H
#define JESCOPE_ROUTES_PPROF_SYMBOL_H

#include "routes/routes.h"

void pprof_symbol(const RouteHost *host, const RouteRequest *request, RouteReply *reply);

/* Whether a REQUEST to pprof_symbol() has no addresses, and so takes no time. */
bool pprof_names_nothing(const RouteRequest *request);

#endif
