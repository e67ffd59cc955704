/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/describe.h"
#include "cli/help.h"

#include <stdio.h>
#include <string.h>

static const char commands_mark[] = "@COMMANDS@\n";
/* The date of the pages; the same as in jescope.1.in. */
static const char date[] = "2026-11-21";

/* Escapes '-', which roff takes for a hyphen, and a '.' or an apostrophe at the beginning of a line, which would be a
 * request. */
static void
print_roff(const char *text)
{
    for (const char *byte = text; *byte != '\0'; byte++) {
        gboolean line_start = byte == text || byte[-1] == '\n';
        if (line_start && (*byte == '.' || *byte == '\''))
            fputs("\\&", stdout);
        if (*byte == '-' || *byte == '\\')
            putchar('\\');
        putchar(*byte == '\\' ? 'e' : *byte);
    }
}

/* Converts blank lines between paragraphs to .PP. */
static void
print_paragraphs(const char *text)
{
    g_auto(GStrv) paragraphs = g_strsplit(text, "\n\n", -1);
    for (char **paragraph = paragraphs; *paragraph != NULL; paragraph++) {
        if (paragraph != paragraphs)
            puts(".PP");
        print_roff(*paragraph);
        putchar('\n');
    }
}

/* Inserts spaces in a list of words that does not fit on a line, so that it can be broken. */
static void
print_man_option(const GOptionEntry *entry)
{
    enum { LINE = 60 };
    g_autofree char *term = help_option(entry);
    g_auto(GStrv) words = g_strsplit(term, "|", -1);
    g_autofree char *spaced = g_strjoinv(strlen(term) > LINE ? " | " : "|", words);
    fputs(".TP\n.B ", stdout);
    print_roff(spaced);
    putchar('\n');
    print_roff(entry->description);
    putchar('\n');
}

static void
print_man_examples(const Command *command)
{
    puts(".SH EXAMPLES");
    for (const Example *example = command->examples; example->line != NULL; example++) {
        fputs(".TP\n.B ", stdout);
        print_roff(example->line);
        putchar('\n');
        print_roff(example->what);
        putchar('\n');
    }
}

int
describe_man_page(const char *name)
{
    const Command *command = command_find(name);
    if (command == NULL) {
        fprintf(stderr, "describe: there is no command '%s'\n", name);
        return 1;
    }
    g_autofree char *title = g_ascii_strup(command->name, -1);
    printf(".\\\" SPDX-License-Identifier: Apache-2.0\n"
           ".\\\" Generated from the command table by the build.\n"
           ".TH JESCOPE\\-%s 1 %s \"jescope\" \"User Commands\"\n"
           ".SH NAME\njescope\\-%s \\- ",
           title, date, command->name);
    print_roff(command->summary);
    printf("\n.SH SYNOPSIS\n.B jescope %s\n[\\fIOPTION\\fR...]%s", command->name,
           command->synopsis[0] != '\0' ? " " : "");
    print_roff(command->synopsis);
    fputs("\n.SH DESCRIPTION\n", stdout);
    print_paragraphs(command->description);
    fputs(".SH OPTIONS\n", stdout);
    for (const GOptionEntry *entry = command->options; entry != NULL && entry->long_name != NULL; entry++)
        print_man_option(entry);
    print_man_option(&help_entry);
    print_man_examples(command);
    fputs(".SH SEE ALSO\n"
          ".BR jescope (1)\n"
          "for targets, sizes, durations and the exit status.\n",
          stdout);
    return 0;
}

static void
print_man_row(const Command *command)
{
    const char *group = command_begins_group(command);
    if (group != NULL) {
        fputs(".SS ", stdout);
        print_roff(group);
        putchar('\n');
    }
    printf(".TP\n.BR jescope\\-%s (1)\n", command->name);
    print_roff(command->summary);
    putchar('\n');
}

int
describe_man_overview(const char *path)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *template = NULL;
    if (!g_file_get_contents(path, &template, NULL, &error)) {
        fprintf(stderr, "describe: %s\n", error->message);
        return 1;
    }
    char *mark = strstr(template, commands_mark);
    if (mark == NULL) {
        fprintf(stderr, "describe: %s has no line @COMMANDS@\n", path);
        return 1;
    }
    fwrite(template, 1, (size_t)(mark - template), stdout);
    for (const Command *const *command = commands; *command != NULL; command++)
        print_man_row(*command);
    fputs(mark + strlen(commands_mark), stdout);
    return 0;
}
