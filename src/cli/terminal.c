/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/terminal.h"

#include "cli/command.h"
#include "cli/words.h"

#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
    COLUMNS_MIN = 20,
    COLUMNS_MAX = 1000,
};

char *terminal_color_word;
static guint remembered_columns; /* of standard output; 0: not a terminal, or unknown */

static const char *const color_words[] = {"auto", "always", "never", NULL};

guint
terminal_columns(int descriptor, guint otherwise)
{
    struct winsize size;
    guint64 columns;
    const char *given = g_getenv("COLUMNS");
    if (ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return CLAMP(size.ws_col, COLUMNS_MIN, COLUMNS_MAX);
    if (descriptor == STDOUT_FILENO && remembered_columns != 0)
        return remembered_columns;
    if (given != NULL && g_ascii_string_to_unsigned(given, 10, COLUMNS_MIN, COLUMNS_MAX, &columns, NULL))
        return (guint)columns;
    return otherwise;
}

gboolean
terminal_colored(int descriptor)
{
    const char *no_color = g_getenv("NO_COLOR");
    if (g_strcmp0(terminal_color_word, "always") == 0)
        return TRUE;
    return g_strcmp0(terminal_color_word, "never") != 0 && isatty(descriptor) &&
           (no_color == NULL || *no_color == '\0') && g_strcmp0(g_getenv("TERM"), "dumb") != 0;
}

void
terminal_remember(void)
{
    struct winsize size;
    g_autofree char *before G_GNUC_UNUSED = terminal_color_word;
    terminal_color_word = g_strdup(terminal_colored(STDOUT_FILENO) ? "always" : "never");
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        remembered_columns = CLAMP(size.ws_col, COLUMNS_MIN, COLUMNS_MAX);
}

gboolean
terminal_check_color(GError **error)
{
    return terminal_color_word == NULL || words_find(color_words, "--color", terminal_color_word, NULL, error);
}
