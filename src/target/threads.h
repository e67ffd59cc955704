/* SPDX-License-Identifier: Apache-2.0 */
/* Examines the threads of a process from outside. */
#ifndef JESCOPE_TARGET_THREADS_H
#define JESCOPE_TARGET_THREADS_H

#include <glib.h>
#include <sys/types.h>

/* The threads of a process, one after the other, for a second at most: it may begin threads faster than they are looked
 * at. Of one thread. */
typedef struct {
    GDir *task; /* NULL: there is no such process */
    gint64 until_us;
} ThreadWalk;

void thread_walk_begin(ThreadWalk *walk, pid_t pid);
pid_t thread_walk_next(ThreadWalk *walk); /* 0: no more */
void thread_walk_end(ThreadWalk *walk);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(ThreadWalk, thread_walk_end)

/* The ids of the threads as a GArray of pid_t, those first that wait in a system call, since they are more likely at a
 * safe point. The main thread follows the first few of equal rank, or is first if jemalloc has background threads.
 * Threads that cannot be stopped now are omitted: zombies and those in an uninterruptible wait, such as vfork(). */
GArray *threads_by_promise(pid_t pid);

/* Whether THREAD is one of process PID, which started at START_TIME (Process.start_time). */
gboolean threads_is_of(pid_t pid, guint64 start_time, pid_t thread);

/* Whether THREAD waits in a system call that a stop would cut short (registers_stop_cuts_short()). */
gboolean threads_is_in_transfer(pid_t pid, pid_t thread);

/* A thread in an uninterruptible wait, with *IN_VFORK set to whether it waits in vfork() for its child; 0 if there is
 * none. */
pid_t threads_unstoppable(pid_t pid, gboolean *in_vfork);

/* The stack pointer of THREAD while it waits in system call *NUMBER; 0: it does not. */
guint64 threads_waits_at(pid_t pid, pid_t thread, gint64 *number);

/* Sets of signals of a thread; bit N - 1 is signal N. */
typedef struct {
    guint64 pending; /* sent to the thread itself */
    guint64 blocked;
    guint64 caught; /* with a handler */
} ThreadSignals;

/* Empty sets if it has ended. */
ThreadSignals threads_signals(pid_t thread);

#endif
