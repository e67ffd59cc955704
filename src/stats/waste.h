/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What jemalloc holds that the program does not use, by the setting that would give it back: each number is computed
 * from the process's own classes and arenas, so a remedy is offered for what it would really return.
 */
#ifndef JESCOPE_STATS_WASTE_H
#define JESCOPE_STATS_WASTE_H

#include "stats/stats.h"

/* Bytes; 0 also where the source does not have the values. */
typedef struct {
    uint64_t unused;     /* dirty and muzzy pages */
    uint64_t never;      /* of them dirty pages in arenas that never return them (decay of -1) */
    guint never_arena;   /* the first such arena */
    uint64_t slabs;      /* slabs that the live regions of each arena would not need if they were packed */
    uint64_t spread;     /* slabs that would not be needed if all arenas were one; 0 without classes of each arena */
    uint64_t arena_data; /* the arenas' own data (base), without that of the largest arena */
    uint64_t class_size; /* of the small size class with the most bytes in `slabs`; 0: none */
    uint64_t class_slabs;
    uint64_t cached;   /* in thread caches */
    uint64_t metadata; /* all of it */
    uint64_t internal; /* of it jemalloc's allocations from its arenas: the profiler, thread caches */
    guint arenas;      /* that there are */
    uint64_t threads;  /* assigned to them */
    gboolean profiler; /* jemalloc's profiler can be on */
} StatsWaste;

void stats_waste(const StatsSample *sample, StatsWaste *waste);

/* What makes jemalloc's own data smaller: that which most of it is for; NULL: no part is more than half. */
const char *stats_waste_metadata_remedy(const StatsWaste *waste);

#endif
