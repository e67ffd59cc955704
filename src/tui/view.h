/* SPDX-License-Identifier: Apache-2.0 */
/* The screens: each draws the model on cells, and answers keys. A new screen is one file, a line here and a row of
 * views in view.c. */
#ifndef JESCOPE_TUI_VIEW_H
#define JESCOPE_TUI_VIEW_H

#include "tui/cells.h"
#include "tui/model.h"

typedef enum {
    VIEW_KEY_HELP = 0,         /* it is in the help */
    VIEW_KEY_BRIEF = 1 << 0,   /* also in the last row */
    VIEW_KEY_CHANGES = 1 << 1, /* it changes the target: not in a replay */
} ViewKeyFlags;

/* A key and what it does, for the help and the last row. */
typedef struct {
    const char *keys;
    const char *about; /* one phrase */
    ViewKeyFlags flags;
} ViewKey;

typedef struct {
    const char *name;
    const ViewKey *keys; /* ends with a NULL */
    /* Draws on the rows [FIRST, LIMIT) of CELLS. */
    void (*draw)(Model *model, Cells *cells, guint first, guint limit);
    /* What model_key() leaves; FALSE: not a key of this view. */
    gboolean (*key)(Model *model, const Key *key);
} View;

extern const View targets_view; /* targets-view.c */
extern const View target_view;  /* target-view.c */
extern const View sites_view;   /* sites-view.c */
extern const View flame_view;   /* flame-view.c */

/* The whole frame: what is shown where, the view, messages or keys. */
void view_draw(Model *model, Cells *cells);

/* The view alone, from the first row on. */
void view_draw_list(Model *model, Cells *cells);

/* A key that was pressed. */
void view_key(Model *model, const Key *key);

/* The sort words of the targets' columns, NULL at the end, and their number by word; FALSE: no such word. */
extern const char *const targets_sort_words[];

/* The target under the cursor of the targets screen; NULL: none. */
FeedTarget *targets_chosen(Model *model);

#endif
