/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's memory figures of a process as metrics. */
#ifndef JESCOPE_STATS_PROCESS_H
#define JESCOPE_STATS_PROCESS_H

#include "stats/stats.h"
#include "target/process-memory.h"

/* Sets the metrics from /proc/PID/smaps_rollup (and process.outside, if TOTALS have jemalloc's resident) and of the
 * control group. Figures unknown in MEMORY stay absent. */
void stats_set_process(StatsValues *totals, const ProcessMemory *memory);

/* Like stats_set_process(), with the current figures of the process FOUND, if it has not changed. */
void stats_read_process(StatsValues *totals, const Process *found);

#endif
