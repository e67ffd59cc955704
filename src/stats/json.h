/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One snapshot of malloc_stats_print's JSON, fed in arbitrary pieces, from after `"jemalloc":` to the brace that closes
 * that object. jemalloc 4.3 to head is one grammar here: values are found by the paths in metrics.def, everything else
 * is skipped. Repeated keys are permitted: the last value is used.
 *
 * A scanner of its own rather than Jansson: at 1024 arenas a snapshot is 41 MB, of which one value in five is used, and
 * building the tree takes more than ten times as long as scanning.
 */
#ifndef JESCOPE_STATS_JSON_H
#define JESCOPE_STATS_JSON_H

#include "stats/stats.h"

#define JSON_BEGIN "\"jemalloc\":"

typedef enum {
    JSON_MORE,
    JSON_DONE,
    JSON_DAMAGED,
} JsonResult;

typedef struct JsonSnapshot JsonSnapshot;

JsonSnapshot *json_snapshot_new(void);
void json_snapshot_free(JsonSnapshot *snapshot);

/* TAKEN: how many of the bytes belonged to the snapshot (all of them with JSON_MORE). */
JsonResult json_snapshot_feed(JsonSnapshot *snapshot, const char *bytes, gsize length, gsize *taken);

/* Whether LINE could be the continuation of the snapshot, or another writer's line that came between. */
gboolean json_snapshot_continues(const JsonSnapshot *snapshot, const char *line, gsize length);

/* After JSON_DONE: the sample with derived values; NULL if it has no statistics (a build without them). */
StatsSample *json_snapshot_take(JsonSnapshot *snapshot);

#endif
