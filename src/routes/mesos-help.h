/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JESCOPE_ROUTES_MESOS_HELP_H
#define JESCOPE_ROUTES_MESOS_HELP_H

#include "routes/route.h"

/* The help page that a path below /help/memory-profiler names, or the list of them. False: there is no such page. */
bool mesos_help_write(const RouteRequest *request, RouteReply *reply);

#endif
