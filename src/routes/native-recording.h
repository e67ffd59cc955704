/* SPDX-License-Identifier: Apache-2.0 */
/* Recordings in the native API. */
#ifndef JESCOPE_ROUTES_NATIVE_RECORDING_H
#define JESCOPE_ROUTES_NATIVE_RECORDING_H

#include "routes/json.h"
#include "routes/routes.h"

/* Finds the running recording; false: there is none. */
bool native_find_running(const RouteHost *host, RouteRecording *running);

/* Adds its members to the open object. */
void native_add_recording(Json *json, const RouteRecording *recording);

#endif
