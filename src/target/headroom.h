/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides who is charged for a dump, the target's control groups or this process (output-pages.h), and checks that
 * there is room for it.
 */
#ifndef JESCOPE_TARGET_HEADROOM_H
#define JESCOPE_TARGET_HEADROOM_H

#include "target/target.h"
#include "wire/headroom.h"

/* The share of this machine's memory that is available; 1: unknown. */
gdouble headroom_spare(void);

/* Sets the plan of TARGET's dumps. FALSE with OUTCOME_NO_HEADROOM if neither this process nor the memory control groups
 * of TARGET have room for a dump of the expected size. PROC and CGROUPS are "/proc" and "/sys/fs/cgroup". TARGET is
 * queried only if there is a limit. */
gboolean headroom_check(Target *target, const char *proc, const char *cgroups, GError **error);

/* The bytes that must be left in the groups of a process before an agent is loaded into it (0.75 MiB were measured) or
 * profiling begins there (jemalloc's profiler and jescope's sampler take 1 to 3 MiB at once with the default period).
 */
#define HEADROOM_BEGINNING ((guint64)4 << 20)

/* FALSE with OUTCOME_NO_HEADROOM if they are not left in the groups of PID, the process with LABEL: the kernel would
 * end it. memory.high, above which it is throttled, does not matter. The same if its limits leave no room
 * (limit-room.h). */
gboolean headroom_check_beginning(pid_t pid, const char *label, const char *proc, const char *cgroups, GError **error);

#endif
