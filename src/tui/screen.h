/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The terminal: paints cells and reads keys, with ncurses. One at a time in a process, of one thread. Only what has
 * changed since the last frame is sent, in one write.
 *
 * Letters are sent as the locale's character set has them. Where that is not UTF-8, lines and blocks are drawn with
 * ASCII letters and other letters become "?".
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
    SCREEN_ERROR_TERMINAL, /* it cannot show a screen; the message says what to use instead */
    SCREEN_ERROR_FEED,     /* there is nothing to show; the message says why */
} ScreenError;

typedef struct {
    const char *type; /* of the terminal: $TERM */
    FILE *in;
    FILE *out;
    gboolean colored;
    gboolean ascii; /* letters outside of ASCII are replaced */
    gboolean mouse;
    gsize rows; /* 0: as the terminal says */
    gsize columns;
} ScreenOptions;

/* Switches the terminal over. */
Screen *screen_open(const ScreenOptions *options, GError **error);

/* Switches it back. */
void screen_close(Screen *screen);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Screen, screen_close)

guint screen_rows(const Screen *screen);
guint screen_columns(const Screen *screen);

/* The terminal has another size now; 0: as it says itself. */
void screen_resize(Screen *screen, guint rows, guint columns);

/* Cells beyond the size of the terminal are not painted. */
void screen_paint(Screen *screen, const Cells *cells);

/* A key that was pressed; FALSE: none waits. */
gboolean screen_read_key(Screen *screen, Key *key);

/* Gives the terminal back to the shell for a while; then takes it again and paints the whole frame. */
void screen_leave(Screen *screen);
void screen_return(Screen *screen);

#endif
