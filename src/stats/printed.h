/* SPDX-License-Identifier: Apache-2.0 */
/* Reads parts of a sample from the output of malloc_stats_print: one call in the target instead of thousands of
 * controls. */
#ifndef JESCOPE_STATS_PRINTED_H
#define JESCOPE_STATS_PRINTED_H

#include "stats/stats.h"
#include "target/target.h"

typedef enum {
    PRINTED_ARENAS,
    PRINTED_ARENAS_AND_CLASSES,
} PrintedParts;

/*
 * Adds PARTS, every arena of TARGET with or without size classes, to SAMPLE. FALSE, with SAMPLE unchanged, if the
 * target cannot print them (an old jemalloc, a sandbox), or they have more than STATS_ROWS_MAX rows. Values that the
 * JSON lacks (docs/metrics.md) are absent. The output is parsed by an unprivileged child and validated (log-reader.h).
 */
gboolean printed_arenas(Target *target, PrintedParts parts, StatsSample *sample);

/* Adds the size classes to the merged arena of SAMPLE, which must exist, from jemalloc's text: its JSON lacks the
 * allocation counts of large classes. FALSE as above. */
gboolean printed_classes(Target *target, StatsSample *sample);

#endif
