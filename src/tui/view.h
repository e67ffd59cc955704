/* SPDX-License-Identifier: Apache-2.0 */
/* The screens: each draws the model on cells and handles keys. A new screen is one file, a line here and a row of views
 * in view.c. */
#ifndef JESCOPE_TUI_VIEW_H
#define JESCOPE_TUI_VIEW_H

#include "tui/cells.h"
#include "tui/model.h"

typedef enum {
    VIEW_KEY_HELP = 0,         /* listed in the help */
    VIEW_KEY_BRIEF = 1 << 0,   /* also shown in the last row */
    VIEW_KEY_CHANGES = 1 << 1, /* changes the target: not available in a replay */
} ViewKeyFlags;

/* A key and its effect, for the help and the last row. */
typedef struct {
    const char *keys;
    const char *about; /* one phrase */
    ViewKeyFlags flags;
} ViewKey;

typedef struct {
    const char *name;
    const ViewKey *keys; /* ends with a row whose keys are NULL */
    /* Draws on rows [FIRST, LIMIT) of CELLS. */
    void (*draw)(Model *model, Cells *cells, guint first, guint limit);
    /* Handles a key; FALSE: not a key of this view. */
    gboolean (*key)(Model *model, const Key *key);
} View;

extern const View targets_view; /* targets-view.c */
extern const View target_view;  /* target-view.c */
extern const View sites_view;   /* sites-view.c */
extern const View flame_view;   /* flame-view.c */

/* Draws the whole frame: the title, the view, and messages or keys. */
void view_draw(Model *model, Cells *cells);

/* Draws only the view, from the first row. */
void view_draw_list(Model *model, Cells *cells);

/* Handles a key press. */
void view_key(Model *model, const Key *key);

/* The target under the cursor of the targets screen, or NULL. */
FeedTarget *targets_chosen(Model *model);

#endif
