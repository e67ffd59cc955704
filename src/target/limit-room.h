/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the limits of a process (setrlimit(2)) leave room for what jescope brings into it. */
#ifndef JESCOPE_TARGET_LIMIT_ROOM_H
#define JESCOPE_TARGET_LIMIT_ROOM_H

#include <glib.h>
#include <sys/types.h>

/* The bytes of address space that must be left: the agent takes 2.4 MiB, jescope's sampler 8.2 MiB more. */
#define LIMIT_ROOM_NEEDED ((guint64)16 << 20)

/* FALSE with OUTCOME_NO_HEADROOM if they are not left below RLIMIT_AS of PID, the process with LABEL, or below
 * RLIMIT_MEMLOCK if it locks all of its memory: its own allocations would fail. PROC is "/proc". */
gboolean limit_room_check(pid_t pid, const char *label, const char *proc, GError **error);

#endif
