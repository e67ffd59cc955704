/* SPDX-License-Identifier: Apache-2.0 */
/* `jescope top`: runs the screens over a feed until the user ends them; or writes one frame as text, or a line of JSON
 * for each frame. */
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
    gboolean one;       /* the feed has one target: its screen is the first one */
    guint columns;      /* TUI_ONCE */
    guint count;        /* TUI_JSON: lines to write; 0: until a signal */
    guint sort;         /* index of targets_sort_words */
    const char *filter; /* of the targets; NULL: none */
    /* Gets what TUI_ONCE and TUI_JSON write. FALSE: it cannot be written. */
    gboolean (*write)(const char *text, gpointer data);
    gpointer data;
} TuiOptions;

/* The words that targets can be sorted by, NULL at the end. */
extern const char *const targets_sort_words[];

/* Blocks the signals that it waits for; to be called before there are other threads. */
void tui_prepare(void);

/* FEED stays the caller's. Blocks. */
gboolean tui_run(Feed *feed, const TuiOptions *options, GError **error);

#endif
