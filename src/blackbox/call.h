/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Snapshots that another thread asks watches (watch.h) for, before a control group is killed, and waits for. A watch
 * may be busy with a dump of a process that takes its time, so all are asked at once and then waited for.
 */
#ifndef JESCOPE_BLACKBOX_CALL_H
#define JESCOPE_BLACKBOX_CALL_H

#include <glib.h>
#include <sys/types.h>

/* Between one watch and those who ask it. From any thread. */
typedef struct WatchCall WatchCall;

WatchCall *watch_call_new(void);
void watch_call_free(WatchCall *call);

/* Has each watch with one of the N CALLS take a snapshot, if the control group of its process is GROUP or below it, and
 * waits for them, for MS at most in all. One at a time for each call. */
void watch_calls_before_kill(WatchCall *const *calls, guint n, const char *group, guint ms);

/* ---- for the watch ---- */

/* From now on it answers for process PID; 0: for none, and no call waits for it. */
void watch_call_answers_for(WatchCall *call, pid_t pid);

/* A descriptor that is readable while a snapshot may be asked for. */
int watch_call_wake(const WatchCall *call);

/* Whether a snapshot is asked for; then watch_call_done() is to follow it. */
gboolean watch_call_take(WatchCall *call);
void watch_call_done(WatchCall *call);

#endif
