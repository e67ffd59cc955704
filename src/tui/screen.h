/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The terminal: paints cells and reads keys, with ncurses. A process can have one at a time, used by one thread. Only
 * the changes since the last frame are sent, in one write.
 *
 * Letters are sent in the locale's character set. If that is not UTF-8, lines and blocks are drawn with ASCII letters
 * and other letters become "?".
 */
#ifndef JESCOPE_TUI_SCREEN_H
#define JESCOPE_TUI_SCREEN_H

#include "tui/cells.h"
#include "tui/key.h"

#include <stdio.h>

typedef struct Screen Screen;

#define SCREEN_ERROR (screen_error_quark())
GQuark screen_error_quark(void);

typedef enum {
    SCREEN_ERROR_TERMINAL, /* the terminal cannot show a screen; the message says what to use instead */
    SCREEN_ERROR_FEED,     /* the feed failed; the message says why */
} ScreenError;

typedef struct {
    const char *type; /* the terminal's type: $TERM */
    FILE *in;
    FILE *out;
    gboolean colored;
    gboolean ascii; /* non-ASCII letters are replaced */
    gboolean mouse;
    gsize rows; /* 0: the terminal's own size */
    gsize columns;
} ScreenOptions;

/* Switches the terminal to the full screen. */
Screen *screen_open(const ScreenOptions *options, GError **error);

/* Switches it back. */
void screen_close(Screen *screen);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Screen, screen_close)

guint screen_rows(const Screen *screen);
guint screen_columns(const Screen *screen);

/* Adapts to a new size; 0: the size that the terminal reports. */
void screen_resize(Screen *screen, guint rows, guint columns);

/* Cells beyond the size of the terminal are not painted. */
void screen_paint(Screen *screen, const Cells *cells);

/* Reads a key that was pressed; FALSE if there is none. */
gboolean screen_read_key(Screen *screen, Key *key);

/* Returns the terminal to the shell; and takes it back, to paint the whole frame again. */
void screen_leave(Screen *screen);
void screen_return(Screen *screen);

#endif
