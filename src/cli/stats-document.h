/* SPDX-License-Identifier: Apache-2.0 */
/* stats --json: the members of the document "jescope-stats"; docs/formats.md has the keys. */
#ifndef JESCOPE_CLI_STATS_DOCUMENT_H
#define JESCOPE_CLI_STATS_DOCUMENT_H

#include "stats/stats.h"

#include <jansson.h>

typedef enum {
    STATS_DOCUMENT_PLAIN = 0,
    STATS_DOCUMENT_ARENAS = 1 << 0,  /* every arena, not only all of them merged */
    STATS_DOCUMENT_CLASSES = 1 << 1, /* the size classes of each arena */
} StatsDocumentParts;

/* A new object. LAST is described; advice also compares it with FIRST, which may be the same. */
json_t *stats_document(const StatsSample *last, const StatsSample *first, StatsDocumentParts parts);

#endif
