/* SPDX-License-Identifier: Apache-2.0 */
/* The headings of the text form's tables, and the rows under them. Used by text.c alone. */
#ifndef JESCOPE_STATS_HEADINGS_H
#define JESCOPE_STATS_HEADINGS_H

#include "stats/text.h"

/* Which rows a heading is read for: the same heading names other metrics in another row ("small: nmalloc"). */
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
    gint8 place[COLUMNS_MAX]; /* of the metric among its scope's values; -1: not used */
    guint16 end[COLUMNS_MAX]; /* the end of the column's heading: values are right-aligned */
    gsize length;             /* of the heading line */
    char *line;
} Columns;

struct TextHeadings {
    Columns columns[ROW_KINDS];
};

/* The columns of KIND in the heading LINE, with names from byte AT on. NULL: too many. */
const Columns *headings_get(TextHeadings *headings, RowKind kind, const char *line, gsize length, gsize at);

typedef enum {
    ROW_TAKEN,
    ROW_NOT,     /* not a row of this table */
    ROW_DAMAGED, /* one, but not whole */
} RowResult;

/* Reads the numbers of LINE from byte AT on into VALUES, which change on ROW_TAKEN alone. "N/A" is an absent value. */
RowResult columns_read(const Columns *columns, const char *line, gsize length, gsize at, StatsValues *values);

/* A number at *AT, moved behind it: decimal, with sign, the digits after a point passed over. FALSE: none there, or it
 * does not fit. */
gboolean text_number(const char **at, const char *end, uint64_t *number);

#endif
