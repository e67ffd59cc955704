/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel says of a process's memory, as values beside jemalloc's own. */
#ifndef JESCOPE_HISTORY_PROCESS_FACTS_H
#define JESCOPE_HISTORY_PROCESS_FACTS_H

#include "stats/stats.h"

/* Sets process.rss, process.pss and process.swap from PROC/PID/smaps_rollup, cgroup.current and cgroup.max from the
 * memory controller of its control group (version 2, else 1) under CGROUPS. What cannot be read, and a limit that is
 * not set, stays absent. PROC and CGROUPS are "/proc" and "/sys/fs/cgroup" but in tests. */
void process_facts_read(const char *proc, const char *cgroups, int pid, StatsValues *totals);

#endif
