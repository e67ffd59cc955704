/* SPDX-License-Identifier: Apache-2.0 */
#include "export/stored.h"

#include <jansson.h>
#include <math.h>

enum { PART_MAX = 100 }; /* bytes per part, so that names are short enough for every file system and object store */

static char *
fit(const char *text)
{
    char *part = g_strcanon(g_strndup(text, PART_MAX), G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "._+-", '_');
    if (part[0] == '.')
        part[0] = '_';
    return part;
}

char *
stored_path(const Batch *batch)
{
    const BatchDump *dump = &batch->dump;
    g_autoptr(GDateTime) time = g_date_time_new_from_unix_utc(dump->time / G_USEC_PER_SEC);
    g_autofree char *day = time != NULL ? g_date_time_format(time, "%Y-%m-%d") : g_strdup("unknown");
    g_autofree char *moment = time != NULL ? g_date_time_format(time, "%Y%m%dT%H%M%SZ") : g_strdup("unknown");
    g_autofree char *service = fit(dump->service), *host = fit(dump->host);
    return g_strdup_printf("%s/%s/%s-%s-%" G_GUINT64_FORMAT "-%.16s", service[0] != '\0' ? service : "_", day, moment,
                           host, dump->pid, dump->id);
}

static json_t *
labels_of(const Batch *batch)
{
    json_t *labels = json_object();
    for (gsize i = 0; i < batch->n_labels; i++)
        json_object_set_new(labels, batch->labels[i].name, json_string(batch->labels[i].value));
    return labels;
}

static json_t *
totals_of(const Batch *batch)
{
    json_t *totals = json_object();
    for (gsize i = 0; i < batch->n_values; i++)
        json_object_set_new(totals, batch->values[i].name,
                            json_pack("{s:s, s:f, s:f}", "unit", batch->values[i].unit, "estimate", batch->total[i],
                                      "error", sqrt(MAX(batch->total[batch->n_values + i], 0))));
    return totals;
}

static json_t *
metrics_of(const Batch *batch)
{
    json_t *metrics = json_object();
    for (gsize i = 0; i < batch->n_metrics; i++)
        json_object_set_new(metrics, batch->metrics[i].name, json_real(batch->metrics[i].value));
    return metrics;
}

static json_t *
ledger_of(const Batch *batch)
{
    json_t *ledger = json_object();
    for (gsize i = 0; i < batch->n_ledger; i++)
        json_object_set_new(ledger, batch->ledger[i].name,
                            json_pack("{s:I, s:I, s:I}", "bytes", (json_int_t)batch->ledger[i].bytes, "low",
                                      (json_int_t)batch->ledger[i].low, "high", (json_int_t)batch->ledger[i].high));
    return ledger;
}

char *
stored_document(const Batch *batch)
{
    const BatchDump *dump = &batch->dump;
    json_t *document =
        json_pack("{s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o}", "id", dump->id,
                  "service", dump->service, "host", dump->host, "program", dump->program, "build_id", dump->build_id,
                  "time_us", (json_int_t)dump->time, "since_us", (json_int_t)dump->since, "pid", (json_int_t)dump->pid,
                  "start_ticks", (json_int_t)dump->start, "period", (json_int_t)dump->period, "stacks",
                  (json_int_t)batch->n_stacks, "folded", (json_int_t)dump->folded, "labels", labels_of(batch), "totals",
                  totals_of(batch), "metrics", metrics_of(batch), "ledger", ledger_of(batch));
    char *text = json_dumps(document, JSON_INDENT(2));
    char *copy = g_strconcat(text, "\n", NULL);
    free(text);
    json_decref(document);
    return copy;
}
