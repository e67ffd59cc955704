/* SPDX-License-Identifier: Apache-2.0 */
/* Finds out for how long the threads of a child have been in one system call, which a file system of another user may
 * never answer. Not thread-safe. */
#ifndef JESCOPE_CONFINE_THREAD_CALLS_H
#define JESCOPE_CONFINE_THREAD_CALLS_H

#include <glib.h>
#include <sys/types.h>

/* The system call in which a thread is. */
typedef struct {
    long number;
    guint64 arguments[2];
    char state;     /* as in /proc/PID/status */
    char *text;     /* all state that changes when it continues */
    gint64 seen_us; /* since when it has been unchanged (monotonic) */
} ThreadCall;

/* A table of the calls of one process: thread id as text -> ThreadCall. */
GHashTable *thread_calls_new(void);

/* Looks at THREAD of PID, which must be a child, so that its id cannot be another's. NULL: it runs, has ended, or may
 * not be looked at. */
const ThreadCall *thread_calls_look(GHashTable *calls, pid_t pid, const char *thread);

#endif
