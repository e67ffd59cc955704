/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings of one target, each driven by a Recorder (wire/recorder.h): timers in the main context renew its lease and
 * end it in time.
 */
#ifndef JESCOPE_SERVICE_RECORDINGS_H
#define JESCOPE_SERVICE_RECORDINGS_H

#include "service/core.h"

/* RouteHostOps, for a Job, on its thread. */
Outcome recordings_start(void *job, const RouteRecordingRequest *request, RouteRecording *recording, Failure *failure);
Outcome recordings_stop(void *job, guint64 id, RouteRecording *recording, Failure *failure);
/* *ROW (which may be NULL) is the one that runs; FALSE: none does. Asks neither the target nor the history. */
gboolean recordings_running(ServiceTarget *target, RouteRecording *row);
/* Whether one was started, and runs, is about to be saved, or has ended. */
gboolean recordings_any(ServiceTarget *target);

gsize recordings_list(ServiceTarget *target, RouteRecording *rows, gsize n);

/* In the main context: ends a running recording when the service or TARGET ends. */
void recordings_end(ServiceTarget *target);

/* The service is about to end: TARGET's is not looked after any more. */
void recordings_disarm(ServiceTarget *target);

#endif
