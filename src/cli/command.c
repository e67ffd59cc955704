/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"

#include "cli/help.h"
#include "cli/supervisor.h"
#include "text/suggest.h"

#include "report/report.h"
#include "source/source.h"
#include "target/target.h"
#include "text/printable.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

G_DEFINE_QUARK(jescope_cli_error, cli_error)

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

/* The first of ARGV that has the form of an option and is not one of COMMAND's. */
static const char *
unknown_option(const Command *command, char **argv)
{
    char **word = argv + 1;
    for (; *word != NULL && strcmp(*word, "--") != 0; word++)
        if (g_str_has_prefix(*word, "--") && find_option(command, *word + 2) == NULL)
            return *word;
    for (word = argv + 1; *word != NULL && strcmp(*word, "--") != 0; word++)
        if ((*word)[0] == '-' && (*word)[1] != '-' && (*word)[1] != '\0')
            return *word;
    return NULL;
}

/* The unknown option is searched in ARGV, since GLib's message is not an interface. */
static void
set_unknown_option(GError **error, const Command *command, char **argv)
{
    const char *word = unknown_option(command, argv);
    const char *meant = word != NULL && g_str_has_prefix(word, "--") ? suggest_option(command, word + 2) : NULL;
    if (word == NULL)
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "%s: unknown option; see 'jescope %s --help'", command->name,
                    command->name);
    else if (meant != NULL)
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "%s: unknown option '%.*s'; did you mean '--%s'?", command->name,
                    (int)strcspn(word, "="), word, meant);
    else
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "%s: unknown option '%.*s'; see 'jescope %s --help'",
                    command->name, (int)strcspn(word, "="), word, command->name);
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
    else if (cause->domain != G_OPTION_ERROR)
        g_propagate_error(error, g_steal_pointer(&cause));
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

/* A full disk or a closed pipe at stdout is a failure even if every line was "printed". */
static gboolean
flush_stdout(GError **error)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return TRUE;
    g_set_error(error, CLI_ERROR, CLI_ERROR_FAILED, "cannot write to standard output: %s", g_strerror(errno));
    return FALSE;
}

/* "--" ends the options; GLib leaves it in place if an operand with the form of an option follows. */
static char **
operands_of(char **argv)
{
    char **operands = argv + 1;
    return operands + (*operands != NULL && strcmp(*operands, "--") == 0);
}

static gboolean
parse_words(const Command *command, gboolean *help, char ***argv, GError **error)
{
    return (command->translate == NULL || command->translate(argv, error)) && parse_options(command, help, argv, error);
}

gboolean
command_parse(const Command *command, char **argv, GError **error)
{
    gboolean help = FALSE;
    g_auto(GStrv) words = g_strdupv(argv);
    return parse_words(command, &help, &words, error) && (help || check_operands(command, operands_of(words), error));
}

/* The supervisor knows paths by their '/'. */
static void
add_path(GPtrArray *words, const char *path)
{
    const gboolean bare = strchr(path, '/') == NULL && strcmp(path, "-") != 0;
    g_ptr_array_add(words, g_strconcat(bare ? "./" : "", path, NULL));
}

static void
add_paths(GPtrArray *words, char *const *paths)
{
    for (; paths != NULL && *paths != NULL; paths++)
        add_path(words, *paths);
}

static void
add_paths_of_options(GPtrArray *words, const Command *command)
{
    for (const GOptionEntry *entry = command->options; entry != NULL && entry->long_name != NULL; entry++)
        if (entry->arg == G_OPTION_ARG_FILENAME && *(char *const *)entry->arg_data != NULL)
            add_path(words, *(char *const *)entry->arg_data);
        else if (entry->arg == G_OPTION_ARG_FILENAME_ARRAY)
            add_paths(words, *(char *const *const *)entry->arg_data);
}

/* Of the variables by which commands find files that no option names. */
static void
add_paths_of_environment(GPtrArray *words)
{
    static const char *const variables[] = {
        "JESCOPE_HISTORY",       "JESCOPE_BLACKBOX",         "JESCOPE_TOKEN_FILE",    "JESCOPE_CA_FILE",
        "JESCOPE_STORE_CA_FILE", "JESCOPE_STORE_TOKEN_FILE", "DEBUGINFOD_CACHE_PATH", "PPROF_BINARY_PATH",
    };
    for (gsize i = 0; i < G_N_ELEMENTS(variables); i++) {
        const char *value = g_getenv(variables[i]);
        g_auto(GStrv) paths = g_strsplit(value != NULL ? value : "", ":", -1);
        add_paths(words, paths);
    }
}

void
command_supervise_files(char *const *paths)
{
    g_autoptr(GPtrArray) words = g_ptr_array_new_with_free_func(g_free);
    add_paths(words, paths);
    g_ptr_array_add(words, NULL);
    supervisor_begin((char *const *)words->pdata, command_say);
}

/* Supervises the command if it is about processes or files of others: its operands, that of --base, the process of
 * --pid, whose files it opens, or the files of its options and of the environment. */
static void
supervise(const Command *command, char **operands)
{
    g_autoptr(GPtrArray) words = g_ptr_array_new_with_free_func(g_free);
    const GOptionEntry *entry = find_option(command, "pid"), *other = find_option(command, "base");
    const int pid = entry != NULL && entry->arg == G_OPTION_ARG_INT ? *(const int *)entry->arg_data : 0;
    const char *base = other != NULL && other->arg == G_OPTION_ARG_STRING ? *(char *const *)other->arg_data : NULL;
    if (command->stays || (command->stays_with != NULL && *command->stays_with != NULL))
        return;
    for (; (command->operand == OPERAND_TARGET || command->operand == OPERAND_SOURCE) && *operands != NULL; operands++)
        g_ptr_array_add(words, g_strdup(*operands));
    for (; command->operand == OPERAND_FILE && *operands != NULL; operands++)
        add_path(words, *operands);
    add_paths_of_options(words, command);
    add_paths_of_environment(words);
    if (pid > 0)
        g_ptr_array_add(words, g_strdup_printf("%d", pid));
    if (base != NULL)
        g_ptr_array_add(words, g_strdup(base));
    g_ptr_array_add(words, NULL);
    supervisor_begin((char *const *)words->pdata, command_say);
}

static int
run_command(const Command *command, char ***argv, GError **error)
{
    gboolean help = FALSE;
    if (!parse_words(command, &help, argv, error))
        return STATUS_USAGE;
    int status = STATUS_DONE;
    if (help) {
        g_autofree char *text = help_command(command);
        fputs(text, stdout);
    } else if (check_operands(command, operands_of(*argv), error)) {
        supervise(command, operands_of(*argv));
        status = command->run(operands_of(*argv), error);
    } else {
        return STATUS_USAGE;
    }
    if (!flush_stdout(error != NULL && *error == NULL ? error : NULL))
        return STATUS_FAILED;
    return status;
}

/* Some usage errors are detected by other rooms. */
static gboolean
is_usage(const GError *error)
{
    return g_error_matches(error, CLI_ERROR, CLI_ERROR_USAGE) ||
           (error->domain == TARGET_ERROR && outcome_row((unsigned)error->code)->exit == STATUS_USAGE) ||
           g_error_matches(error, SOURCE_ERROR, SOURCE_ERROR_MIXED) ||
           g_error_matches(error, SOURCE_ERROR, SOURCE_ERROR_NAME) ||
           g_error_matches(error, REPORT_ERROR, REPORT_ERROR_NO_THREAD) ||
           g_error_matches(error, REPORT_ERROR, REPORT_ERROR_UNSUPPORTED);
}

/* Further lines begin with blanks: a line feed in a name must not begin what looks like another message. */
static char *
indent_lines(const char *text)
{
    GString *indented = g_string_new(NULL);
    for (; *text != '\0'; text++) {
        g_string_append_c(indented, *text);
        if (text[0] == '\n' && text[1] != ' ' && text[1] != '\0')
            g_string_append(indented, "    ");
    }
    return g_string_free(indented, FALSE);
}

void
command_say(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    text_clean(text, strlen(text) + 1);
    g_autofree char *lines = indent_lines(text);
    fprintf(stderr, "jescope: %s\n", lines);
}

int
command_main(const Command *command, char **argv)
{
    g_autoptr(GError) error = NULL;
    g_auto(GStrv) words = argv;
    int status = run_command(command, &words, &error);
    if (error == NULL)
        return status;
    command_say("%s", error->message);
    return is_usage(error) ? STATUS_USAGE : status;
}
