/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a type of terminal can show a screen. A file of its own, since <term.h> defines macros of common words. */
#ifndef JESCOPE_TUI_TERMINAL_TYPE_H
#define JESCOPE_TUI_TERMINAL_TYPE_H

#include <glib.h>

/* newterm() ends the process for some types: asked before it. TYPE is $TERM, or "". FALSE with SCREEN_ERROR_TERMINAL,
 * which says what to use instead. */
gboolean terminal_type_check(const char *type, int descriptor, GError **error);

#endif
