/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One snapshot of malloc_stats_print's text, line by line, from the line after "___ Begin" to "--- End". One grammar
 * covers jemalloc 3.x to head: labels at column 0 open sections and have values, tables have a heading whose words name
 * the columns. Columns, rows and values are matched by the text keys of metrics.def; others are skipped.
 */
#ifndef JESCOPE_STATS_TEXT_H
#define JESCOPE_STATS_TEXT_H

#include "stats/stats.h"

#define TEXT_BEGIN "___ Begin jemalloc statistics ___"
#define TEXT_END   "--- End jemalloc statistics ---"

typedef enum {
    TEXT_TAKEN,   /* part, or possibly part, of the snapshot */
    TEXT_FOREIGN, /* certainly not from jemalloc */
    TEXT_DONE,    /* the End line */
    TEXT_DAMAGED, /* the snapshot is unusable: text_snapshot_why() */
} TextLine;

/* A cache of table headings, so that they are parsed once per file and not once per arena. Snapshots that are open at
 * the same time need one each. */
typedef struct TextHeadings TextHeadings;
TextHeadings *text_headings_new(void);
void text_headings_free(TextHeadings *headings);

typedef struct TextSnapshot TextSnapshot;

/* Each row of a table takes one of *ROWS, which belongs to the reader; without any left the snapshot is damaged. */
TextSnapshot *text_snapshot_new(TextHeadings *headings, guint64 *rows);
void text_snapshot_free(TextSnapshot *snapshot);

/* LINE must be without its line end and a logger's prefix. */
TextLine text_snapshot_line(TextSnapshot *snapshot, const char *line, gsize length);

/* Why the snapshot is damaged; a static string. */
const char *text_snapshot_why(const TextSnapshot *snapshot);

/* Returns the sample, with derived values, after TEXT_DONE; NULL if it has no statistics. */
StatsSample *text_snapshot_take(TextSnapshot *snapshot);

#endif
