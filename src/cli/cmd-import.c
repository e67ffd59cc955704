/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "cli/duration.h"
#include "cli/moment.h"
#include "cli/progress.h"

#include "history/axis.h"
#include "history/import.h"
#include "text/printable.h"

#include <stdio.h>

enum {
    EVERY_DEFAULT_MS = 1000,
};

static char *history_file;
static char *target;
static char *start;
static char *every;

static const GOptionEntry options[] = {
    {.long_name = "history",
     .arg = G_OPTION_ARG_FILENAME,
     .arg_data = &history_file,
     .description = "history file",
     .arg_description = "FILE"},
    {.long_name = "target",
     .arg = G_OPTION_ARG_STRING,
     .arg_data = &target,
     .description = "keep the samples under this name; default: the file's name without its ending",
     .arg_description = "NAME"},
    {.long_name = "start",
     .arg = G_OPTION_ARG_STRING,
     .arg_data = &start,
     .description = "time of the first sample, if the file has no timestamps",
     .arg_description = "TIME"},
    {.long_name = "every",
     .arg = G_OPTION_ARG_STRING,
     .arg_data = &every,
     .description = "time between samples, if the file has no timestamps; default 1s",
     .arg_description = "DURATION"},
    {0},
};

typedef struct {
    const char *name;
    Progress *progress;
} Import;

static void
show_progress(guint64 samples, gint64 time_us, gpointer data)
{
    Import *import = data;
    g_autofree char *time = axis_time_full(time_us);
    progress_show(import->progress, "%s: %" G_GUINT64_FORMAT " samples, up to %s", import->name, samples, time);
}

static void
print_left_out(const char *path, const ImportResult *result)
{
    const StatsReport *report = &result->report;
    if (report->truncated + report->damaged > 0)
        command_say("%s: left out %" G_GUINT64_FORMAT " truncated and %" G_GUINT64_FORMAT
                    " damaged snapshots, the first at line %" G_GUINT64_FORMAT ": %s",
                    path, report->truncated, report->damaged, report->first_left_out,
                    report->why_left_out[0] != '\0' ? report->why_left_out : "no reason known");
    if (result->misdated > 0)
        command_say(
            "%s: left out %" G_GUINT64_FORMAT
            " samples without a time, which would be placed outside the years 1 to 9999; see --start and --every",
            path, result->misdated);
    if (result->timeless > 0)
        command_say("%s: %" G_GUINT64_FORMAT " samples have no time; they were %s; see --start and --every", path,
                    result->timeless, start != NULL ? "counted from --start" : "placed before the file's last change");
}

static gboolean
report_file(const char *path, const ImportResult *result, GError **error)
{
    if (result->report.samples == 0) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_FAILED,
                    "%s: no complete statistics of jemalloc in %" G_GUINT64_FORMAT " lines", path,
                    result->report.lines);
        return FALSE;
    }
    g_autofree char *shown = text_printable(path);
    printf("%s: %" G_GUINT64_FORMAT " samples added", shown, result->added);
    if (result->known > 0)
        printf(", %" G_GUINT64_FORMAT " were there already", result->known);
    putchar('\n');
    print_left_out(path, result);
    return TRUE;
}

static gboolean
import_one(History *history, const char *path, ImportOptions *import, ImportResult *result, GError **error)
{
    g_autofree char *name = g_path_get_basename(path);
    Import shown = {.name = name, .progress = progress_begin("importing %s", name)};
    import->progress = shown.progress != NULL ? show_progress : NULL;
    import->data = &shown;
    gboolean ok = import_file(history, path, import, result, error);
    progress_end(shown.progress);
    return ok && report_file(path, result, error);
}

static gboolean
parse_import_options(ImportOptions *import, GError **error)
{
    guint64 every_ms = EVERY_DEFAULT_MS;
    import->target = target;
    import->start_us = STATS_TIME_UNKNOWN;
    if ((start != NULL && !moment_parse(start, "--start", &import->start_us, error)) ||
        (every != NULL && !duration_parse(every, "--every", &every_ms, error)))
        return FALSE;
    import->every_us = every_ms * 1000;
    return TRUE;
}

/* A file that fails does not prevent the import of the others. */
static int
run(char **operands, GError **error)
{
    ImportOptions import = {0};
    gboolean partial = FALSE, any = FALSE;
    if (!parse_import_options(&import, error))
        return STATUS_USAGE;
    g_autofree char *path = history_file != NULL ? g_strdup(history_file) : history_default_path();
    g_autoptr(History) history = history_open(path, HISTORY_WRITE, error);
    if (history == NULL)
        return STATUS_FAILED;
    for (; *operands != NULL; operands++) {
        g_autoptr(GError) cause = NULL;
        ImportResult result;
        if (import_one(history, *operands, &import, &result, &cause)) {
            any = TRUE;
            partial = partial || result.report.truncated + result.report.damaged + result.misdated > 0;
            continue;
        }
        if (operands[1] == NULL && !any) {
            g_propagate_error(error, g_steal_pointer(&cause));
            return STATUS_FAILED;
        }
        command_say("%s", cause->message);
        partial = TRUE;
    }
    return partial ? STATUS_PARTIAL : STATUS_DONE;
}

static const Example examples[] = {
    {"jescope import server.log.gz --target=production", "read the statistics in a log into the history"},
    {0},
};

const Command cmd_import = {
    .name = "import",
    .synopsis = "FILE...",
    .summary = "read files of statistics into the history",
    .description = "Reads jemalloc's statistics (text of 3.x to head, JSON of 4.3 to head) out of console logs or raw "
                   "files, '-' for standard input, gzip'd or not, and keeps every sample in the history file, "
                   "$XDG_STATE_HOME/jescope/history.db unless --history or $JESCOPE_HISTORY names another. Importing a "
                   "file again, or after it has grown, adds only new samples.\n\n"
                   "A truncated or damaged snapshot is skipped with a warning; the exit status is then 3.",
    .examples = examples,
    .options = options,
    .operand = OPERAND_FILE,
    .operands_min = 1,
    .operands_max = OPERANDS_ANY,
    .run = run,
};
