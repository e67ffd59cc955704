/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings: profiling on for a time, ending in a dump that is kept. Their end is the agent thread's work, which calls
 * recordings_tick() in time. With the turn.
 */
#ifndef JESCOPE_EMBED_RECORDINGS_H
#define JESCOPE_EMBED_RECORDINGS_H

#include "routes/routes.h"

/* As the RouteHostOps of these names. */
Outcome recordings_start(const RouteRecordingRequest *request, RouteRecording *recording, Failure *failure);
Outcome recordings_stop(uint64_t id, RouteRecording *recording, Failure *failure);
size_t recordings_list(RouteRecording *rows, size_t n);

/* Guest.tick. */
int recordings_tick(void);

/* In a forked child: forgets all. */
void recordings_forget(void);

#endif
