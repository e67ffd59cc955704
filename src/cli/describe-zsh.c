/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/describe.h"
#include "cli/help.h"

#include <stdio.h>
#include <string.h>

/* Text within single quotes, as a part of a specification for _arguments: ':' and brackets end such a part. */
static void
print_escaped(const char *text)
{
    for (; *text != '\0'; text++) {
        if (strchr(":[]\\", *text) != NULL)
            putchar('\\');
        if (*text == '\'')
            fputs("'\\'", stdout);
        putchar(*text);
    }
}

/* The completion of a value, by placeholder; other values cannot be completed. */
static const struct {
    const char *placeholder;
    const char *action;
} values[] = {
    {"FILE", "_files"},         {"SOURCE", "_files"},          {"PATH", "_files"},
    {"DIRECTORY", "_files -/"}, {"COMMAND", "_command_names"}, {"SERIES", "_jescope_history"},
};

static void
print_value(const char *placeholder)
{
    for (gsize i = 0; i < G_N_ELEMENTS(values); i++)
        if (strcmp(placeholder, values[i].placeholder) == 0) {
            printf(":%s:%s", placeholder, values[i].action);
            return;
        }
    if (strpbrk(placeholder, "abcdefghijklmnopqrstuvwxyz") == NULL) {
        fputs(":", stdout);
        print_escaped(placeholder);
        fputs(": ", stdout);
        return;
    }
    g_autofree char *words = g_strdelimit(g_strdup(placeholder), "|", ' ');
    printf(":value:(%s)", words);
}

static void
print_spelling(const GOptionEntry *entry, const char *name)
{
    printf(" \\\n        '%s",
           (entry->arg == G_OPTION_ARG_STRING_ARRAY || entry->arg == G_OPTION_ARG_FILENAME_ARRAY) ? "*" : "");
    fputs(name, stdout);
    putchar('[');
    print_escaped(entry->description);
    putchar(']');
    if (entry->arg_description != NULL)
        print_value(entry->arg_description);
    putchar('\'');
}

static void
print_option(const GOptionEntry *entry)
{
    gboolean valued = entry->arg_description != NULL;
    g_autofree char *name = g_strdup_printf("--%s%s", entry->long_name, valued ? "=" : "");
    print_spelling(entry, name);
    if (entry->short_name == '\0')
        return;
    g_autofree char *letter = g_strdup_printf("-%c%s", entry->short_name, valued ? "+" : "");
    print_spelling(entry, letter);
}

static void
print_command(const Command *command)
{
    static const char *const operands[] = {
        [OPERAND_TARGET] = "*:target:_jescope_targets", [OPERAND_FILE] = "*:file:_files",
        [OPERAND_SOURCE] = "*:source:_jescope_sources", [OPERAND_METRIC] = "*:metric:_jescope_metrics",
        [OPERAND_PROGRAM] = "*::program:_normal",
    };
    printf("\n_jescope_%s()\n{\n    _arguments", command->name);
    for (const GOptionEntry *entry = command->options; entry != NULL && entry->long_name != NULL; entry++)
        print_option(entry);
    print_option(&help_entry);
    if (command->words != NULL) {
        g_autofree char *words = g_strdelimit(g_strdup(command->words), "|", ' ');
        printf(" \\\n        '1%s' \\\n        '*:word:(%s)'", operands[command->operand] + 1, words);
    } else if (command->operand != OPERAND_NONE) {
        printf(" \\\n        '%s'", operands[command->operand]);
    }
    puts("\n}");
}

static const char head[] =
    "#compdef jescope\n"
    "# SPDX-License-Identifier: Apache-2.0\n"
    "# Completion of jescope for zsh. Generated from the command table by the build.\n"
    "\n"
    "_jescope_targets()\n"
    "{\n"
    "    local -a targets\n"
    "    targets=(${(f)\"$(jescope ps --quiet 2>/dev/null | awk '{ pid = $1; sub(/^[0-9]+ /, \"\"); print pid \":\" "
    "$0; count[$0]++ }\n"
    "        END { for (name in count) if (count[name] == 1 && name !~ /^(-|[0-9]*$)/) { gsub(/[:\\\\]/, "
    "\"\\\\\\\\&\", name); print name } }')\"})\n"
    "    _describe target targets\n"
    "}\n"
    "\n"
    "_jescope_history()\n"
    "{\n"
    "    compadd -- ${(f)\"$(jescope series 2>/dev/null | awk 'NR > 1 && /^[^ ]/ { print $1 }')\"}\n"
    "}\n"
    "\n"
    "_jescope_metrics()\n"
    "{\n"
    "    compadd -- ${(f)\"$(jescope series --metrics 2>/dev/null | awk '{ print $1 }')\"}\n"
    "}\n"
    "\n"
    "_jescope_sources()\n"
    "{\n"
    "    _alternative 'targets:target:_jescope_targets' 'files:file:_files'\n"
    "}\n";

static const char tail[] = "    )\n"
                           "    _arguments -C '--help[show this help]' '--version[print the version]' \\\n"
                           "        '1:command:->command' '*::operand:->operand'\n"
                           "    case $state in\n"
                           "    command) _describe command names ;;\n"
                           "    operand) (( $+functions[_jescope_$words[1]] )) && _jescope_$words[1] ;;\n"
                           "    esac\n"
                           "}\n"
                           "\n"
                           "_jescope \"$@\"\n";

int
describe_zsh(void)
{
    fputs(head, stdout);
    for (const Command *const *command = commands; *command != NULL; command++)
        print_command(*command);
    puts("\n_jescope()\n{\n    local state line curcontext=$curcontext\n    local -a names=(");
    for (const Command *const *command = commands; *command != NULL; command++) {
        printf("        '%s:", (*command)->name);
        print_escaped((*command)->summary);
        puts("'");
    }
    fputs(tail, stdout);
    return 0;
}
