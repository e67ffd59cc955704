/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that stop their own threads by a signal, whose handler waits: collectors of garbage (the Boehm collector,
 * Mono, D), checkpoints. A thread that was in jemalloc then holds its locks until the one that has stopped it lets it
 * go on. A call in that one would wait for such a lock, and never return.
 */
#ifndef JESCOPE_TARGET_SUSPENSION_H
#define JESCOPE_TARGET_SUSPENSION_H

#include "target/safe-point.h"

/* Whether a thread of process PID other than THREAD waits in a signal handler that has interrupted code from which
 * threads are excluded, or a signal with a handler is about to be delivered to one that runs. A handler that waits
 * without a system call is not recognised. Examines the threads for a second at most; TRUE if that is not enough. */
gboolean suspension_is_near(SafePoints *points, pid_t pid, pid_t thread);

/* The same during a call that THREAD makes; AWAITED: signals that have been sent to it alone and that it has not
 * handled. One that runs with such a signal blocked is taken for one that handles it. */
gboolean suspension_is_in_force(SafePoints *points, pid_t pid, pid_t thread, guint64 awaited);

#endif
