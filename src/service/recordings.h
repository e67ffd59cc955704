/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings of a target, each driven by a Recorder (wire/recorder.h): timers in the main context renew its lease and
 * end it on time.
 */
#ifndef JESCOPE_SERVICE_RECORDINGS_H
#define JESCOPE_SERVICE_RECORDINGS_H

#include "service/core.h"

/* Implement RouteHostOps for a Job, on its thread. */
Outcome recordings_start(void *job, const RouteRecordingRequest *request, RouteRecording *recording, Failure *failure);
Outcome recordings_stop(void *job, guint64 id, RouteRecording *recording, Failure *failure);
/* Sets *ROW (ROW may be NULL) to the running recording; FALSE if there is none. Uses neither the target nor the
 * history. */
gboolean recordings_running(ServiceTarget *target, RouteRecording *row);
/* Whether a recording was started, even if it has ended. */
gboolean recordings_any(ServiceTarget *target);

gsize recordings_list(ServiceTarget *target, RouteRecording *rows, gsize n);

/* Ends a running recording when the service or TARGET ends. Called in the main context. */
void recordings_end(ServiceTarget *target);

/* To be called when the service is freed: stops the timers of TARGET's recording. */
void recordings_disarm(ServiceTarget *target);

#endif
