/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prometheus remote write 1.0 (https://prometheus.io/docs/specs/prw/remote_write_spec/): the statistics of the process
 * and its ledger as series, named as in the /metrics of `jescope serve` if they are there; for hosts that cannot be
 * scraped. Several batches form one request, whose samples are ordered by time; a repeated sample has the same time and
 * value.
 */
#include "export/http.h"
#include "export/labels.h"
#include "export/series.h"
#include "export/snappy.h"
#include "report/proto.h"

#include <string.h>

enum {
    WRITE_TIMESERIES = 1, /* fields of WriteRequest and its parts */
    SERIES_LABELS = 1,
    SERIES_SAMPLES = 2,
    LABEL_NAME = 1,
    LABEL_VALUE = 2,
    SAMPLE_VALUE = 1,
    SAMPLE_TIMESTAMP = 2,
    US_PER_MS = 1000,
};

static const SeriesRules rules = {.service = "job", .labels = 28, .value_bytes = 2048};

typedef struct {
    Http *http;
    char *url;
} State;

/* A request under construction. */
typedef struct {
    GByteArray *write, *series, *part;
    const GArray *labels; /* the process's labels */
    GArray *scratch;      /* of BatchLabel */
    gint64 time_ms;
} Writing;

static gpointer new (const Destination *destination, GError **error)
{
    static const char *const known[] = {"tenant", NULL};
    if (!destination_check_settings(destination, known, error) || !snappy_load(error))
        return NULL;
    Http *http = http_new(destination, HTTP_BEARER, NULL, error);
    State *state = http != NULL ? g_new(State, 1) : NULL;
    if (state != NULL)
        *state =
            (State){http, g_strconcat(destination->base, destination->path[0] == '\0' ? "/api/v1/write" : "", NULL)};
    return state;
}

static void
release(gpointer data)
{
    State *state = data;
    http_free(state->http);
    g_free(state->url);
    g_free(state);
}

/* ---- series ---- */

static void
write_label(Writing *writing, const char *name, const char *value)
{
    g_byte_array_set_size(writing->part, 0);
    proto_string(writing->part, LABEL_NAME, name);
    proto_string(writing->part, LABEL_VALUE, value);
    proto_message(writing->series, SERIES_LABELS, writing->part);
}

static gint
by_name(gconstpointer a, gconstpointer b)
{
    return strcmp(((const BatchLabel *)a)->name, ((const BatchLabel *)b)->name);
}

/* Sorted by unique name, as the protocol requires. */
static void
write_labels(Writing *writing, const SeriesPoint *series)
{
    g_array_set_size(writing->scratch, 0);
    const BatchLabel own[] = {{"__name__", series->family}, {series->name, series->value}};
    g_array_append_vals(writing->scratch, own, series->name != NULL ? 2 : 1);
    for (guint i = 0; i < writing->labels->len; i++) {
        const BatchLabel *label = &g_array_index(writing->labels, BatchLabel, i);
        if (g_strcmp0(series->name, label->name) != 0)
            g_array_append_vals(writing->scratch, label, 1);
    }
    g_array_sort(writing->scratch, by_name);
    for (guint i = 0; i < writing->scratch->len; i++) {
        const BatchLabel *label = &g_array_index(writing->scratch, BatchLabel, i);
        write_label(writing, label->name, label->value);
    }
}

static void
write_point(const SeriesPoint *series, gpointer data)
{
    Writing *writing = data;
    g_byte_array_set_size(writing->series, 0);
    write_labels(writing, series);
    g_byte_array_set_size(writing->part, 0);
    proto_double(writing->part, SAMPLE_VALUE, series->amount);
    proto_int(writing->part, SAMPLE_TIMESTAMP, writing->time_ms);
    proto_message(writing->series, SERIES_SAMPLES, writing->part);
    proto_message(writing->write, WRITE_TIMESERIES, writing->series);
}

static void
write_batch(Writing *writing, const Batch *batch)
{
    gsize left_out;
    g_autoptr(GArray) labels = series_labels(batch, &rules, &left_out);
    writing->labels = labels;
    writing->time_ms = batch->dump.time / US_PER_MS;
    series_foreach(batch, write_point, writing);
    const SeriesPoint left = {.family = "jescope_labels_left_out", .amount = (gdouble)left_out};
    if (left_out > 0)
        write_point(&left, writing);
}

static ExportOutcome
send(gpointer data, const Batch *const *batches, guint n, ExportReply *reply, GError **error)
{
    const State *state = data;
    g_autoptr(GByteArray) write = g_byte_array_new(), series = g_byte_array_new(), part = g_byte_array_new();
    g_autoptr(GArray) scratch = g_array_new(FALSE, FALSE, sizeof(BatchLabel));
    Writing writing = {.write = write, .series = series, .part = part, .scratch = scratch};
    for (guint i = 0; i < n; i++)
        write_batch(&writing, batches[i]);
    g_autoptr(GBytes) block = snappy_block(write);
    const char *const headers[] = {"Content-Type: application/x-protobuf", "Content-Encoding: snappy",
                                   "X-Prometheus-Remote-Write-Version: 0.1.0", NULL};
    HttpRequest request = {.method = "POST", .url = state->url, .headers = headers};
    request.body = g_bytes_get_data(block, &request.length);
    return http_deliver(state->http, &request, reply, error);
}

const ExportSink prometheus_sink = {
    .name = "prometheus",
    .summary = "statistics, ledger and totals as series, by remote write 1.0",
    .form = "prometheus://HOST[:PORT][/PATH][?tenant=NAME]",
    .transport = EXPORT_TLS,
    .max_batches = 64,
    .new = new,
    .free = release,
    .send = send,
};
