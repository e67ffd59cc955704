/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/collect-arguments.h"

#include "cli/command.h"
#include "cli/duration.h"
#include "cli/keeping.h"

#include "history/import.h"
#include "target/target.h"

#include <string.h>

static char *history_file;
static char *every;
static char *duration;
static char *detail;
static char *keep;
static char *thin;
static char *max_size;
static char *command;
static char *log_file;
static char *log_name;

const GOptionEntry collect_options[] = {
    {.long_name = "every",
     .arg = G_OPTION_ARG_STRING,
     .arg_data = &every,
     .description = "take a sample this often; default 10s",
     .arg_description = "DURATION"},
    {.long_name = "for",
     .arg = G_OPTION_ARG_STRING,
     .arg_data = &duration,
     .description = "stop after this long; default: until interrupted",
     .arg_description = "DURATION"},
    {.long_name = "history",
     .arg = G_OPTION_ARG_FILENAME,
     .arg_data = &history_file,
     .description = "write to this file instead of the user's own",
     .arg_description = "FILE"},
    {.long_name = "detail",
     .arg = G_OPTION_ARG_STRING,
     .arg_data = &detail,
     .description = "how much of a sample to keep; default arenas, each word includes those before",
     .arg_description = "totals|arenas|classes|all"},
    {.long_name = "keep",
     .arg = G_OPTION_ARG_STRING,
     .arg_data = &keep,
     .description = "remove collected samples that are older",
     .arg_description = "DURATION"},
    {.long_name = "thin",
     .arg = G_OPTION_ARG_STRING,
     .arg_data = &thin,
     .description = "of samples older than AGE keep one per STEP: 7d:1m",
     .arg_description = "AGE:STEP"},
    {.long_name = "max-size",
     .arg = G_OPTION_ARG_STRING,
     .arg_data = &max_size,
     .description = "remove the oldest collected samples when the file grows beyond this",
     .arg_description = "SIZE"},
    {.long_name = "exec",
     .arg = G_OPTION_ARG_STRING,
     .arg_data = &command,
     .description = "run this by the shell at every beat, to make another system print its statistics",
     .arg_description = "COMMAND"},
    {.long_name = "log",
     .arg = G_OPTION_ARG_FILENAME,
     .arg_data = &log_file,
     .description = "keep the statistics that are appended to this log, through rotation",
     .arg_description = "FILE"},
    {.long_name = "name",
     .arg = G_OPTION_ARG_STRING,
     .arg_data = &log_name,
     .description = "keep what the log holds under this name; default: its name without its ending",
     .arg_description = "NAME"},
    {0},
};

static gboolean
parse_options(CollectorOptions *options, GError **error)
{
    guint64 for_ms = 0;
    const KeepingLimits limits = {.keep = keep, .thin = thin, .max_size = max_size};
    if (!keeping_parse_every(every, &options->every_us, error) ||
        !keeping_parse_detail(detail, &options->parts, error) ||
        (duration != NULL && !duration_parse_up_to(duration, "--for", KEEPING_MAX_DAYS, &for_ms, error)) ||
        !keeping_parse_limits(&limits, &options->retention, error))
        return FALSE;
    options->for_us = for_ms * 1000;
    return TRUE;
}

static void
free_target(gpointer data)
{
    CollectTarget *target = data;
    g_free(target->name);
    g_free(target->address);
    g_free(target->process);
    g_free(target);
}

/* A name may be waited for; a pid or socket that is not there is a mistake. */
static gboolean
is_process_name(const char *address)
{
    return strchr(address, ':') == NULL && strspn(address, "0123456789") != strlen(address);
}

static gboolean
identify(CollectTarget *target, GError **error)
{
    g_autoptr(GError) cause = NULL;
    g_autoptr(Target) found = target_open(target->address, &cause);
    if (found != NULL) {
        target->process = g_strdup(target_name(found));
    } else if (g_error_matches(cause, TARGET_ERROR, TARGET_ERROR_NO_PROCESS) && is_process_name(target->address)) {
        target->process = g_strdup(target->address);
    } else {
        g_propagate_error(error, g_steal_pointer(&cause));
        return FALSE;
    }
    if (target->name == NULL)
        target->name = g_strdup(target->process);
    return TRUE;
}

static gboolean
check_names(const GPtrArray *targets, const char *name, GError **error)
{
    for (guint i = 0; i < targets->len; i++) {
        const CollectTarget *other = targets->pdata[i];
        if (strcmp(other->name, name) != 0)
            continue;
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                    "collect: two targets would be called '%s'; name them apart: a=%s b=...", name, other->address);
        return FALSE;
    }
    return TRUE;
}

static gboolean
read_target(GPtrArray *targets, const char *operand, GError **error)
{
    CollectTarget *target = g_new0(CollectTarget, 1);
    const char *equals = strchr(operand, '=');
    gboolean named = equals != NULL && equals != operand;
    target->name = named ? g_strndup(operand, (gsize)(equals - operand)) : NULL;
    target->address = g_strdup(named ? equals + 1 : operand);
    if (!identify(target, error) || !check_names(targets, target->name, error)) {
        free_target(target);
        return FALSE;
    }
    g_ptr_array_add(targets, target);
    return TRUE;
}

static gboolean
check_sources(char **operands, GError **error)
{
    const char *wrong = command != NULL && log_file == NULL    ? "--exec needs --log FILE, where the statistics appear"
                        : log_name != NULL && log_file == NULL ? "--name is for --log; write NAME=TARGET for a target"
                        : *operands == NULL && log_file == NULL
                            ? "a target is missing; name one, or follow a log with --log FILE"
                            : NULL;
    if (wrong == NULL)
        return TRUE;
    g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "collect: %s", wrong);
    return FALSE;
}

gboolean
collect_arguments_read(CollectArguments *arguments, char **operands, GError **error)
{
    arguments->targets = g_ptr_array_new_with_free_func(free_target);
    arguments->history = history_file != NULL ? g_strdup(history_file) : history_default_path();
    arguments->log = log_file;
    arguments->command = command;
    if (!parse_options(&arguments->options, error) || !check_sources(operands, error))
        return FALSE;
    if (log_file != NULL)
        arguments->log_name = log_name != NULL ? g_strdup(log_name) : import_target_name(log_file);
    for (; *operands != NULL; operands++)
        if (!read_target(arguments->targets, *operands, error))
            return FALSE;
    return log_file == NULL || check_names(arguments->targets, arguments->log_name, error);
}

void
collect_arguments_clear(CollectArguments *arguments)
{
    g_clear_pointer(&arguments->targets, g_ptr_array_unref);
    g_clear_pointer(&arguments->history, g_free);
    g_clear_pointer(&arguments->log_name, g_free);
}
