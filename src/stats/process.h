/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's figures of a process as values beside jemalloc's own. */
#ifndef JESCOPE_STATS_PROCESS_H
#define JESCOPE_STATS_PROCESS_H

#include "stats/stats.h"
#include "target/process-memory.h"

/* Sets the metrics of /proc/PID/smaps_rollup (where TOTALS have jemalloc's resident, also process.outside) and of the
 * control group. What MEMORY does not have stays absent. */
void stats_set_process(StatsValues *totals, const ProcessMemory *memory);

/* The same for the present state of process PID. */
void stats_read_process(StatsValues *totals, int pid);

#endif
