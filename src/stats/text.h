/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One snapshot of malloc_stats_print's text, line by line, from the line after "___ Begin" to "--- End". The forms of
 * jemalloc 3.x to head are one grammar: labels at column 0 open sections and give values, tables have a heading whose
 * words name the columns. Columns, rows and values are matched by the text keys of metrics.def; others are skipped.
 */
#ifndef JESCOPE_STATS_TEXT_H
#define JESCOPE_STATS_TEXT_H

#include "stats/stats.h"

#define TEXT_BEGIN "___ Begin jemalloc statistics ___"
#define TEXT_END   "--- End jemalloc statistics ---"

typedef enum {
    TEXT_TAKEN,   /* part of the snapshot, or might be */
    TEXT_FOREIGN, /* certainly not from jemalloc */
    TEXT_DONE,    /* the End line */
    TEXT_DAMAGED, /* the snapshot is of no use: text_snapshot_why() */
} TextLine;

/* Headings of tables seen before, so that they are understood once per file and not once per arena. Snapshots that are
 * open at the same time need one each. */
typedef struct TextHeadings TextHeadings;
TextHeadings *text_headings_new(void);
void text_headings_free(TextHeadings *headings);

typedef struct TextSnapshot TextSnapshot;

TextSnapshot *text_snapshot_new(TextHeadings *headings);
void text_snapshot_free(TextSnapshot *snapshot);

/* LINE without its line end and without a logger's prefix. */
TextLine text_snapshot_line(TextSnapshot *snapshot, const char *line, gsize length);

/* A static string. */
const char *text_snapshot_why(const TextSnapshot *snapshot);

/* After TEXT_DONE: the sample with derived values; NULL if it has no statistics. */
StatsSample *text_snapshot_take(TextSnapshot *snapshot);

#endif
