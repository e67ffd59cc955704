/* SPDX-License-Identifier: Apache-2.0 */
/* The memory that is left to this process for the outputs of targets. */
#ifndef JESCOPE_TARGET_OWN_ROOM_H
#define JESCOPE_TARGET_OWN_ROOM_H

#include <glib.h>

/* The value after WORD ("MemAvailable:") in /proc/meminfo in bytes; G_MAXUINT64 if unknown. */
guint64 own_room_machine(const char *word);

/* Whether this process may have more memory charged to itself for an output; otherwise its own control groups, or the
 * machine, are nearly full. PROC and CGROUPS are "/proc" and "/sys/fs/cgroup" but in tests. */
gboolean own_room_is_left(const char *proc, const char *cgroups);

#endif
