/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JESCOPE_ROUTES_PAUSE_H
#define JESCOPE_ROUTES_PAUSE_H

#include "routes/routes.h"

/* Waits for the given milliseconds, by the host's function. */
void pause_for(const RouteHost *host, uint64_t ms);

#endif
