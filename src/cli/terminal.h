/* SPDX-License-Identifier: Apache-2.0 */
/* Properties of the terminal of a descriptor: its width, and whether to use colour. */
#ifndef JESCOPE_CLI_TERMINAL_H
#define JESCOPE_CLI_TERMINAL_H

#include "text/style.h"

#include <glib.h>

/* Columns of the terminal of DESCRIPTOR; if it has none, of $COLUMNS, else OTHERWISE. */
guint terminal_columns(int descriptor, guint otherwise);

/* Whether output on DESCRIPTOR is coloured: by --color, or if it is a terminal, $TERM is not "dumb" and NO_COLOR is
 * unset or empty (https://no-color.org). */
gboolean terminal_colored(int descriptor);

/* Fixes the present results for standard output, also for children with another standard output. */
void terminal_remember(void);

/* The value of --color, or NULL: not given. */
extern char *terminal_color_word;

/* The row of --color for option tables. */
#define TERMINAL_COLOR_OPTION                                                                                          \
    {                                                                                                                  \
        "color", 0, 0, G_OPTION_ARG_STRING, &terminal_color_word, "when to use colour (default: auto)",                \
            "auto|always|never"                                                                                        \
    }

/* FALSE with CLI_ERROR_USAGE: the value of --color is invalid. */
gboolean terminal_check_color(GError **error);

#endif
