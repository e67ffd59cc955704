/* SPDX-License-Identifier: Apache-2.0 */
/* The threads of a process, from outside. */
#ifndef JESCOPE_TARGET_THREADS_H
#define JESCOPE_TARGET_THREADS_H

#include <glib.h>
#include <sys/types.h>

/* Their ids as a GArray of pid_t. Those that wait in a system call come first (they are at a safe point more likely,
 * and nobody waits for them), the main thread last among equals; left out is who cannot be stopped now: zombies and
 * those in an uninterruptible wait, such as vfork(). */
GArray *threads_by_promise(pid_t pid);

/* Whether a signal waits for the thread, or for any of the process, that is not among those BLOCKED. */
gboolean threads_signal_pending(pid_t pid, pid_t thread, guint64 blocked);

/* The signals that the process has handlers for, as a mask. */
guint64 threads_caught_signals(pid_t pid);

#endif
