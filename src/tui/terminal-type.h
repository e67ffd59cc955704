/* SPDX-License-Identifier: Apache-2.0 */
/* Checks a terminal type. This is a separate file because <term.h> defines common words as macros. */
#ifndef JESCOPE_TUI_TERMINAL_TYPE_H
#define JESCOPE_TUI_TERMINAL_TYPE_H

#include <glib.h>

/* To be called before newterm(), which ends the process for some types. TYPE is $TERM, or "". FALSE with
 * SCREEN_ERROR_TERMINAL, whose message says what to use instead. */
gboolean terminal_type_check(const char *type, int descriptor, GError **error);

#endif
