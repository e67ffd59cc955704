/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings: profiling for a limited time, with a kept dump at the end. The agent's thread ends them by calling
 * recordings_tick() on time. All functions require the turn.
 */
#ifndef JESCOPE_EMBED_RECORDINGS_H
#define JESCOPE_EMBED_RECORDINGS_H

#include "routes/routes.h"

/* These implement the RouteHostOps of the same names. */
Outcome recordings_start(const RouteRecordingRequest *request, RouteRecording *recording, Failure *failure);
Outcome recordings_stop(uint64_t id, RouteRecording *recording, Failure *failure);
size_t recordings_list(RouteRecording *rows, size_t n);

/* Implements Guest.tick. */
int recordings_tick(void);

/* To be called in a forked child: forgets all recordings. */
void recordings_forget(void);

#endif
