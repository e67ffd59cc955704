/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/help.h"

enum {
    HELP_COLUMN = 26, /* where the descriptions of options begin */
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
    g_string_append_printf(out, "Usage: jescope %s [OPTION...]%s%s\n\n%s\n\nOptions:\n", command->name,
                           command->synopsis[0] != '\0' ? " " : "", command->synopsis, command->description);
    for (const GOptionEntry *entry = command->options; entry != NULL && entry->long_name != NULL; entry++)
        append_option(out, entry);
    append_option(out, &help_entry);
    return g_string_free(out, FALSE);
}
