/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses one snapshot of malloc_stats_print's JSON, fed in arbitrary pieces, from after `"jemalloc":` to the brace that
 * closes that object. One grammar covers jemalloc 4.3 to head: values are found by the paths in metrics.def, everything
 * else is skipped. If a key is repeated, the last value is used.
 *
 * This is a scanner of its own rather than Jansson: with 1024 arenas a snapshot is 41 MB, of which one value in five is
 * used, and building a tree takes more than ten times as long as scanning.
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

/* Each row of a table takes one of *ROWS, which belongs to the reader; without any left the snapshot is damaged. */
JsonSnapshot *json_snapshot_new(guint64 *rows);
void json_snapshot_free(JsonSnapshot *snapshot);

/* Feeds LENGTH bytes. *TAKEN is the number of bytes that belong to the snapshot (all with JSON_MORE). */
JsonResult json_snapshot_feed(JsonSnapshot *snapshot, const char *bytes, gsize length, gsize *taken);

/* Why it is damaged; a static string. */
const char *json_snapshot_why(const JsonSnapshot *snapshot);

/* Whether LINE could continue the snapshot; otherwise it is an interleaved line of another writer. */
gboolean json_snapshot_continues(const JsonSnapshot *snapshot, const char *line, gsize length);

/* Returns the sample, with derived values, after JSON_DONE; NULL if it has no statistics (a jemalloc built without
 * them). */
StatsSample *json_snapshot_take(JsonSnapshot *snapshot);

#endif
