/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A screen as a grid of cells, before it is painted: what the views draw on. It knows nothing of a terminal, so that
 * the same drawing is a frame of text (--once), a frame on a terminal (screen.h) and a frame in a test.
 *
 * Text that is put here is untrusted: a character that controls a terminal, reorders text or is invisible becomes "?",
 * combining marks stay with the letter before them, and a wide character that would be cut in two is left out.
 */
#ifndef JESCOPE_TUI_CELLS_H
#define JESCOPE_TUI_CELLS_H

#include <glib.h>

typedef enum {
    CELL_PLAIN,
    CELL_TITLE,    /* the line that says where we are */
    CELL_HEADING,  /* of columns */
    CELL_SORTED,   /* heading of the column that rows are sorted by */
    CELL_SELECTED, /* the row of the cursor */
    CELL_STRONG,
    CELL_FAINT,
    CELL_GROWN,
    CELL_SHRUNK,
    CELL_TROUBLE,
    CELL_ACTIVE, /* profiling is on */
    CELL_KEY,
    CELL_FOUND, /* what a search matches */
    CELL_BAR_1, /* parts of a bar or lines of a chart; successive ones differ without colour by their letters */
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
    CELL_LETTERS = 4, /* a letter and its combining marks; further marks are left out */
    CELLS_MAX = 1000, /* rows, and columns */
};

typedef struct {
    gunichar letters[CELL_LETTERS]; /* ends with 0 if there are fewer; the right half of a wide one has none */
    guint8 width;                   /* columns: 1, 2, or 0 for the right half of a wide one */
    guint8 style;                   /* CellStyle */
} Cell;

typedef struct {
    guint rows;
    guint columns;
    Cell *cells;                   /* row by row */
    int cursor_row, cursor_column; /* of the terminal's cursor; -1: hidden */
} Cells;

/* Blank. Sizes are limited to 1..CELLS_MAX. */
Cells *cells_new(guint rows, guint columns);
void cells_free(Cells *cells);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Cells, cells_free)

/* Where text goes: at most COLUMNS columns of one row. What is outside of the grid is not drawn. */
typedef struct {
    guint row;
    guint column;
    guint columns;
} CellSpan;

const Cell *cells_at(const Cells *cells, guint row, guint column);

/* Returns the columns that TEXT took. A longer text is cut; a cut is marked by "…" in its last column. */
guint cells_put(Cells *cells, CellSpan span, CellStyle style, const char *text);
guint cells_print(Cells *cells, CellSpan span, CellStyle style, const char *format, ...) G_GNUC_PRINTF(4, 5);

/* The same, flush right. */
void cells_put_right(Cells *cells, CellSpan span, CellStyle style, const char *text);

/* Blank. */
void cells_clear(Cells *cells, CellSpan span);

/* Cells keep their text. */
void cells_set_style(Cells *cells, CellSpan span, CellStyle style);

/* The first COUNT rows of FROM from row TOP on, into those of TO from row AT on, of the same number of columns. */
typedef struct {
    guint top;
    guint at;
    guint count;
} CellRows;
void cells_copy(Cells *to, const Cells *from, CellRows rows);

/* The frame as text: a line for each row up to the last one that is not blank, without blanks at their ends. */
char *cells_text(const Cells *cells);

/* The columns that TEXT takes where there is room for all of it. */
guint cells_text_width(const char *text);

/* The columns of a letter in a terminal: 0 for combining marks, 2 for wide ones. */
guint cells_letter_width(gunichar letter);

#endif
