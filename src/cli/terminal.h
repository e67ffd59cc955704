/* SPDX-License-Identifier: Apache-2.0 */
/* The terminal behind a descriptor: how wide it is, whether colour is wanted there. */
#ifndef JESCOPE_CLI_TERMINAL_H
#define JESCOPE_CLI_TERMINAL_H

#include "text/style.h"

#include <glib.h>

/* Columns of the terminal of DESCRIPTOR; without one those of $COLUMNS, else OTHERWISE. */
guint terminal_columns(int descriptor, guint otherwise);

/* Whether output on DESCRIPTOR is coloured: by --color, or if it is a terminal, $TERM is not "dumb" and NO_COLOR is
 * unset or empty (https://no-color.org). */
gboolean terminal_colored(int descriptor);

/* From now on the answers for standard output are those of now, also in a child that has another standard output. */
void terminal_remember(void);

/* The value of --color, or NULL: not given. */
extern char *terminal_color_word;

/* The row of --color for option tables. */
#define TERMINAL_COLOR_OPTION                                                                                          \
    {                                                                                                                  \
        "color", 0, 0, G_OPTION_ARG_STRING, &terminal_color_word, "when to use colour (default: auto)",                \
            "auto|always|never"                                                                                        \
    }

/* FALSE: --color has no such value; CLI_ERROR_USAGE. */
gboolean terminal_check_color(GError **error);

#endif
