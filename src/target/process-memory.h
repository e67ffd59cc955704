/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel says of a process's memory. */
#ifndef JESCOPE_TARGET_PROCESS_MEMORY_H
#define JESCOPE_TARGET_PROCESS_MEMORY_H

#include "target/cgroup.h"

/* Bytes; G_MAXUINT64: it cannot be read, or the control group has no limit. */
typedef struct {
    guint64 rss, pss, swap, anonymous, lazy_free, huge; /* of PROC/PID/smaps_rollup */
    CgroupMemory group;                                 /* of the memory controller of its control group */
    CgroupCharges charges;
} ProcessMemory;

/* PROC and CGROUPS are "/proc" and "/sys/fs/cgroup" but in tests. */
void process_memory_read(const char *proc, const char *cgroups, int pid, ProcessMemory *memory);

#endif
