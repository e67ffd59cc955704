/* SPDX-License-Identifier: Apache-2.0 */
/* The headings of tables in jemalloc's text output, and the rows under them. Only used by text.c. */
#ifndef JESCOPE_STATS_HEADINGS_H
#define JESCOPE_STATS_HEADINGS_H

#include "stats/text.h"

/* The kind of row that a heading is read for: a heading names different metrics in different rows ("small:
 * nmalloc"). */
typedef enum {
    ROW_BIN,
    ROW_LARGE,
    ROW_HUGE,
    ROW_MUTEX,
    ROW_SUM_SMALL,
    ROW_SUM_LARGE,
    ROW_SUM_HUGE,
    ROW_SUM_TOTAL,
    ROW_DIRTY,
    ROW_MUZZY,
    ROW_KINDS,
} RowKind;

enum {
    COLUMNS_MAX = 64,
};

typedef struct {
    guint count;
    gint8 place[COLUMNS_MAX]; /* index of the metric among its scope's values; -1: not used */
    guint16 end[COLUMNS_MAX]; /* the end of the column's heading: values are right-aligned */
    gsize length;             /* length of the heading line */
    char *line;
} Columns;

struct TextHeadings {
    Columns columns[ROW_KINDS];
};

/* The columns of KIND in the heading LINE, whose names begin at byte AT. NULL if there are too many. */
const Columns *headings_get(TextHeadings *headings, RowKind kind, const char *line, gsize length, gsize at);

typedef enum {
    ROW_TAKEN,
    ROW_NOT,     /* not a row of this table */
    ROW_DAMAGED, /* a row of this table, but damaged */
} RowResult;

/* Reads the numbers of LINE, starting at byte AT, into VALUES, which are only changed on ROW_TAKEN. "N/A" is an absent
 * value. */
RowResult columns_read(const Columns *columns, const char *line, gsize length, gsize at, StatsValues *values);

/* Reads a decimal number at *AT, which is moved past it; a sign is accepted, digits after a point are skipped. FALSE if
 * there is no number, or it does not fit. */
gboolean text_number(const char **at, const char *end, uint64_t *number);

#endif
