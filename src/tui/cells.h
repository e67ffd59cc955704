/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A grid of cells, which the views draw on. It does not depend on a terminal: the same drawing serves as text (--once),
 * on a terminal (screen.h) and in tests.
 *
 * Text is untrusted: a character that controls a terminal, reorders text or is invisible becomes "?", combining marks
 * stay with the letter before them, and a wide character that would be split is dropped.
 */
#ifndef JESCOPE_TUI_CELLS_H
#define JESCOPE_TUI_CELLS_H

#include <glib.h>

typedef enum {
    CELL_PLAIN,
    CELL_TITLE,    /* the breadcrumb line */
    CELL_HEADING,  /* column headings */
    CELL_SORTED,   /* heading of the sort column */
    CELL_SELECTED, /* the row under the cursor */
    CELL_STRONG,
    CELL_FAINT,
    CELL_GROWN,
    CELL_SHRUNK,
    CELL_TROUBLE,
    CELL_ACTIVE, /* profiling is on */
    CELL_KEY,
    CELL_FOUND, /* search matches */
    CELL_BAR_1, /* parts of a bar or lines of a chart; without colour, their letters distinguish them */
    CELL_BAR_2,
    CELL_BAR_3,
    CELL_BAR_4,
    CELL_BAR_5,
    CELL_BOX_1, /* boxes of a flame graph: text on a background */
    CELL_BOX_2,
    CELL_BOX_3,
    CELL_BOX_4,
    CELL_BOX_GROWN,
    CELL_BOX_SHRUNK,
    CELL_BOX_SAME,
    CELL_STYLES,
} CellStyle;

enum {
    CELL_LETTERS = 4, /* a letter and its combining marks; further marks are dropped */
    CELLS_MAX = 1000, /* rows, and columns */
};

typedef struct {
    gunichar letters[CELL_LETTERS]; /* 0-terminated if there are fewer; empty in the right half of a wide letter */
    guint8 width;                   /* in columns: 1, 2, or 0 for the right half of a wide letter */
    guint8 style;                   /* CellStyle */
} Cell;

typedef struct {
    guint rows;
    guint columns;
    Cell *cells;                   /* in row order */
    int cursor_row, cursor_column; /* position of the terminal's cursor; -1: hidden */
} Cells;

/* Creates a blank grid. Sizes are clamped to 1..CELLS_MAX. */
Cells *cells_new(guint rows, guint columns);
void cells_free(Cells *cells);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Cells, cells_free)

/* A part of one row, COLUMNS wide. Parts outside the grid are not drawn. */
typedef struct {
    guint row;
    guint column;
    guint columns;
} CellSpan;

const Cell *cells_at(const Cells *cells, guint row, guint column);

/* Returns the number of columns used. Text that does not fit is cut, with "…" in the last column. */
guint cells_put(Cells *cells, CellSpan span, CellStyle style, const char *text);
guint cells_print(Cells *cells, CellSpan span, CellStyle style, const char *format, ...) G_GNUC_PRINTF(4, 5);

/* Like cells_put(), but right-aligned. */
void cells_put_right(Cells *cells, CellSpan span, CellStyle style, const char *text);

/* Blanks the span. */
void cells_clear(Cells *cells, CellSpan span);

/* Changes the style only; the text stays. */
void cells_set_style(Cells *cells, CellSpan span, CellStyle style);

/* What cells_copy() copies: COUNT rows of FROM, starting at row TOP, to TO, starting at row AT. Both grids have the
 * same number of columns. */
typedef struct {
    guint top;
    guint at;
    guint count;
} CellRows;
void cells_copy(Cells *to, const Cells *from, CellRows rows);

/* Returns the grid as text, without trailing blanks and trailing blank lines. Newly allocated. */
char *cells_text(const Cells *cells);

/* The width of TEXT in columns when it is not cut. */
guint cells_text_width(const char *text);

/* The width of LETTER in terminal columns: 0 for combining marks, 2 for wide letters. */
guint cells_letter_width(gunichar letter);

#endif
