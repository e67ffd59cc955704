/* SPDX-License-Identifier: Apache-2.0 */
/* Recordings as the native API shows them. */
#ifndef JESCOPE_ROUTES_NATIVE_RECORDING_H
#define JESCOPE_ROUTES_NATIVE_RECORDING_H

#include "routes/json.h"
#include "routes/routes.h"

/* The recording that runs; false: none does. */
bool native_find_running(const RouteHost *host, RouteRecording *running);

/* Its members, into an object that is open. */
void native_add_recording(Json *json, const RouteRecording *recording);

#endif
