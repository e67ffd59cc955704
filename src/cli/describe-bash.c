/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/describe.h"
#include "cli/help.h"

#include <stdio.h>

static void
print_bash_words(const Command *command)
{
    printf("    %s) echo '", command->name);
    for (const GOptionEntry *entry = command->options; entry != NULL && entry->long_name != NULL; entry++)
        printf("--%s%s ", entry->long_name, entry->arg_description != NULL ? "=" : "");
    printf("--%s' ;;\n", help_entry.long_name);
}

/* The values of an option: the words of "a|b|c", or the placeholder in capitals. */
static void
print_bash_values(const Command *command)
{
    for (const GOptionEntry *entry = command->options; entry != NULL && entry->long_name != NULL; entry++) {
        if (entry->arg_description == NULL)
            continue;
        printf("    %s:--%s", command->name, entry->long_name);
        if (entry->short_name != '\0')
            printf(" | %s:-%c", command->name, entry->short_name);
        g_autofree char *words = g_strdelimit(g_strdup(entry->arg_description), "|", ' ');
        printf(") echo '%s' ;;\n", words);
    }
}

static void
print_bash_operand(const Command *command)
{
    static const char *const kinds[] = {[OPERAND_NONE] = "",         [OPERAND_TARGET] = "TARGET",
                                        [OPERAND_FILE] = "FILE",     [OPERAND_SOURCE] = "TARGET FILE",
                                        [OPERAND_METRIC] = "METRIC", [OPERAND_PROGRAM] = "PROGRAM"};
    printf("    %s) echo '%s' ;;\n", command->name, kinds[command->operand]);
}

static void
print_bash_further(const Command *command)
{
    if (command->words == NULL)
        return;
    g_autofree char *words = g_strdelimit(g_strdup(command->words), "|", ' ');
    printf("    %s) echo '%s' ;;\n", command->name, words);
}

static void
print_bash_function(const char *name, const char *subject, void (*print)(const Command *command))
{
    printf("\n%s()\n{\n    case %s in\n", name, subject);
    for (const Command *const *command = commands; *command != NULL; command++)
        print(*command);
    puts("    esac\n}");
}

static const char bash_head[] = "# SPDX-License-Identifier: Apache-2.0\n"
                                "# Completion of jescope for bash. Generated from the command table by the build.\n";

/* readline treats '=' as a separate word. */
static const char bash_tail[] =
    "\n"
    "_jescope_targets()\n"
    "{\n"
    "    jescope ps --quiet 2>/dev/null | awk '{ pid = $1; sub(/^[0-9]+ /, \"\"); print pid; count[$0]++ }\n"
    "        END { for (name in count) if (count[name] == 1 && name !~ /^(-|[0-9]*$)/) print name }'\n"
    "}\n"
    "\n"
    "_jescope_history()\n"
    "{\n"
    "    jescope series 2>/dev/null | awk 'NR > 1 && /^[^ ]/ { print $1 }'\n"
    "}\n"
    "\n"
    "_jescope_metrics()\n"
    "{\n"
    "    jescope series --metrics 2>/dev/null | awk '{ print $1 }'\n"
    "}\n"
    "\n"
    "# Offers the lines of stdin that begin with $1. Others choose these names: compgen -W would run what is in them.\n"
    "_jescope_offer()\n"
    "{\n"
    "    local word\n"
    "    while IFS= read -r word; do\n"
    "        [[ $word == \"$1\"* ]] && COMPREPLY+=(\"$(printf %q \"$word\")\")\n"
    "    done\n"
    "}\n"
    "\n"
    "_jescope_kinds()\n"
    "{\n"
    "    local kind\n"
    "    for kind in $1; do\n"
    "        case $kind in\n"
    "        TARGET) _jescope_offer \"$2\" < <(_jescope_targets) ;;\n"
    "        SERIES) _jescope_offer \"$2\" < <(_jescope_history) ;;\n"
    "        METRIC) _jescope_offer \"$2\" < <(_jescope_metrics) ;;\n"
    "        FILE | SOURCE | PATH) compopt -o filenames; COMPREPLY+=($(compgen -f -- \"$2\")) ;;\n"
    "        DIRECTORY) compopt -o filenames; COMPREPLY+=($(compgen -d -- \"$2\")) ;;\n"
    "        PROGRAM) COMPREPLY+=($(compgen -c -- \"$2\")) ;;\n"
    "        *[a-z]*) COMPREPLY+=($(compgen -W \"$kind\" -- \"$2\")) ;;\n"
    "        esac\n"
    "    done\n"
    "}\n"
    "\n"
    "_jescope()\n"
    "{\n"
    "    local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}\n"
    "    COMPREPLY=()\n"
    "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
    "        COMPREPLY=($(compgen -W \"$(_jescope_commands) --help --version\" -- \"$current\"))\n"
    "        return\n"
    "    fi\n"
    "    if [ \"$before\" = = ]; then\n"
    "        before=${COMP_WORDS[COMP_CWORD-2]}\n"
    "    elif [ \"$current\" = = ]; then\n"
    "        current=\n"
    "    fi\n"
    "    local value=$(_jescope_value \"$command:$before\")\n"
    "    if [ -n \"$value\" ]; then\n"
    "        _jescope_kinds \"$value\" \"$current\"\n"
    "    elif [ \"${current:0:1}\" = - ]; then\n"
    "        COMPREPLY=($(compgen -W \"$(_jescope_options \"$command\")\" -- \"$current\"))\n"
    "        [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace\n"
    "    elif [ \"$COMP_CWORD\" -gt 2 ] && [ -n \"$(_jescope_further \"$command\")\" ]; then\n"
    "        _jescope_kinds \"$(_jescope_further \"$command\")\" \"$current\"\n"
    "    else\n"
    "        _jescope_kinds \"$(_jescope_operand \"$command\")\" \"$current\"\n"
    "    fi\n"
    "}\n"
    "\n"
    "complete -F _jescope jescope\n";

int
describe_bash(void)
{
    fputs(bash_head, stdout);
    printf("\n_jescope_commands()\n{\n    echo '");
    for (const Command *const *command = commands; *command != NULL; command++)
        printf("%s%s", command != commands ? " " : "", (*command)->name);
    puts("'\n}");
    print_bash_function("_jescope_options", "$1", print_bash_words);
    print_bash_function("_jescope_value", "$1", print_bash_values);
    print_bash_function("_jescope_operand", "$1", print_bash_operand);
    print_bash_function("_jescope_further", "$1", print_bash_further);
    fputs(bash_tail, stdout);
    return 0;
}
