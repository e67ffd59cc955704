/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/collect-arguments.h"

#include "cli/command.h"
#include "cli/duration.h"
#include "cli/keeping.h"
#include "cli/target-source.h"

#include "history/import.h"

#include <string.h>

static char *history_file;
static char *every;
static char *duration;
static char *detail;
static char *keep;
static char *thin;
static char *max_size;
static char *rules;
static char *command;
static char *log_file;
static char *log_name;

const GOptionEntry collect_options[] = {
    {.long_name = "every",
     .arg = G_OPTION_ARG_STRING,
     .arg_data = &every,
     .description = "interval between samples; default 10s",
     .arg_description = "DURATION"},
    {.long_name = "for",
     .arg = G_OPTION_ARG_STRING,
     .arg_data = &duration,
     .description = "stop after this time; default: run until interrupted",
     .arg_description = "DURATION"},
    {.long_name = "history",
     .arg = G_OPTION_ARG_FILENAME,
     .arg_data = &history_file,
     .description = "history file",
     .arg_description = "FILE"},
    {.long_name = "detail",
     .arg = G_OPTION_ARG_STRING,
     .arg_data = &detail,
     .description = "detail of the samples to keep; default arenas; each level includes the previous ones",
     .arg_description = "totals|arenas|classes|all"},
    {.long_name = "keep",
     .arg = G_OPTION_ARG_STRING,
     .arg_data = &keep,
     .description = "remove collected samples older than this",
     .arg_description = "DURATION"},
    {.long_name = "thin",
     .arg = G_OPTION_ARG_STRING,
     .arg_data = &thin,
     .description = "keep one sample per STEP of those older than AGE: 7d:1m",
     .arg_description = "AGE:STEP"},
    {.long_name = "max-size",
     .arg = G_OPTION_ARG_STRING,
     .arg_data = &max_size,
     .description = "remove the oldest collected samples when the file exceeds this size",
     .arg_description = "SIZE"},
    {.long_name = "rules",
     .arg = G_OPTION_ARG_FILENAME,
     .arg_data = &rules,
     .description = "act by the rules in the files *.rules of this directory (docs/rules.md)",
     .arg_description = "DIRECTORY"},
    {.long_name = "exec",
     .arg = G_OPTION_ARG_STRING,
     .arg_data = &command,
     .description = "shell command to run at every interval, to make another system print its statistics",
     .arg_description = "COMMAND"},
    {.long_name = "log",
     .arg = G_OPTION_ARG_FILENAME,
     .arg_data = &log_file,
     .description = "keep the statistics that are appended to this log, through rotation",
     .arg_description = "FILE"},
    {.long_name = "name",
     .arg = G_OPTION_ARG_STRING,
     .arg_data = &log_name,
     .description = "name of the series of the log; default: its file name without the extension",
     .arg_description = "NAME"},
    {0},
};

static gboolean
parse_options(CollectArguments *arguments, GError **error)
{
    ServiceOptions *options = &arguments->options;
    const KeepingLimits limits = {.keep = keep, .thin = thin, .max_size = max_size};
    return keeping_parse_every(every, &options->every_us, error) &&
           keeping_parse_detail(detail, &options->parts, error) &&
           (duration == NULL || duration_parse_up_to(duration, "--for", KEEPING_MAX_DAYS, &arguments->for_ms, error)) &&
           keeping_parse_limits(&limits, &options->retention, error);
}

static gboolean
check_series(const GArray *sources, const char *series, GError **error)
{
    for (guint i = 0; i < sources->len; i++) {
        const ServiceSource *other = &g_array_index(sources, ServiceSource, i);
        if (strcmp(other->series, series) != 0)
            continue;
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                    "collect: two targets would be called '%s'; give them different names: a=%s b=...", series,
                    other->name);
        return FALSE;
    }
    return TRUE;
}

static gboolean
read_target(GArray *sources, const char *operand, GError **error)
{
    ServiceSource source;
    const char *equals = strchr(operand, '=');
    gboolean named = equals != NULL && equals != operand;
    char *series = named ? g_strndup(operand, (gsize)(equals - operand)) : NULL;
    if (!target_source_identify(series, named ? equals + 1 : operand, &source, error) ||
        !check_series(sources, source.series, error)) {
        target_source_clear(&source);
        return FALSE;
    }
    g_array_append_val(sources, source);
    return TRUE;
}

static gboolean
add_log(GArray *sources, GError **error)
{
    ServiceSource source = {.kind = SERVICE_SOURCE_LOG, .name = g_strdup(log_file)};
    source.series = log_name != NULL ? g_strdup(log_name) : import_target_name(log_file);
    gboolean ok = check_series(sources, source.series, error);
    g_array_append_val(sources, source);
    return ok;
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
    arguments->sources = g_array_new(FALSE, FALSE, sizeof(ServiceSource));
    g_array_set_clear_func(arguments->sources, target_source_clear);
    arguments->history = history_file != NULL ? g_strdup(history_file) : history_default_path();
    arguments->command = command;
    if (!parse_options(arguments, error) || !check_sources(operands, error))
        return FALSE;
    for (; *operands != NULL; operands++)
        if (!read_target(arguments->sources, *operands, error))
            return FALSE;
    if (log_file != NULL && !add_log(arguments->sources, error))
        return FALSE;
    arguments->options.history = arguments->history;
    arguments->options.rules = rules;
    arguments->options.sources = (const ServiceSource *)arguments->sources->data;
    arguments->options.n_sources = arguments->sources->len;
    return TRUE;
}

void
collect_arguments_clear(CollectArguments *arguments)
{
    g_clear_pointer(&arguments->sources, g_array_unref);
    g_clear_pointer(&arguments->history, g_free);
}
