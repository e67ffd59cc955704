/* SPDX-License-Identifier: Apache-2.0 */
/* The RouteHost for a target of the service, on worker threads. */
#ifndef JESCOPE_SERVICE_ROUTE_HOST_H
#define JESCOPE_SERVICE_ROUTE_HOST_H

#include "service/work.h"

/* Calls FUNC with the host of JOB's target; returns its result. */
gpointer route_host_run(Job *job, ServiceWorkFunc func, gpointer data);

#endif
