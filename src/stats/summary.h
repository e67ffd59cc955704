/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sample on one screen, for a person: from what the program holds to what is mapped, what each gap means, where
 * memory waits unused, the emptiest size classes, the arenas by share. Lines for what the sample does not have are left
 * out.
 */
#ifndef JESCOPE_STATS_SUMMARY_H
#define JESCOPE_STATS_SUMMARY_H

#include "stats/stats.h"

/* What a size class holds without use: its slabs' regions minus the live ones. FALSE if the row does not tell. */
gboolean summary_bin_waste(const StatsValues *bin, uint64_t *live_bytes, uint64_t *wasted_bytes);

void summary_append(GString *out, const StatsSample *sample);

#endif
