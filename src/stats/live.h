/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of a living target: only the controls needed, jemalloc's epoch advanced once per sample, everything in a few
 * exchanges (target_sample()). Controls that this jemalloc does not have are detected with the first sample and not
 * requested again. The cost depends on the number of arenas (as jemalloc's own refresh), not on the size of the heap.
 */
#ifndef JESCOPE_STATS_LIVE_H
#define JESCOPE_STATS_LIVE_H

#include "stats/stats.h"
#include "target/target.h"

typedef enum {
    STATS_LIVE_TOTALS = 0,             /* always there: totals and the merged arena */
    STATS_LIVE_ARENA_SIZES = 1 << 0,   /* of every arena the allocated, active, mapped and resident bytes */
    STATS_LIVE_ARENAS = 1 << 1,        /* of every arena everything, the destroyed ones too */
    STATS_LIVE_CLASSES = 1 << 2,       /* size classes of the merged arena */
    STATS_LIVE_ARENA_CLASSES = 1 << 3, /* and of every arena */
    STATS_LIVE_MUTEXES = 1 << 4,       /* the global ones */
    STATS_LIVE_FIGURES = 1 << 5,       /* only the sizes of totals and the merged arena, in one exchange */
    STATS_LIVE_SLABS = 1 << 6,         /* size classes of the merged arena: what there is of slabs and regions */
} StatsLiveParts;

typedef struct StatsLive StatsLive;

/* TARGET must outlive it. */
StatsLive *stats_live_new(Target *target, StatsLiveParts parts, GError **error);
void stats_live_free(StatsLive *live);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(StatsLive, stats_live_free)

/* Takes one sample; sample.duration is the time it took. NULL on error: a TARGET_ERROR, or STATS_ERROR_FORMAT if the
 * target's jemalloc was built without statistics. */
StatsSample *stats_live_sample(StatsLive *live, GError **error);

#endif
