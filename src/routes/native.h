/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The native API as far as it is about one target: what is below /api/v1/targets/{target}. Times are seconds since
 * 1970, sizes bytes. docs/api.md is made from the route table.
 */
#ifndef JESCOPE_ROUTES_NATIVE_H
#define JESCOPE_ROUTES_NATIVE_H

#include "routes/routes.h"

/* Of a component in /api/v1/targets/{target}/KIND/{id}, counted from 0. */
enum {
    NATIVE_TARGET = 3,
    NATIVE_ID = 5,
};

RouteRole native_role(const RouteRequest *request);

void native_status(const RouteHost *host, const RouteRequest *request, RouteReply *reply);

void native_profiling(const RouteHost *host, const RouteRequest *request, RouteReply *reply);
void native_profiling_set(const RouteHost *host, const RouteRequest *request, RouteReply *reply);
void native_lease_renew(const RouteHost *host, const RouteRequest *request, RouteReply *reply);
void native_lease_release(const RouteHost *host, const RouteRequest *request, RouteReply *reply);
void native_reset(const RouteHost *host, const RouteRequest *request, RouteReply *reply);

void native_purge(const RouteHost *host, const RouteRequest *request, RouteReply *reply);
void native_decay(const RouteHost *host, const RouteRequest *request, RouteReply *reply);
void native_decay_set(const RouteHost *host, const RouteRequest *request, RouteReply *reply);
void native_decay_run(const RouteHost *host, const RouteRequest *request, RouteReply *reply);
void native_threads(const RouteHost *host, const RouteRequest *request, RouteReply *reply);
void native_threads_set(const RouteHost *host, const RouteRequest *request, RouteReply *reply);
void native_control(const RouteHost *host, const RouteRequest *request, RouteReply *reply);
void native_control_set(const RouteHost *host, const RouteRequest *request, RouteReply *reply);

void native_recordings(const RouteHost *host, const RouteRequest *request, RouteReply *reply);
void native_recording_start(const RouteHost *host, const RouteRequest *request, RouteReply *reply);
void native_recording(const RouteHost *host, const RouteRequest *request, RouteReply *reply);
void native_recording_stop(const RouteHost *host, const RouteRequest *request, RouteReply *reply);
void native_recording_result(const RouteHost *host, const RouteRequest *request, RouteReply *reply);

void native_dumps(const RouteHost *host, const RouteRequest *request, RouteReply *reply);
void native_dump_take(const RouteHost *host, const RouteRequest *request, RouteReply *reply);
void native_dump(const RouteHost *host, const RouteRequest *request, RouteReply *reply);

void native_statistics(const RouteHost *host, const RouteRequest *request, RouteReply *reply);

void native_unknown(const Route *route, const RouteRequest *request, RouteReply *reply);
void native_wrong_method(const Route *route, const RouteRequest *request, RouteReply *reply);

#endif
