/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/analyses.h"

#include "cli/command.h"
#include "cli/confined-work.h"
#include "cli/kept.h"
#include "confine/input-file.h"
#include "history/handed.h"
#include "history/history.h"
#include "stats/jemdata.h"

#include <string.h>
#include <unistd.h>

AnalysisOptions analysis_options;

enum {
    THRESHOLD_DEFAULT = 200,
    THRESHOLD_MAX = 1 << 30, /* MiB: more than any address space */
};

gboolean
analyses_is_history(const char *file)
{
    static const char magic[] = "SQLite format 3";
    char start[sizeof(magic)];
    return strcmp(file, "-") != 0 && input_file_peek(file, start, sizeof(start)) == sizeof(start) &&
           memcmp(start, magic, sizeof(magic)) == 0;
}

/* The metrics that the analyses use. */
static const StatsMetric sizes[] = {STATS_ALLOCATED,       STATS_ACTIVE,       STATS_MAPPED,
                                    STATS_ARENA_ALLOCATED, STATS_ARENA_ACTIVE, STATS_ARENA_MAPPED};

static gboolean
load_history(const char *file, const char *target, Iterations *iterations, gboolean *left_out, GError **error)
{
    history_take_handed();
    g_autoptr(History) history = history_open(file, HISTORY_READ, error);
    if (history == NULL)
        return FALSE;
    StatsIterator *iterator =
        history_iterator_new(history, target, HISTORY_ALL_TIME, HISTORY_TOTALS | HISTORY_ARENAS, error);
    if (iterator == NULL)
        return FALSE;
    history_iterator_only(iterator, sizes, G_N_ELEMENTS(sizes));
    gboolean fine = iterator->each(iterator, iterations_add, iterations, error);
    iterator->free(iterator);
    *left_out = kept_warn(file, history_damaged_blocks(history));
    return fine;
}

gboolean
analyses_warn(const char *file, const StatsReport *report)
{
    guint64 left_out = report->truncated + report->damaged;
    if (left_out == 0)
        return FALSE;
    command_say("%s: left out %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT
                " snapshots; the first one begins in line %" G_GUINT64_FORMAT ": %s",
                file, left_out, report->samples + left_out, report->first_left_out, report->why_left_out);
    return TRUE;
}

/* One run in the confined child. */
typedef struct {
    StatsFile file; /* open, unless it is a history file */
    const char *target;
    AnalysisRequest request;
} Run;

static gboolean
load(const Run *run, Iterations *iterations, gboolean *left_out, GError **error)
{
    StatsReport report = {0};
    if (run->file.fd < 0)
        return load_history(run->file.path, run->target, iterations, left_out, error);
    if (g_str_has_suffix(run->file.path, ".py"))
        return jemdata_read_file(&run->file, iterations_add, iterations, error);
    gboolean fine = stats_read_file(&run->file, iterations_add, iterations, &report, error);
    *left_out = fine && analyses_warn(run->file.path, &report);
    return fine;
}

static gboolean
print(const char *text, gsize length, gpointer data, GError **error)
{
    return g_output_stream_write_all(data, text, length, NULL, NULL, error);
}

static int
analyse(gpointer data, GOutputStream *out, GError **error)
{
    Run *run = data;
    g_autoptr(Iterations) iterations = iterations_new();
    gboolean left_out = FALSE;
    if (!load(run, iterations, &left_out, error))
        return STATUS_FAILED;
    if (iterations_count(iterations) == 0) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_FAILED, "%s holds no%s jemalloc statistics", run->file.path,
                    left_out ? " whole" : "");
        return STATUS_FAILED;
    }
    if (run->request.end == ANALYSES_END)
        run->request.end = iterations_count(iterations);
    if (analysis_run(iterations, &run->request, print, out, error))
        return left_out ? STATUS_PARTIAL : STATUS_DONE;
    g_prefix_error(error, "%s: ", run->file.path);
    return STATUS_FAILED;
}

int
analyses_print(const char *file, const char *target, const AnalysisRequest *request, GError **error)
{
    Run run = {.file = {.path = file, .fd = -1}, .target = target, .request = *request};
    if (analyses_is_history(file))
        history_hand_over(file);
    else if ((run.file.fd = stats_open_file(file, error)) < 0)
        return STATUS_FAILED;
    const Confined confined = {.work = analyse,
                               .data = &run,
                               .keep = &run.file.fd,
                               .n_keep = 1,
                               .memory = CONFINED_WORK_STATISTICS,
                               .seconds =
                                   run.file.fd >= 0 ? input_file_seconds(run.file.fd) : history_handed_seconds()};
    g_autofree char *doing = g_strdup_printf("reading %s", file);
    int status = confined_work_print(&confined, doing, error);
    if (run.file.fd >= 0)
        close(run.file.fd);
    return status;
}

static gboolean
parse_number(const char *text, const char *what, gint64 maximum, gint64 *number, GError **error)
{
    guint64 value;
    if (!g_ascii_string_to_unsigned(text, 10, 0, (guint64)maximum, &value, NULL)) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "%s: '%s' is not a whole number from 0 on", what, text);
        return FALSE;
    }
    *number = (gint64)value;
    return TRUE;
}

gboolean
analyses_request(char **operands, AnalysisRequest *request, GError **error)
{
    gboolean four = g_strv_length(operands) == 4;
    struct {
        const char *name;
        gint64 maximum;
        gint64 *number;
    } numbers[] = {
        {"THRESHOLD", THRESHOLD_MAX, &request->threshold_mib},
        {"BASE", G_MAXINT32, &request->base},
        {"START", G_MAXINT32, &request->start},
        {"END", G_MAXINT32, &request->end},
    };
    guint slot = 0;
    for (guint i = 0; operands[i] != NULL; i++, slot++) {
        if (slot == 1 && !four)
            slot++;
        if (!parse_number(operands[i], numbers[slot].name, numbers[slot].maximum, numbers[slot].number, error))
            return FALSE;
    }
    if (request->kind == ANALYSIS_DELTA && !four) {
        request->base = request->start;
        request->start++;
    }
    return TRUE;
}

int
analyses_run(AnalysisKind kind, char **operands, GError **error)
{
    AnalysisRequest request = {.kind = kind, .threshold_mib = THRESHOLD_DEFAULT, .end = ANALYSES_END};
    request.flags = (analysis_options.total ? ANALYSIS_TOTAL : 0) |
                    (analysis_options.successive ? ANALYSIS_SUCCESSIVE : 0) |
                    (analysis_options.json ? ANALYSIS_JSON : 0);
    if (!analyses_request(operands + 1, &request, error))
        return STATUS_USAGE;
    return analyses_print(operands[0], analysis_options.target, &request, error);
}
