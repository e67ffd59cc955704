/* SPDX-License-Identifier: Apache-2.0 */
/* A terminal in process: ncurses paints into a file, libvterm reads it, and what a user would see is compared. */
#ifndef JESCOPE_TESTS_TUI_STAGE_H
#define JESCOPE_TESTS_TUI_STAGE_H

#include "tui/screen.h"

typedef struct Stage Stage;

typedef struct {
    const char *type; /* $TERM */
    guint rows;
    guint columns;
    gboolean plain; /* as NO_COLOR */
    gboolean ascii;
} StageOptions;

Stage *stage_new(const StageOptions *options);
void stage_free(Stage *stage);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Stage, stage_free)

Screen *stage_screen(Stage *stage);

/* The terminal has another size, and jescope learns it. */
void stage_resize(Stage *stage, guint rows, guint columns);

/* Paints CELLS; returns the bytes that were sent to the terminal. */
gsize stage_paint(Stage *stage, const Cells *cells);

/* What the terminal shows: the rows between bars, then below each row that has styles a letter for each cell, and the
 * legend of these letters. */
char *stage_picture(Stage *stage);

/* The colours of a cell. */
typedef struct {
    gboolean is_default; /* the terminal's own; then and only then the rest is not set */
    gboolean is_theme;   /* one of the 16 that the user's theme chooses: NUMBER */
    guint number;
    guint8 red, green, blue;
} StageColor;
void stage_colors(Stage *stage, guint row, guint column, StageColor *text, StageColor *background);

gboolean stage_is_bold(Stage *stage, guint row, guint column);

/* The text of the terminal alone. */
char *stage_text(Stage *stage);

/* The picture is that of the file NAME, which is written with JESCOPE_GOLDEN=write. */
void stage_compare(Stage *stage, const char *name);

#endif
