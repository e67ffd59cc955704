/* SPDX-License-Identifier: Apache-2.0 */
/* Reports agents that start or stop listening in the socket directories of this user (inotify). */
#ifndef JESCOPE_SERVICE_WAKEUP_H
#define JESCOPE_SERVICE_WAKEUP_H

#include <glib.h>
#include <sys/types.h>

typedef struct Wakeup Wakeup;

/* PID is from the socket's name, i.e. in the agent's pid namespace. */
typedef void (*WakeupFunc)(pid_t pid, gpointer data);

/* Calls FUNC on CONTEXT. Creates missing directories, as an agent does. Without inotify, FUNC is never called. */
Wakeup *wakeup_new(GMainContext *context, WakeupFunc func, gpointer data);
void wakeup_free(Wakeup *wakeup);

/* Watches directories again that may have been recreated; cheap. */
void wakeup_renew(Wakeup *wakeup);

#endif
