/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that jemalloc holds and the program does not use, by the setting that would free it. Each number is computed
 * from the process's own classes and arenas, so that it is what the remedy would really free.
 */
#ifndef JESCOPE_STATS_WASTE_H
#define JESCOPE_STATS_WASTE_H

#include "stats/stats.h"

/* Bytes; 0 also if the source lacks the values. */
typedef struct {
    uint64_t unused;     /* dirty and muzzy pages */
    uint64_t never;      /* dirty pages in arenas that never return them (decay of -1) */
    guint never_arena;   /* the first such arena */
    uint64_t slabs;      /* slabs that would be freed if the live regions of each arena were packed */
    uint64_t spread;     /* slabs that would be freed if all arenas were one; 0 without classes of each arena */
    uint64_t arena_data; /* the arenas' metadata (base), except the largest arena's */
    uint64_t class_size; /* of the small size class with the most bytes in `slabs`; 0: none */
    uint64_t class_slabs;
    uint64_t cached;   /* in thread caches */
    uint64_t metadata; /* all metadata */
    uint64_t internal; /* the part that jemalloc allocates from its arenas: profiler, thread caches */
    guint arenas;      /* number of arenas */
    uint64_t threads;  /* number of threads assigned to them */
    gboolean profiler; /* jemalloc's profiler may be enabled */
} StatsWaste;

void stats_waste(const StatsSample *sample, StatsWaste *waste);

/* The remedy for large metadata: it addresses the part that is more than half of it; NULL if there is none. */
const char *stats_waste_metadata_remedy(const StatsWaste *waste);

#endif
