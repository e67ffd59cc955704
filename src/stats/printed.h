/* SPDX-License-Identifier: Apache-2.0 */
/* The arenas of a sample out of jemalloc's own JSON: one call in the target instead of thousands of controls. */
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

#endif
