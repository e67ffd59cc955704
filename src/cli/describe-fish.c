/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/describe.h"
#include "cli/help.h"

#include <stdio.h>
#include <string.h>

/* Within single quotes only these two are special. */
static void
print_quoted(const char *text)
{
    putchar('\'');
    for (; *text != '\0'; text++) {
        if (*text == '\'' || *text == '\\')
            putchar('\\');
        putchar(*text);
    }
    putchar('\'');
}

/* The completion of a value for fish, by placeholder; other values cannot be completed. */
static const struct {
    const char *placeholder;
    const char *arguments;
} values[] = {
    {"FILE", "-r -F"},
    {"SOURCE", "-r -F"},
    {"PATH", "-r -F"},
    {"DIRECTORY", "-x -a '(__fish_complete_directories)'"},
    {"COMMAND", "-x -a '(__fish_complete_command)'"},
    {"SERIES", "-x -a '(__jescope_history)'"},
};

static void
print_value(const char *placeholder)
{
    for (gsize i = 0; i < G_N_ELEMENTS(values); i++)
        if (strcmp(placeholder, values[i].placeholder) == 0) {
            printf(" %s", values[i].arguments);
            return;
        }
    fputs(" -x", stdout);
    if (strpbrk(placeholder, "abcdefghijklmnopqrstuvwxyz") == NULL)
        return;
    g_autofree char *words = g_strdelimit(g_strdup(placeholder), "|", ' ');
    fputs(" -a ", stdout);
    print_quoted(words);
}

static void
print_option(const Command *command, const GOptionEntry *entry)
{
    printf("complete -c jescope -n '__fish_seen_subcommand_from %s' -l %s", command->name, entry->long_name);
    if (entry->short_name != '\0')
        printf(" -s %c", entry->short_name);
    if (entry->arg_description != NULL)
        print_value(entry->arg_description);
    fputs(" -d ", stdout);
    print_quoted(entry->description);
    putchar('\n');
}

static void
print_command(const Command *command)
{
    static const char *const operands[] = {
        [OPERAND_TARGET] = "-a '(__jescope_targets)'",           [OPERAND_FILE] = "-F",
        [OPERAND_SOURCE] = "-F -a '(__jescope_targets)'",        [OPERAND_METRIC] = "-a '(__jescope_metrics)'",
        [OPERAND_PROGRAM] = "-a '(__fish_complete_subcommand)'",
    };
    printf("\ncomplete -c jescope -n __fish_use_subcommand -a %s -d ", command->name);
    print_quoted(command->summary);
    putchar('\n');
    if (command->words != NULL) {
        g_autofree char *words = g_strdelimit(g_strdup(command->words), "|", ' ');
        printf("complete -c jescope -n '__fish_seen_subcommand_from %s; and __jescope_first_operand' %s\n"
               "complete -c jescope -n '__fish_seen_subcommand_from %s; and not __jescope_first_operand' -a '%s'\n",
               command->name, operands[command->operand], command->name, words);
    } else if (command->operand != OPERAND_NONE)
        printf("complete -c jescope -n '__fish_seen_subcommand_from %s' %s\n", command->name,
               operands[command->operand]);
    for (const GOptionEntry *entry = command->options; entry != NULL && entry->long_name != NULL; entry++)
        print_option(command, entry);
    print_option(command, &help_entry);
}

int
describe_fish(void)
{
    fputs("# SPDX-License-Identifier: Apache-2.0\n"
          "# Completion of jescope for fish. Generated from the command table by the build.\n"
          "\n"
          "function __jescope_targets\n"
          "    jescope ps --quiet 2>/dev/null | awk '{ pid = $1; sub(/^[0-9]+ /, \"\"); print pid \"\\t\" $0; "
          "count[$0]++ }\n"
          "        END { for (name in count) if (count[name] == 1 && name !~ /^(-|[0-9]*$)/) print name }'\n"
          "end\n"
          "\n"
          "function __jescope_history\n"
          "    jescope series 2>/dev/null | awk 'NR > 1 && /^[^ ]/ { print $1 }'\n"
          "end\n"
          "\n"
          "function __jescope_metrics\n"
          "    jescope series --metrics 2>/dev/null | awk '{ print $1 }'\n"
          "end\n"
          "\n"
          "function __jescope_first_operand\n"
          "    test (count (commandline -opc)) -eq 2\n"
          "end\n"
          "\n"
          "complete -c jescope -f\n"
          "complete -c jescope -n __fish_use_subcommand -l help -d 'show this help'\n"
          "complete -c jescope -n __fish_use_subcommand -l version -d 'print the version'\n",
          stdout);
    for (const Command *const *command = commands; *command != NULL; command++)
        print_command(*command);
    return 0;
}
