/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JESCOPE_ROUTES_MESOS_HELP_H
#define JESCOPE_ROUTES_MESOS_HELP_H

#include "routes/route.h"

/* Writes the help page for a path below /help/memory-profiler, or the list of them. False: there is no such page. */
bool mesos_help_write(const RouteRequest *request, RouteReply *reply);

#endif
