/* SPDX-License-Identifier: Apache-2.0 */
/* The threads of a process, from outside. */
#ifndef JESCOPE_TARGET_THREADS_H
#define JESCOPE_TARGET_THREADS_H

#include <glib.h>
#include <sys/types.h>

/* Their ids as a GArray of pid_t. Those that wait in a system call come first (they are more likely at a safe point),
 * the main thread after the first few of its equals, or first if jemalloc has background threads. Threads that cannot
 * be stopped now are left out: zombies and those in an uninterruptible wait, such as vfork(). */
GArray *threads_by_promise(pid_t pid);

/* A thread that cannot be stopped now, and whether it waits in vfork() for its child; 0: none. */
pid_t threads_unstoppable(pid_t pid, gboolean *in_vfork);

/* Sets of signals, bit N - 1 for signal N. */
typedef struct {
    guint64 pending; /* for the thread, or for any of the process */
    guint64 ignored; /* nothing happens when they are delivered, by the program's wish or by default */
    guint64 caught;  /* there is a handler */
} ThreadSignals;

/* All empty if it has ended. */
ThreadSignals threads_signals(pid_t thread);

#endif
