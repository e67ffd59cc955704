/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/help.h"

enum {
    HELP_COLUMN = 26, /* where the descriptions of options begin */
    HELP_WIDTH = 80,
};

const GOptionEntry help_entry = {
    .long_name = "help", .short_name = 'h', .arg = G_OPTION_ARG_NONE, .description = "show this help"};

char *
help_option(const GOptionEntry *entry)
{
    g_autoptr(GString) text = g_string_new(NULL);
    if (entry->short_name != '\0')
        g_string_append_printf(text, "-%c, ", entry->short_name);
    g_string_append_printf(text, "--%s", entry->long_name);
    if (entry->arg_description != NULL)
        g_string_append_printf(text, "=%s", entry->arg_description);
    return g_strdup(text->str);
}

static void
append_row(GString *out, const char *term, const char *description)
{
    g_string_append_printf(out, "  %-*s", HELP_COLUMN - 2, term);
    if (strlen(term) > HELP_COLUMN - 4)
        g_string_append_printf(out, "\n%*s", HELP_COLUMN, "");
    g_string_append_printf(out, "%s\n", description);
}

static void
append_option(GString *out, const GOptionEntry *entry)
{
    g_autofree char *term = help_option(entry);
    append_row(out, term, entry->description);
}

/* Breaks the lines of TEXT between words. */
static void
append_wrapped(GString *out, const char *text)
{
    size_t column = 0;
    while (*text != '\0') {
        size_t blank = strspn(text, " ");
        size_t length = strcspn(text + blank, " \n");
        if (column > 0 && column + blank + length >= HELP_WIDTH) {
            g_string_append_c(out, '\n');
            column = 0;
        }
        if (column == 0)
            text += blank;
        size_t step = (column == 0 ? 0 : blank) + length;
        g_string_append_len(out, text, (gssize)step);
        text += step;
        column += step;
        for (; *text == '\n'; text++, column = 0)
            g_string_append_c(out, '\n');
    }
}

char *
help_overview(void)
{
    GString *out = g_string_new("Usage: jescope COMMAND [TARGET|FILE] [OPTION...]\n\n"
                                "Shows what holds the memory of a running service that uses jemalloc.\n\nCommands:\n");
    for (const Command *const *command = commands; *command != NULL; command++)
        append_row(out, (*command)->name, (*command)->summary);
    g_string_append(out, "\nTARGET is a process id, a process name if it is unique, or unix:PATH (an agent's socket).\n"
                         "'jescope COMMAND --help' tells more; 'jescope --version' prints the version.\n");
    return g_string_free(out, FALSE);
}

char *
help_command(const Command *command)
{
    GString *out = g_string_new(NULL);
    g_string_append_printf(out, "Usage: jescope %s [OPTION...]%s%s\n\n", command->name,
                           command->synopsis[0] != '\0' ? " " : "", command->synopsis);
    append_wrapped(out, command->description);
    g_string_append(out, "\n\nOptions:\n");
    for (const GOptionEntry *entry = command->options; entry != NULL && entry->long_name != NULL; entry++)
        append_option(out, entry);
    append_option(out, &help_entry);
    return g_string_free(out, FALSE);
}
