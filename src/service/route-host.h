/* SPDX-License-Identifier: Apache-2.0 */
/* RouteHost over a target of the service. On worker threads. */
#ifndef JESCOPE_SERVICE_ROUTE_HOST_H
#define JESCOPE_SERVICE_ROUTE_HOST_H

#include "service/work.h"

/* FUNC with the host of JOB's target. */
gpointer route_host_run(Job *job, ServiceWorkFunc func, gpointer data);

#endif
