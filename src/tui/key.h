/* SPDX-License-Identifier: Apache-2.0 */
/* Key presses and mouse actions. */
#ifndef JESCOPE_TUI_KEY_H
#define JESCOPE_TUI_KEY_H

#include <glib.h>

typedef enum {
    KEY_IS_LETTER, /* Key.letter */
    KEY_IS_UP,
    KEY_IS_DOWN,
    KEY_IS_LEFT,
    KEY_IS_RIGHT,
    KEY_IS_PAGE_UP,
    KEY_IS_PAGE_DOWN,
    KEY_IS_HOME,
    KEY_IS_END,
    KEY_IS_ENTER,
    KEY_IS_ESCAPE,
    KEY_IS_TAB,
    KEY_IS_ERASE,
    KEY_IS_REDRAW,
    KEY_IS_TREE,
    KEY_IS_CLICK,  /* at Key.row and Key.column */
    KEY_IS_DOUBLE, /* a double click at Key.row and Key.column */
    KEY_IS_OTHER,
} KeyCode;

typedef struct {
    KeyCode code;
    gunichar letter;
    guint row;
    guint column;
} Key;

#endif
