/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's figures of a process's memory. */
#ifndef JESCOPE_TARGET_PROCESS_MEMORY_H
#define JESCOPE_TARGET_PROCESS_MEMORY_H

#include "target/cgroup.h"
#include "target/process.h"

/* In bytes; G_MAXUINT64: unreadable, or the control group has no limit. */
typedef struct {
    guint64 rss, pss, swap, anonymous, lazy_free, huge; /* from PROC/PID/smaps_rollup */
    CgroupMemory group;                                 /* from the memory controller of its control group */
    CgroupCharges charges;
} ProcessMemory;

/* Sets *MEMORY to that of the process FOUND, if it has not changed (reach-open.h). PROC and CGROUPS are "/proc" and
 * "/sys/fs/cgroup" except in tests. */
void process_memory_read(const char *proc, const char *cgroups, const Process *found, ProcessMemory *memory);

#endif
