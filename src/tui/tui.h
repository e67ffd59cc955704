/* SPDX-License-Identifier: Apache-2.0 */
/* `jescope top`: shows a feed on the screens until the user quits; or writes one frame as text, or a line of JSON per
 * frame. */
#ifndef JESCOPE_TUI_TUI_H
#define JESCOPE_TUI_TUI_H

#include "tui/feed.h"

typedef enum {
    TUI_SCREEN,
    TUI_ONCE,
    TUI_JSON,
} TuiMode;

typedef struct {
    TuiMode mode;
    gboolean colored;
    gboolean readonly;
    gboolean one;       /* the feed has one target: start with its screen */
    guint columns;      /* TUI_ONCE */
    guint count;        /* TUI_JSON: lines to write; 0: run until a signal */
    guint sort;         /* index into targets_sort_words */
    const char *filter; /* filter of the targets list; NULL: none */
    /* Receives the output of TUI_ONCE and TUI_JSON. FALSE: it cannot be written. */
    gboolean (*write)(const char *text, gpointer data);
    gpointer data;
} TuiOptions;

/* The sort keys of the targets list, NULL-terminated. */
extern const char *const targets_sort_words[];

/* Blocks the signals that tui_run() handles; must be called before other threads are created. */
void tui_prepare(void);

/* Shows FEED, which is borrowed, until the user quits or the output is complete. Blocks. */
gboolean tui_run(Feed *feed, const TuiOptions *options, GError **error);

#endif
