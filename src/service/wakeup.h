/* SPDX-License-Identifier: Apache-2.0 */
/* Reports agents that begin to listen, or end, in the socket directories of this user (inotify). */
#ifndef JESCOPE_SERVICE_WAKEUP_H
#define JESCOPE_SERVICE_WAKEUP_H

#include <glib.h>
#include <sys/types.h>

typedef struct Wakeup Wakeup;

/* PID as the name of the socket has it, i.e. in the pid namespace of the agent. */
typedef void (*WakeupFunc)(pid_t pid, gpointer data);

/* FUNC is called on CONTEXT. Missing directories are created, as by an agent. Without inotify, FUNC is never called. */
Wakeup *wakeup_new(GMainContext *context, WakeupFunc func, gpointer data);
void wakeup_free(Wakeup *wakeup);

/* Directories may have been recreated; cheap. */
void wakeup_renew(Wakeup *wakeup);

#endif
