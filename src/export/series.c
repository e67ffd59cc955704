/* SPDX-License-Identifier: Apache-2.0 */
#include "export/series.h"

#include "export/labels.h"
#include "stats/openmetrics.h"

#include <math.h>
#include <string.h>

static gint
by_name(gconstpointer a, gconstpointer b)
{
    return strcmp(((const BatchLabel *)a)->name, ((const BatchLabel *)b)->name);
}

static gboolean
is_named(const GArray *labels, const char *name)
{
    for (guint i = 0; i < labels->len; i++)
        if (g_str_equal(g_array_index(labels, BatchLabel, i).name, name))
            return TRUE;
    return FALSE;
}

GArray *
series_labels(const Batch *batch, const SeriesRules *rules, gsize *left_out)
{
    const BatchDump *dump = &batch->dump;
    GArray *labels = labels_new();
    g_autofree char *instance = g_strdup_printf("%s:%" G_GUINT64_FORMAT, dump->host, dump->pid);
    *left_out = 0;
    labels_add(labels, "host", dump->host);
    labels_add(labels, "instance", instance);
    labels_add(labels, rules->service, dump->service);
    if (rules->metric != NULL)
        labels_add(labels, "__name__", rules->metric);
    for (gsize i = 0; i < batch->n_labels; i++) {
        const BatchLabel *label = &batch->labels[i];
        g_autofree char *name = g_strconcat(g_str_has_prefix(label->name, "__") ? "label" : "", label->name, NULL);
        if (labels->len < rules->labels && strlen(label->value) <= rules->value_bytes && !is_named(labels, name))
            labels_add(labels, name, label->value);
        else
            ++*left_out;
    }
    g_array_sort(labels, by_name);
    return labels;
}

json_t *
series_json(const GArray *labels)
{
    json_t *list = json_array();
    for (guint i = 0; i < labels->len; i++) {
        const BatchLabel *label = &g_array_index(labels, BatchLabel, i);
        json_array_append_new(list, json_pack("{s:s, s:s}", "name", label->name, "value", label->value));
    }
    return list;
}

char *
series_note(gsize left_out)
{
    return left_out > 0
               ? g_strdup_printf(
                     "%" G_GSIZE_FORMAT
                     " labels are left out: a name that is taken, or a limit of the system that got the profile",
                     left_out)
               : NULL;
}

/* ---- numbers ---- */

/* As in /metrics: times in seconds, "never" as infinity. */
static gdouble
in_base_unit(const StatsMetricInfo *info, gdouble value)
{
    if (info->unit == STATS_UNIT_NANOSECONDS)
        return value / 1e9;
    if (info->unit != STATS_UNIT_MILLISECONDS)
        return value;
    return info->ctype == STATS_CTYPE_SSIZE && value < 0 ? INFINITY : value / 1e3;
}

static void
tell_metric(const BatchMetric *metric, SeriesFunc *each, gpointer data)
{
    StatsMetric known;
    if (!stats_metric_by_name(metric->name, &known))
        return;
    g_autofree char *family = openmetrics_family(known);
    const gboolean of_arena = stats_metrics[known].scope == STATS_SCOPE_ARENA;
    const SeriesPoint point = {.family = family,
                               .name = of_arena ? "arena" : NULL,
                               .value = "merged",
                               .counter = metric->counter,
                               .amount = in_base_unit(&stats_metrics[known], metric->value)};
    each(&point, data);
}

void
series_foreach(const Batch *batch, SeriesFunc *each, gpointer data)
{
    for (gsize i = 0; i < batch->n_metrics; i++)
        tell_metric(&batch->metrics[i], each, data);
    for (gsize i = 0; i < batch->n_ledger; i++) {
        const BatchLedgerLine *line = &batch->ledger[i];
        each(&(SeriesPoint){"jescope_ledger_bytes", "line", line->name, FALSE, (gdouble)line->bytes}, data);
    }
    for (gsize i = 0; i < batch->n_values; i++) {
        const char *name = batch->values[i].name;
        const gdouble error = sqrt(MAX(batch->total[batch->n_values + i], 0));
        each(&(SeriesPoint){"jescope_profile", "value", name, FALSE, batch->total[i]}, data);
        each(&(SeriesPoint){"jescope_profile_error", "value", name, FALSE, error}, data);
    }
}
