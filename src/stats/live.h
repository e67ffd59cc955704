/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of a running target. A sample advances jemalloc's epoch once and reads only the controls needed, in a few
 * exchanges (target_sample()). Controls that the target's jemalloc lacks are detected with the first sample and not
 * requested again. The cost depends on the number of arenas (like jemalloc's own refresh), not on the size of the heap.
 */
#ifndef JESCOPE_STATS_LIVE_H
#define JESCOPE_STATS_LIVE_H

#include "stats/stats.h"
#include "target/target.h"

typedef enum {
    STATS_LIVE_TOTALS = 0,             /* always included: totals and the merged arena */
    STATS_LIVE_ARENA_SIZES = 1 << 0,   /* allocated, active, mapped and resident bytes of every arena */
    STATS_LIVE_ARENAS = 1 << 1,        /* all values of every arena, including the destroyed ones */
    STATS_LIVE_CLASSES = 1 << 2,       /* size classes of the merged arena */
    STATS_LIVE_ARENA_CLASSES = 1 << 3, /* size classes of every arena */
    STATS_LIVE_MUTEXES = 1 << 4,       /* global mutexes */
    STATS_LIVE_FIGURES = 1 << 5,       /* only sizes of totals and the merged arena, in one exchange */
    STATS_LIVE_SLABS = 1 << 6,         /* size classes of the merged arena: only slabs and regions */
} StatsLiveParts;

typedef struct StatsLive StatsLive;

/* TARGET must outlive it. */
StatsLive *stats_live_new(Target *target, StatsLiveParts parts, GError **error);
void stats_live_free(StatsLive *live);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(StatsLive, stats_live_free)

/* Takes a sample; sample.duration is the time it took. If it would have more than STATS_ROWS_MAX rows of size classes
 * of single arenas, or too little memory is left for them, those of some arenas are left out (stats_unread_notice()).
 * NULL
 * with a TARGET_ERROR, such as OUTCOME_SILENT after 30 s or target_wait_until(), or with STATS_ERROR_FORMAT if the
 * target's jemalloc was built without statistics. */
StatsSample *stats_live_sample(StatsLive *live, GError **error);

/* Sets another time limit than 30 s. For tests. */
void stats_live_limit(StatsLive *live, gint64 us);

#endif
