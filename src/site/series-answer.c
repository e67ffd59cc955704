/* SPDX-License-Identifier: Apache-2.0 */
/* "/api/v1/targets/{target}/series": values of a target over time, across its restarts. */
#include "site/table.h"

#include "routes/native-reply.h"
#include "routes/reply.h"
#include "service/service.h"
#include "site/series-query.h"

enum {
    SERIES_CELLS_MAX = 4000000, /* of a table with a column for each series, where most may be empty */
};

/* For one answer. A history in memory is locked while it is read. */
static const SeriesLimits limits = {.values = 50000000, .points = 1000000, .series = 10000};

typedef struct {
    const char *target; /* in the history */
    const SeriesRequest *request;
} Reading;

/* The number of distinct times. */
static guint
count_times(const GPtrArray *series)
{
    g_autoptr(GHashTable) times = g_hash_table_new(NULL, NULL);
    for (guint i = 0; i < series->len; i++) {
        const GArray *points = ((const Series *)series->pdata[i])->points;
        for (guint j = 0; j < points->len; j++)
            g_hash_table_add(times, GSIZE_TO_POINTER(g_array_index(points, SeriesPoint, j).time_us));
    }
    return g_hash_table_size(times);
}

static gboolean
check_size(const GPtrArray *series, GError **error)
{
    guint64 cells = series->len > 1 ? (guint64)series->len * count_times(series) : 0;
    if (cells <= SERIES_CELLS_MAX)
        return TRUE;
    g_set_error(error, SERIES_QUERY_ERROR, SERIES_QUERY_ERROR_PARAMETER,
                "the result has %u series with different times; give a step or a shorter time range", series->len);
    return FALSE;
}

/* The text, a GString. */
static gpointer
read_series(History *history, gpointer data, GError **error)
{
    const Reading *reading = data;
    const char *targets[] = {reading->target, NULL};
    SeriesQuery query = {
        .targets = targets,
        .selectors = (const char *const *)reading->request->selectors,
        .range = reading->request->range,
        .step_us = reading->request->step_us,
        .each = reading->request->each,
        .rate = reading->request->rate,
        .limits = limits,
    };
    g_autoptr(GPtrArray) series = series_read(history, &query, error);
    if (series == NULL || !check_size(series, error))
        return NULL;
    if (series->len == 0) {
        g_set_error(error, HISTORY_ERROR, HISTORY_ERROR_MISSING,
                    "no values of this metric are stored for %s in this time range", reading->target);
        return NULL;
    }
    GString *text = g_string_new(NULL);
    reading->request->write(series, text);
    return text;
}

static void
answer_error(const GError *error, RouteReply *reply)
{
    static const char hint[] = "/api/v1/openapi.json describes the parameters; 'jescope series --help' explains METRIC";
    if (g_error_matches(error, HISTORY_ERROR, HISTORY_ERROR_MISSING))
        native_error(reply, 404, &(NativeError){"not_kept", hint}, "%s", error->message);
    else if (error->domain == SERIES_QUERY_ERROR || g_error_matches(error, HISTORY_ERROR, HISTORY_ERROR_TOO_LARGE))
        native_error(reply, 400, &(NativeError){"invalid_parameter", hint}, "%s", error->message);
    else
        native_error(reply, 503, &(NativeError){"unavailable", "try again later"}, "%s", error->message);
}

static void
series_answer(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    SeriesRequest parsed = {0};
    g_autoptr(GError) error = NULL;
    Reading reading = {service_target_series(service_work_target(host)), &parsed};
    g_autoptr(GString) text = NULL;
    if (series_request_parse(request->query, g_get_real_time(), &parsed, &error))
        text = service_work_read_history(host, read_series, &reading, &error);
    if (text != NULL) {
        reply_begin(reply, 200, parsed.content_type);
        reply_add(reply, text->str, text->len);
    } else {
        answer_error(error, reply);
    }
    series_request_clear(&parsed);
}

static const RouteParameter parameters[] = {
    {"metric", "text", "METRIC[@ARENA[/ITEM]] as in 'jescope series'; several are separated by commas; required"},
    {"from", "text", "begin: seconds since 1970, -2h, or 2026-11-21T14:05:00Z"},
    {"to", "text", "end (exclusive)"},
    {"step", "duration", "one point per step instead of one per sample"},
    {"each", "mean|min|max|last", "how the samples of a step are combined"},
    {"rate", "boolean", "change per second, for counters"},
    {"format", "json|csv|openmetrics|table|svg", "output format (default json)"},
    {0},
};

static const Route rows[] = {
    {ROUTE_DIALECT_NATIVE, "GET|HEAD", "/api/v1/targets/{target}/series",
     "statistics over time, across restarts of the target", .parameters = parameters, .flags = ROUTE_SLOW,
     .answer = series_answer},
};

const RouteTable series_answer_routes = {rows, G_N_ELEMENTS(rows)};
