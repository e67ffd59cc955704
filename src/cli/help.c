/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/help.h"

enum {
    HELP_COLUMN = 26, /* where the descriptions of options begin */
    HELP_WIDTH = 80,
    TERM_INDENT = 8,      /* of continuation lines of an option */
    OVERVIEW_COLUMN = 12, /* where the summaries of commands begin */
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

/* Breaks the lines of TEXT between words and indents all but the first by INDENT columns; the first line has USED
 * columns already. */
static void
append_wrapped(GString *out, const char *text, size_t indent, size_t used)
{
    size_t column = used;
    while (*text != '\0') {
        size_t blank = strspn(text, " ");
        size_t length = strcspn(text + blank, " \n");
        if (column > indent && column + blank + length >= HELP_WIDTH) {
            g_string_append_printf(out, "\n%*s", (int)indent, "");
            column = indent;
        }
        if (column == indent)
            text += blank;
        size_t step = (column == indent ? 0 : blank) + length;
        g_string_append_len(out, text, (gssize)step);
        text += step;
        column += step;
        for (; *text == '\n'; text++, column = indent)
            g_string_append_c(out, '\n');
    }
}

/* A term longer than a line is broken after a '|'. */
static void
append_term(GString *out, const char *term)
{
    g_string_append(out, "  ");
    for (size_t room = HELP_WIDTH - 2; strlen(term) > room; room = HELP_WIDTH - TERM_INDENT) {
        const char *bar = g_strrstr_len(term, (gssize)room, "|");
        size_t length = bar != NULL ? (size_t)(bar - term) + 1 : room;
        g_string_append_printf(out, "%.*s\n%*s", (int)length, term, TERM_INDENT, "");
        term += length;
    }
    g_string_append(out, term);
}

static void
append_row(GString *out, const char *term, const char *description)
{
    size_t length = strlen(term);
    append_term(out, term);
    if (length > HELP_COLUMN - 4)
        g_string_append_printf(out, "\n%*s", HELP_COLUMN, "");
    else
        g_string_append_printf(out, "%*s", (int)(HELP_COLUMN - 2 - length), "");
    append_wrapped(out, description, HELP_COLUMN, HELP_COLUMN);
    g_string_append_c(out, '\n');
}

static void
append_option(GString *out, const GOptionEntry *entry)
{
    g_autofree char *term = help_option(entry);
    append_row(out, term, entry->description);
}

static void
append_examples(GString *out, const Command *command)
{
    g_string_append(out, "\nExamples:\n");
    for (const Example *example = command->examples; example->line != NULL; example++)
        g_string_append_printf(out, "  %s\n      %s\n", example->line, example->what);
}

char *
help_overview(void)
{
    GString *out = g_string_new("Usage: jescope COMMAND [TARGET|FILE] [OPTION...]\n\n"
                                "Shows what holds the memory of a running service that uses jemalloc.\n");
    for (const Command *const *command = commands; *command != NULL; command++) {
        const char *group = command_begins_group(*command);
        if (group != NULL)
            g_string_append_printf(out, "\n%s:\n", group);
        g_string_append_printf(out, "  %-*s%s\n", OVERVIEW_COLUMN - 2, (*command)->name, (*command)->summary);
    }
    g_string_append(out, "\nTARGET is a pid, the name of a process if it is unique, unix:PATH, or the URL of\n"
                         "a target of 'jescope serve': http[s]://HOST:PORT[/targets/ID].\n"
                         "See 'jescope help COMMAND' or 'man jescope-COMMAND', and 'man jescope'.\n");
    return g_string_free(out, FALSE);
}

char *
help_command(const Command *command)
{
    GString *out = g_string_new(NULL);
    g_string_append_printf(out, "Usage: jescope %s [OPTION...]%s%s\n\n", command->name,
                           command->synopsis[0] != '\0' ? " " : "", command->synopsis);
    append_wrapped(out, command->description, 0, 0);
    g_string_append(out, "\n\nOptions:\n");
    for (const GOptionEntry *entry = command->options; entry != NULL && entry->long_name != NULL; entry++)
        append_option(out, entry);
    append_option(out, &help_entry);
    append_examples(out, command);
    return g_string_free(out, FALSE);
}
