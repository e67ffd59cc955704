/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "cli/confined-work.h"
#include "cli/duration.h"
#include "cli/kept.h"
#include "cli/moment.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "cli/words.h"

#include "history/handed.h"
#include "history/plot.h"
#include "history/series-table.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    WIDTH_DEFAULT = 100, /* default without a terminal */
    STEP_MAX_DAYS = 3650,
};

static const char doing[] = "reading the history";

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
     .description = "history file",
     .arg_description = "FILE"},
    {.long_name = "target",
     .arg = G_OPTION_ARG_STRING_ARRAY,
     .arg_data = &targets,
     .description = "only this target; may be given again",
     .arg_description = "SERIES"},
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
     .description = "output format; default table",
     .arg_description = "table|csv|json|openmetrics"},
    {.long_name = "json", .arg = G_OPTION_ARG_NONE, .arg_data = &json, .description = "the same as --format=json"},
    {.long_name = "draw", .arg = G_OPTION_ARG_NONE, .arg_data = &draw, .description = "draw in the terminal"},
    {.long_name = "plot",
     .arg = G_OPTION_ARG_FILENAME,
     .arg_data = &plot_file,
     .description = "draw an SVG into this file, which must not exist; - is stdout",
     .arg_description = "FILE"},
    TERMINAL_COLOR_OPTION,
    {0},
};

static void (*const writers[])(const GPtrArray *series, GString *out) = {
    series_write_table,
    series_write_csv,
    series_write_json,
    series_write_openmetrics,
};

static const char *const format_names[] = {"table", "csv", "json", "openmetrics", NULL};

static const char *const each_names[] = {
    [SERIES_MEAN] = "mean", [SERIES_MIN] = "min", [SERIES_MAX] = "max", [SERIES_LAST] = "last", NULL};

static gboolean
parse_each(SeriesEach *value, GError **error)
{
    guint index;
    if (each == NULL)
        return TRUE;
    if (!words_find(each_names, "--each", each, &index, error))
        return FALSE;
    *value = (SeriesEach)index;
    return TRUE;
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
check_plot_file(GError **error)
{
    struct stat status;
    if (plot_file == NULL || strcmp(plot_file, "-") == 0 || stat(plot_file, &status) != 0 || !S_ISREG(status.st_mode))
        return TRUE;
    g_set_error(error, CLI_ERROR, CLI_ERROR_FAILED, "'%s' exists; remove it, or name another file with --plot",
                plot_file);
    return FALSE;
}

static void
draw_series(const GPtrArray *series)
{
    g_autoptr(GString) text = g_string_new(NULL);
    PlotFlags flags = terminal_colored(STDOUT_FILENO) ? PLOT_COLOR : PLOT_PLAIN;
    plot_text(series, terminal_columns(STDOUT_FILENO, WIDTH_DEFAULT), g_get_charset(NULL) ? flags : flags | PLOT_ASCII,
              text);
    fputs(text->str, stdout);
}

static void
show_series(const GPtrArray *series, guint form)
{
    g_autoptr(GString) text = g_string_new(NULL);
    if (plot_file == NULL && draw) {
        draw_series(series);
        return;
    }
    if (plot_file != NULL)
        plot_svg(series, text);
    else
        writers[form](series, text);
    fwrite(text->str, 1, text->len, stdout);
}

/* One run in the confined child. */
typedef struct {
    const char *path;
    char **selectors;
    SeriesQuery query;
    guint form;
} Run;

static int
run_query(History *history, const Run *run, GError **error)
{
    g_autoptr(GPtrArray) series = series_read(history, &run->query, error);
    if (series == NULL)
        return STATUS_FAILED;
    if (series->len == 0) {
        g_autofree char *words = g_strjoinv("', '", run->selectors);
        g_set_error(error, CLI_ERROR, CLI_ERROR_FAILED,
                    "%s has no values of '%s' in this span; 'jescope series' lists targets and spans, 'jescope series "
                    "--metrics' lists their metrics",
                    history_path(history), words);
        return STATUS_FAILED;
    }
    show_series(series, run->form);
    return STATUS_DONE;
}

static int
show(gpointer data, GOutputStream *out, GError **error)
{
    const Run *run = data;
    gboolean as_json = strcmp(format_names[run->form], "json") == 0;
    history_take_handed();
    g_autoptr(History) history = history_open(run->path, HISTORY_READ, error);
    if (history == NULL)
        return STATUS_FAILED;
    int status = list_metrics              ? kept_print_metrics(history, targets, as_json, error)
                 : *run->selectors == NULL ? kept_print_targets(history, targets, as_json, error)
                                           : run_query(history, run, error);
    const gboolean left_out = kept_warn(run->path, history_damaged_blocks(history));
    return status == STATUS_DONE && left_out ? STATUS_PARTIAL : status;
}

static int
write_plot(const Confined *confined, GError **error)
{
    int plot = -1;
    int status = confined_work_run(confined, doing, &plot, error);
    gboolean drawn = status == STATUS_DONE || status == STATUS_PARTIAL;
    g_autoptr(Output) output = drawn ? output_open(plot_file, OUTPUT_SHARED, error) : NULL;
    if (drawn && (output == NULL || !output_copy(output, plot, error) || !output_commit(output, error)))
        status = STATUS_FAILED;
    if (plot >= 0)
        close(plot);
    return status < 0 ? STATUS_FAILED : status;
}

static int
run(char **operands, GError **error)
{
    const char *wanted = format != NULL ? format : json ? "json" : "table";
    static const char *const none[] = {NULL};
    Run run = {.selectors = operands,
               .query = {.targets = targets != NULL ? (const char *const *)targets : none,
                         .selectors = (const char *const *)operands}};
    if (!terminal_check_color(error) || !words_find(format_names, "--format", wanted, &run.form, error))
        return STATUS_USAGE;
    if (*operands == NULL && (draw || plot_file != NULL)) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "%s needs the name of a metric, such as 'allocated'",
                    draw ? "--draw" : "--plot");
        return STATUS_USAGE;
    }
    if (*operands != NULL && !parse_query(&run.query, error))
        return STATUS_USAGE;
    if (!check_plot_file(error))
        return STATUS_FAILED;
    g_autofree char *path = history_file != NULL ? g_strdup(history_file) : history_default_path();
    run.path = path;
    history_hand_over(path);
    const Confined confined = {
        .work = show, .data = &run, .memory = CONFINED_WORK_STATISTICS, .seconds = history_handed_seconds()};
    return plot_file != NULL ? write_plot(&confined, error) : confined_work_print(&confined, doing, error);
}

static const Example examples[] = {
    {"jescope series", "list the targets in the history"},
    {"jescope series allocated resident --from=-2h --draw", "draw two metrics of the last two hours"},
    {0},
};

const Command cmd_series = {
    .name = "series",
    .synopsis = "[METRIC...]",
    .summary = "list, print and draw statistics over time",
    .description =
        "Without METRIC, lists the targets in the history with their spans, gaps and notes. With METRIC, prints its "
        "values over time, for all targets or those named. Times are printed in UTC and read in local time unless they "
        "end in Z.\n\n"
        "METRIC is a name that --metrics lists, followed by @ARENA for values of an arena, or @ARENA/ITEM for those of "
        "a class or mutex: 'allocated', 'arena.mapped@3', 'bin.curregs@merged/64', 'mutex.num_wait@global/ctl'. ARENA "
        "is a number, merged, destroyed or all (a series for each); without it, the values are those of all arenas "
        "together. ITEM is the size of a class or the name of a mutex; without it, each has its own series.\n\n"
        "--draw and --plot break a line where samples are missing or the process was restarted.",
    .examples = examples,
    .options = options,
    .operand = OPERAND_METRIC,
    .operands_min = 0,
    .operands_max = OPERANDS_ANY,
    .run = run,
};
