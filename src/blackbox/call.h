/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests for snapshots from another thread to watches (watch.h), before a control group is killed. A watch may be
 * busy with a slow dump, so all of them are asked before any is waited for.
 */
#ifndef JESCOPE_BLACKBOX_CALL_H
#define JESCOPE_BLACKBOX_CALL_H

#include <glib.h>
#include <sys/types.h>

/* Connects a watch with the threads that ask it. Thread-safe. */
typedef struct WatchCall WatchCall;

WatchCall *watch_call_new(void);
void watch_call_free(WatchCall *call);

/* Makes each watch with one of the N CALLS take a snapshot if the control group of its process is GROUP or below it,
 * and waits for them, at most MS milliseconds in total. */
void watch_calls_before_kill(WatchCall *const *calls, guint n, const char *group, guint ms);

/* ---- for the watch ---- */

/* Sets the process that the watch answers for; 0: none. Callers that wait for it return. */
void watch_call_answers_for(WatchCall *call, pid_t pid);

/* A descriptor, owned by CALL, that is readable if a snapshot may have been requested. */
int watch_call_wake(const WatchCall *call);

/* Whether a snapshot is requested; if so, call watch_call_done() after it. */
gboolean watch_call_take(WatchCall *call);
void watch_call_done(WatchCall *call);

#endif
