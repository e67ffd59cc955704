/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of a sample out of what jemalloc prints itself: one call in the target instead of thousands of controls. */
#ifndef JESCOPE_STATS_PRINTED_H
#define JESCOPE_STATS_PRINTED_H

#include "stats/stats.h"
#include "target/target.h"

typedef enum {
    PRINTED_ARENAS,
    PRINTED_ARENAS_AND_CLASSES,
} PrintedParts;

/*
 * Adds every arena of TARGET to SAMPLE, with its size classes if CLASSES are wanted. FALSE: the target cannot print
 * them (an old jemalloc, a sandbox), and SAMPLE is as it was. What the JSON does not have is missing: docs/metrics.md.
 * It is read by a child without privileges. What it says is checked (log-reader.h).
 */
gboolean printed_arenas(Target *target, PrintedParts parts, StatsSample *sample);

/* Likewise adds the size classes of the merged arena, which SAMPLE has, out of jemalloc's text: its JSON lacks how
 * often large classes are allocated from. */
gboolean printed_classes(Target *target, StatsSample *sample);

#endif
