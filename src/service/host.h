/* SPDX-License-Identifier: Apache-2.0 */
/* RouteHost over a target of the service. On worker threads. */
#ifndef JESCOPE_SERVICE_HOST_H
#define JESCOPE_SERVICE_HOST_H

#include "service/work.h"

/* FUNC with the host of JOB's target. */
gpointer host_run(Job *job, ServiceWorkFunc func, gpointer data);

/* The same things without a host in between. */
RouteResult host_hello(Job *job, WireHelloReply *hello, RouteFailure *failure);
RouteResult host_write(Job *job, const char *control, WireType type, uint64_t value, RouteFailure *failure);
RouteResult host_dump(Job *job, int *descriptor, RouteFailure *failure);
RouteResult host_lease(Job *job, const WireLeaseRequest *request, WireLease *lease, RouteFailure *failure);

/* Keeps a dump of JOB's target, with an event. RECORDING: that it is the result of, or 0. */
RouteResult host_keep_dump(Job *job, int descriptor, guint64 recording, RouteDump *dump, RouteFailure *failure);

#endif
