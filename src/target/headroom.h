/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who pays for a dump, and whether they can: the control groups of the target, or this process (output-pages.h).
 */
#ifndef JESCOPE_TARGET_HEADROOM_H
#define JESCOPE_TARGET_HEADROOM_H

#include "target/target.h"
#include "wire/headroom.h"

/* The share of this machine's memory that is available; 1: unknown. */
gdouble headroom_spare(void);

/* Sets the plan of TARGET's dumps. FALSE with OUTCOME_NO_HEADROOM if neither this process nor the memory control groups
 * of TARGET have room for a dump of the size that is to be expected. PROC and CGROUPS are "/proc" and "/sys/fs/cgroup".
 * Asks TARGET only if there is a limit. */
gboolean headroom_check(Target *target, const char *proc, const char *cgroups, GError **error);

#endif
