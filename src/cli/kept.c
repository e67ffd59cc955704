/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kept.h"

#include "cli/command.h"
#include "cli/document.h"
#include "cli/duration.h"

#include "history/axis.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

enum {
    LINES_MAX = 10, /* gaps and notes per target in the readable text */
};

static gboolean
wanted(const HistoryTarget *target, char **targets)
{
    return targets == NULL || g_strv_contains((const char *const *)targets, target->name);
}

static double
seconds(gint64 time_us)
{
    return (double)time_us / G_USEC_PER_SEC;
}

static json_t *
gaps_json(const HistoryTarget *target)
{
    json_t *gaps = json_array();
    for (guint i = 0; i < target->gaps->len; i++) {
        const HistoryGap *gap = &g_array_index(target->gaps, HistoryGap, i);
        json_array_append_new(gaps, json_pack("{s:f, s:f, s:b}", "from", seconds(gap->from_us), "to",
                                              seconds(gap->to_us), "restart", gap->restart));
    }
    return gaps;
}

static json_t *
notes_json(const HistoryTarget *target)
{
    json_t *notes = json_array();
    for (guint i = 0; i < target->notes->len; i++) {
        const HistoryNote *note = target->notes->pdata[i];
        json_array_append_new(notes, json_pack("{s:f, s:s}", "time", seconds(note->time_us), "text", note->text));
    }
    return notes;
}

static json_t *
target_json(const HistoryTarget *target)
{
    return json_pack("{s:s, s:I, s:f, s:f, s:f, s:i, s:s?, s:o, s:o}", "target", target->name, "samples",
                     (json_int_t)target->samples, "from", seconds(target->first_us), "to", seconds(target->last_us),
                     "every", seconds((gint64)target->every_us), "incarnations", (int)target->incarnations, "version",
                     target->version, "gaps", gaps_json(target), "notes", notes_json(target));
}

static void
print_gaps(const HistoryTarget *target)
{
    guint from = target->gaps->len > LINES_MAX ? target->gaps->len - LINES_MAX : 0;
    if (from > 0)
        printf("    ... %u gaps before; --json lists all\n", from);
    for (guint i = from; i < target->gaps->len; i++) {
        const HistoryGap *gap = &g_array_index(target->gaps, HistoryGap, i);
        g_autofree char *begin = axis_time_full(gap->from_us), *end = axis_time_full(gap->to_us);
        g_autofree char *length = duration_format((guint64)MAX(gap->to_us - gap->from_us, 0) / 1000);
        printf("    gap %s to %s (%s)%s\n", begin, end, length, gap->restart ? ", restarted" : "");
    }
}

static void
print_notes(const HistoryTarget *target)
{
    guint from = target->notes->len > LINES_MAX ? target->notes->len - LINES_MAX : 0;
    if (from > 0)
        printf("    ... %u notes before; --json lists all\n", from);
    for (guint i = from; i < target->notes->len; i++) {
        const HistoryNote *note = target->notes->pdata[i];
        g_autofree char *time = axis_time_full(note->time_us);
        printf("    %s %s\n", time, note->text);
    }
}

static void
print_target(const HistoryTarget *target, int width)
{
    g_autofree char *from = axis_time_full(target->first_us - target->first_us % G_USEC_PER_SEC);
    g_autofree char *to = axis_time_full(target->last_us - target->last_us % G_USEC_PER_SEC);
    g_autofree char *every = target->every_us > 0 ? duration_format(target->every_us / 1000) : g_strdup("-");
    g_autofree char *version = g_strndup(target->version != NULL ? target->version : "-",
                                         target->version != NULL ? strcspn(target->version, "-") : 1);
    printf("%-*s  %8" G_GUINT64_FORMAT "  %-20s  %-20s  %7s  %5u  %4u  %s\n", width, target->name, target->samples,
           target->samples > 0 ? from : "-", target->samples > 0 ? to : "-", every, target->incarnations,
           target->gaps->len, version);
    print_gaps(target);
    print_notes(target);
}

static void
print_targets(const GPtrArray *kept, char **targets)
{
    int width = (int)strlen("TARGET");
    for (guint i = 0; i < kept->len; i++)
        width = MAX(width, (int)strlen(((const HistoryTarget *)kept->pdata[i])->name));
    printf("%-*s  %8s  %-20s  %-20s  %7s  %5s  %4s  %s\n", width, "TARGET", "SAMPLES", "FROM", "TO", "EVERY", "LIVES",
           "GAPS", "JEMALLOC");
    for (guint i = 0; i < kept->len; i++)
        if (wanted(kept->pdata[i], targets))
            print_target(kept->pdata[i], width);
}

static gboolean
check_targets(History *history, char **targets, GError **error)
{
    for (; targets != NULL && *targets != NULL; targets++)
        if (!history_check_target(history, *targets, error))
            return FALSE;
    return TRUE;
}

int
kept_print_targets(History *history, char **targets, gboolean as_json, GError **error)
{
    if (!check_targets(history, targets, error))
        return STATUS_FAILED;
    g_autoptr(GPtrArray) kept = history_targets(history, error);
    if (kept == NULL)
        return STATUS_FAILED;
    if (!as_json) {
        print_targets(kept, targets);
        return STATUS_DONE;
    }
    json_t *list = json_array();
    for (guint i = 0; i < kept->len; i++)
        if (wanted(kept->pdata[i], targets))
            json_array_append_new(list, target_json(kept->pdata[i]));
    document_print("jescope-series-targets",
                   json_pack("{s:s, s:o}", "history", history_path(history), "targets", list));
    return STATUS_DONE;
}

/* Marks the metrics that any of TARGETS has, by StatsMetric. */
static gboolean
find_metrics(History *history, char **targets, gboolean *found, GError **error)
{
    g_autoptr(GPtrArray) kept = history_targets(history, error);
    for (guint i = 0; kept != NULL && i < kept->len; i++) {
        const HistoryTarget *target = kept->pdata[i];
        if (!wanted(target, targets))
            continue;
        g_autoptr(GPtrArray) names = history_metrics(history, target->name, HISTORY_ALL_TIME, error);
        for (guint j = 0; names != NULL && j < names->len; j++) {
            StatsMetric metric;
            if (stats_metric_by_name(names->pdata[j], &metric))
                found[metric] = TRUE;
        }
        if (names == NULL)
            return FALSE;
    }
    return kept != NULL;
}

int
kept_print_metrics(History *history, char **targets, gboolean as_json, GError **error)
{
    gboolean found[STATS_METRIC_COUNT] = {FALSE};
    if (!check_targets(history, targets, error) || !find_metrics(history, targets, found, error))
        return STATUS_FAILED;
    json_t *list = json_array();
    for (int metric = 0; metric < STATS_METRIC_COUNT; metric++) {
        const StatsMetricInfo *info = &stats_metrics[metric];
        const char *type = info->type == STATS_COUNTER ? "counter" : "gauge";
        if (found[metric] && as_json)
            json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s}", "metric", info->name, "type", type, "unit",
                                                  stats_unit_name(info->unit), "help", info->help));
        else if (found[metric])
            printf("%-32s %-8s %-12s %s\n", info->name, type, stats_unit_name(info->unit), info->help);
    }
    if (as_json)
        document_print("jescope-series-metrics", json_pack("{s:o}", "metrics", list));
    else
        json_decref(list);
    return STATUS_DONE;
}

gboolean
kept_warn(const char *path, guint n)
{
    if (n > 0)
        command_say("%s: left out %u damaged blocks", path, n);
    return n > 0;
}
