/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A readable summary of a sample: from held to mapped memory with the meaning of each difference, unused memory, the
 * kernel's figures of the process, the size classes with the most unused space, and arenas by share. Lines without
 * values are omitted.
 */
#ifndef JESCOPE_STATS_SUMMARY_H
#define JESCOPE_STATS_SUMMARY_H

#include "stats/stats.h"

/* The unused memory of a size class: its slabs' regions minus the live ones. FALSE if unknown. */
gboolean summary_bin_waste(const StatsValues *bin, uint64_t *live_bytes, uint64_t *wasted_bytes);

void summary_append(GString *out, const StatsSample *sample);

#endif
