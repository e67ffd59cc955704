/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory profiler of Mesos' libprocess, /memory-profiler. Its runs are the host's recordings.
 * docs/dialects.md tells what is kept and what is made safe.
 */
#ifndef JESCOPE_ROUTES_MESOS_H
#define JESCOPE_ROUTES_MESOS_H

#include "routes/routes.h"

void mesos_start(const RouteHost *host, const RouteRequest *request, RouteReply *reply);
void mesos_stop(const RouteHost *host, const RouteRequest *request, RouteReply *reply);
void mesos_state(const RouteHost *host, const RouteRequest *request, RouteReply *reply);
void mesos_statistics(const RouteHost *host, const RouteRequest *request, RouteReply *reply);
void mesos_download_raw(const RouteHost *host, const RouteRequest *request, RouteReply *reply);
void mesos_download_text(const RouteHost *host, const RouteRequest *request, RouteReply *reply);
void mesos_download_graph(const RouteHost *host, const RouteRequest *request, RouteReply *reply);

/* Its answer to a path it does not know. */
void mesos_unknown(const Route *route, const RouteRequest *request, RouteReply *reply);

#endif
