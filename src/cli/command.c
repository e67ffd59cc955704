/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"

#include "cli/help.h"
#include "cli/suggest.h"

#include "target/target.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

G_DEFINE_QUARK(jescope - cli - error, cli_error)

static const GOptionEntry *
find_option(const Command *command, const char *word)
{
    size_t length = strcspn(word, "=");
    for (const GOptionEntry *entry = command->options; entry != NULL && entry->long_name != NULL; entry++)
        if (strlen(entry->long_name) == length && strncmp(entry->long_name, word, length) == 0)
            return entry;
    return NULL;
}

static const char *
suggest_option(const Command *command, const char *word)
{
    g_autoptr(GArray) names = g_array_new(TRUE, FALSE, sizeof(char *));
    for (const GOptionEntry *entry = command->options; entry != NULL && entry->long_name != NULL; entry++)
        g_array_append_val(names, entry->long_name);
    g_array_append_val(names, help_entry.long_name);
    g_autofree char *bare = g_strndup(word, strcspn(word, "="));
    return suggest(bare, (const char *const *)(void *)names->data);
}

/* GLib's message ends with the option it did not know; which one it is, is found in ARGV, since messages are no
 * interface. */
static void
set_unknown_option(GError **error, const Command *command, char **argv)
{
    for (char **word = argv + 1; *word != NULL && strcmp(*word, "--") != 0; word++) {
        if (!g_str_has_prefix(*word, "--") || find_option(command, *word + 2) != NULL)
            continue;
        const char *meant = suggest_option(command, *word + 2);
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "%s: unknown option '%.*s'; %s%s%s", command->name,
                    (int)strcspn(*word, "="), *word, meant != NULL ? "did you mean '--" : "see 'jescope ",
                    meant != NULL ? meant : command->name, meant != NULL ? "'?" : " --help'");
        return;
    }
    for (char **word = argv + 1; *word != NULL; word++)
        if ((*word)[0] == '-' && (*word)[1] != '-' && (*word)[1] != '\0') {
            g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "%s: unknown option '%s'; see 'jescope %s --help'",
                        command->name, *word, command->name);
            return;
        }
    g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "%s: unknown option; see 'jescope %s --help'", command->name,
                command->name);
}

/* GLib begins its messages with a capital. */
static void
set_bad_option(GError **error, const Command *command, const GError *cause)
{
    g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "%s: %c%s; see 'jescope %s --help'", command->name,
                g_ascii_tolower(cause->message[0]), cause->message + 1, command->name);
}

static gboolean
parse_options(const Command *command, gboolean *help, char ***argv, GError **error)
{
    GOptionEntry with_help[] = {help_entry, {0}};
    with_help[0].arg_data = help;
    g_auto(GStrv) words = g_strdupv(*argv);
    g_autoptr(GOptionContext) context = g_option_context_new(NULL);
    g_option_context_set_help_enabled(context, FALSE);
    g_option_context_set_strict_posix(context, command->operand == OPERAND_PROGRAM);
    if (command->options != NULL)
        g_option_context_add_main_entries(context, command->options, NULL);
    g_option_context_add_main_entries(context, with_help, NULL);
    g_autoptr(GError) cause = NULL;
    if (g_option_context_parse_strv(context, argv, &cause))
        return TRUE;
    if (g_error_matches(cause, G_OPTION_ERROR, G_OPTION_ERROR_UNKNOWN_OPTION))
        set_unknown_option(error, command, words);
    else
        set_bad_option(error, command, cause);
    return FALSE;
}

static gboolean
check_operands(const Command *command, char **operands, GError **error)
{
    int count = (int)g_strv_length(operands);
    if (count < command->operands_min) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "%s: %s is missing; usage: jescope %s [OPTION...] %s",
                    command->name, count == 0 ? "an operand" : "another operand", command->name, command->synopsis);
        return FALSE;
    }
    if (command->operands_max != OPERANDS_ANY && count > command->operands_max) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "%s: unexpected operand '%s'; see 'jescope %s --help'",
                    command->name, operands[command->operands_max], command->name);
        return FALSE;
    }
    return TRUE;
}

/* A full disk or a closed pipe behind stdout is a failure even if every line was "printed". */
static gboolean
flush_stdout(GError **error)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return TRUE;
    g_set_error(error, CLI_ERROR, CLI_ERROR_FAILED, "cannot write to standard output: %s", g_strerror(errno));
    return FALSE;
}

static int
run_command(const Command *command, char ***argv, GError **error)
{
    gboolean help = FALSE;
    if (!parse_options(command, &help, argv, error))
        return STATUS_USAGE;
    int status = STATUS_DONE;
    if (help) {
        g_autofree char *text = help_command(command);
        fputs(text, stdout);
    } else {
        /* "--" ends the options; GLib leaves it in place where an operand that looks like an option follows. */
        char **operands = *argv + 1;
        if (*operands != NULL && strcmp(*operands, "--") == 0)
            operands++;
        if (!check_operands(command, operands, error))
            return STATUS_USAGE;
        status = command->run(operands, error);
    }
    if (!flush_stdout(error != NULL && *error == NULL ? error : NULL))
        return STATUS_FAILED;
    return status;
}

int
command_main(const Command *command, char **argv)
{
    g_autoptr(GError) error = NULL;
    g_auto(GStrv) words = argv;
    int status = run_command(command, &words, &error);
    if (error == NULL)
        return status;
    fprintf(stderr, "jescope: %s\n", error->message);
    gboolean usage =
        g_error_matches(error, CLI_ERROR, CLI_ERROR_USAGE) || g_error_matches(error, TARGET_ERROR, TARGET_ERROR_NAME);
    return usage ? STATUS_USAGE : status;
}
