/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "cli/duration.h"
#include "cli/kept.h"
#include "cli/moment.h"
#include "cli/output.h"

#include "history/plot.h"
#include "history/series-table.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    WIDTH_DEFAULT = 100, /* where no terminal tells */
    WIDTH_MAX = 1000,
    STEP_MAX_DAYS = 3650,
};

static char *history_file;
static char **targets;
static char *from;
static char *to;
static char *step;
static char *each;
static gboolean rate;
static char *format;
static gboolean json;
static gboolean draw;
static char *plot_file;
static gboolean list_metrics;

static const GOptionEntry options[] = {
    {.long_name = "history",
     .arg = G_OPTION_ARG_FILENAME,
     .arg_data = &history_file,
     .description = "read this file instead of the user's own",
     .arg_description = "FILE"},
    {.long_name = "target",
     .arg = G_OPTION_ARG_STRING_ARRAY,
     .arg_data = &targets,
     .description = "only this target; may be given again",
     .arg_description = "NAME"},
    {.long_name = "metrics",
     .arg = G_OPTION_ARG_NONE,
     .arg_data = &list_metrics,
     .description = "list the metrics that are kept, with their meaning"},
    {.long_name = "from",
     .arg = G_OPTION_ARG_STRING,
     .arg_data = &from,
     .description = "begin here: -2h, 2026-11-21, 2026-11-21T14:05Z",
     .arg_description = "TIME"},
    {.long_name = "to",
     .arg = G_OPTION_ARG_STRING,
     .arg_data = &to,
     .description = "end before this",
     .arg_description = "TIME"},
    {.long_name = "step",
     .arg = G_OPTION_ARG_STRING,
     .arg_data = &step,
     .description = "one point for this much time instead of one per sample",
     .arg_description = "DURATION"},
    {.long_name = "each",
     .arg = G_OPTION_ARG_STRING,
     .arg_data = &each,
     .description = "how the samples of a step become one; default mean",
     .arg_description = "mean|min|max|last"},
    {.long_name = "rate",
     .arg = G_OPTION_ARG_NONE,
     .arg_data = &rate,
     .description = "show the change per second, for counters"},
    {.long_name = "format",
     .arg = G_OPTION_ARG_STRING,
     .arg_data = &format,
     .description = "how to print; default table",
     .arg_description = "table|csv|json|openmetrics"},
    {.long_name = "json", .arg = G_OPTION_ARG_NONE, .arg_data = &json, .description = "the same as --format=json"},
    {.long_name = "draw", .arg = G_OPTION_ARG_NONE, .arg_data = &draw, .description = "draw in the terminal"},
    {.long_name = "plot",
     .arg = G_OPTION_ARG_FILENAME,
     .arg_data = &plot_file,
     .description = "draw an SVG into this file, which must not exist; - is stdout",
     .arg_description = "FILE"},
    {0},
};

static const struct {
    const char *name;
    void (*write)(const GPtrArray *series, GString *out);
} formats[] = {
    {"table", series_write_table},
    {"csv", series_write_csv},
    {"json", series_write_json},
    {"openmetrics", series_write_openmetrics},
};

static const char *const each_names[] = {
    [SERIES_MEAN] = "mean", [SERIES_MIN] = "min", [SERIES_MAX] = "max", [SERIES_LAST] = "last"};

static gboolean
parse_each(SeriesEach *value, GError **error)
{
    for (size_t i = 0; each != NULL && i < G_N_ELEMENTS(each_names); i++)
        if (strcmp(each, each_names[i]) == 0) {
            *value = (SeriesEach)i;
            return TRUE;
        }
    if (each == NULL)
        return TRUE;
    g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "--each: unknown word '%s'; known: mean, min, max, last", each);
    return FALSE;
}

static gboolean
parse_format(size_t *index, GError **error)
{
    const char *wanted = format != NULL ? format : json ? "json" : "table";
    for (size_t i = 0; i < G_N_ELEMENTS(formats); i++)
        if (strcmp(wanted, formats[i].name) == 0) {
            *index = i;
            return TRUE;
        }
    g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                "--format: unknown format '%s'; known: table, csv, json, openmetrics", wanted);
    return FALSE;
}

static gboolean
parse_query(SeriesQuery *query, GError **error)
{
    guint64 step_ms = 0;
    query->range = HISTORY_ALL_TIME;
    if ((from != NULL && !moment_parse(from, "--from", &query->range.from_us, error)) ||
        (to != NULL && !moment_parse(to, "--to", &query->range.to_us, error)) ||
        (step != NULL && !duration_parse_up_to(step, "--step", STEP_MAX_DAYS, &step_ms, error)) ||
        !parse_each(&query->each, error))
        return FALSE;
    query->step_us = step_ms * 1000;
    query->rate = rate;
    if (query->range.from_us < query->range.to_us)
        return TRUE;
    g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "--from '%s' is not before --to '%s'", from, to);
    return FALSE;
}

static gboolean
write_plot(const GPtrArray *series, GError **error)
{
    struct stat status;
    if (strcmp(plot_file, "-") != 0 && stat(plot_file, &status) == 0 && S_ISREG(status.st_mode)) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_FAILED, "'%s' exists; remove it, or name another file with --plot",
                    plot_file);
        return FALSE;
    }
    g_autoptr(GString) text = g_string_new(NULL);
    plot_svg(series, text);
    g_autoptr(Output) output = output_open(plot_file, error);
    return output != NULL && output_write(output, text->str, text->len, error) && output_commit(output, error);
}

static guint
terminal_width(void)
{
    struct winsize size;
    guint64 columns;
    const char *told = g_getenv("COLUMNS");
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    if (told != NULL && g_ascii_string_to_unsigned(told, 10, PLOT_WIDTH_MIN, WIDTH_MAX, &columns, NULL))
        return (guint)columns;
    return WIDTH_DEFAULT;
}

static void
draw_series(const GPtrArray *series)
{
    const char *no_color = g_getenv("NO_COLOR"), *terminal = g_getenv("TERM");
    gboolean colors =
        isatty(STDOUT_FILENO) && (no_color == NULL || *no_color == '\0') && g_strcmp0(terminal, "dumb") != 0;
    g_autoptr(GString) text = g_string_new(NULL);
    PlotFlags flags = colors ? PLOT_COLOR : PLOT_PLAIN;
    plot_text(series, terminal_width(), g_get_charset(NULL) ? flags : flags | PLOT_ASCII, text);
    fputs(text->str, stdout);
}

static gboolean
show_series(const GPtrArray *series, size_t form, GError **error)
{
    if (plot_file != NULL)
        return write_plot(series, error);
    if (draw) {
        draw_series(series);
        return TRUE;
    }
    g_autoptr(GString) text = g_string_new(NULL);
    formats[form].write(series, text);
    fwrite(text->str, 1, text->len, stdout);
    return TRUE;
}

static int
run_query(History *history, char **selectors, size_t form, GError **error)
{
    static const char *const none[] = {NULL};
    SeriesQuery query = {.targets = targets != NULL ? (const char *const *)targets : none,
                         .selectors = (const char *const *)selectors};
    if (!parse_query(&query, error))
        return STATUS_USAGE;
    g_autoptr(GPtrArray) series = series_read(history, &query, error);
    if (series == NULL)
        return STATUS_FAILED;
    if (series->len == 0) {
        g_autofree char *words = g_strjoinv("', '", selectors);
        g_set_error(error, CLI_ERROR, CLI_ERROR_FAILED,
                    "%s has no values of '%s' in this span; 'jescope series' lists targets and spans, 'jescope series "
                    "--metrics' what is kept of them",
                    history_path(history), words);
        return STATUS_FAILED;
    }
    return show_series(series, form, error) ? STATUS_DONE : STATUS_FAILED;
}

static int
run(char **operands, GError **error)
{
    size_t form;
    if (!parse_format(&form, error))
        return STATUS_USAGE;
    if (*operands == NULL && (draw || plot_file != NULL)) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "%s needs the name of a metric, such as 'allocated'",
                    draw ? "--draw" : "--plot");
        return STATUS_USAGE;
    }
    g_autofree char *path = history_file != NULL ? g_strdup(history_file) : history_default_path();
    g_autoptr(History) history = history_open(path, HISTORY_READ, error);
    if (history == NULL)
        return STATUS_FAILED;
    gboolean as_json = strcmp(formats[form].name, "json") == 0;
    int status = list_metrics        ? kept_print_metrics(history, targets, as_json, error)
                 : *operands == NULL ? kept_print_targets(history, targets, as_json, error)
                                     : run_query(history, operands, form, error);
    if (status != STATUS_DONE || history_damaged_blocks(history) == 0)
        return status;
    fprintf(stderr, "jescope: %s: left out %u damaged blocks\n", path, history_damaged_blocks(history));
    return STATUS_PARTIAL;
}

const Command cmd_series = {
    .name = "series",
    .synopsis = "[METRIC...]",
    .summary = "list, print and draw statistics over time",
    .description =
        "Without METRIC lists what the history file keeps: targets, spans, gaps and notes. With it prints how values "
        "moved, for all targets or those named. Times are printed in UTC and read in local time unless they end in "
        "Z.\n\n"
        "METRIC is a name that --metrics lists, for values of an arena with @ARENA behind it and for those of a class "
        "or "
        "mutex with @ARENA/ITEM: 'allocated', 'arena.mapped@3', 'bin.curregs@merged/64', 'mutex.num_wait@global/ctl'. "
        "ARENA is a number, merged, destroyed or all (each by itself); without it all arenas are taken together. ITEM "
        "is "
        "the size of a class or the name of a mutex; without it each stands by itself.\n\n"
        "--draw and --plot break a line where samples are missing or the process was restarted.",
    .options = options,
    .operand = OPERAND_NONE,
    .operands_min = 0,
    .operands_max = OPERANDS_ANY,
    .run = run,
};
