/* SPDX-License-Identifier: Apache-2.0 */
#include "http/series-answer.h"

#include "http/errand.h"
#include "http/series-query.h"

/* What the thread that reads needs; the service owns it. */
typedef struct {
    char *target; /* in the history */
    SeriesRequest request;
    AnswerCoding coding;
} Reading;

/* Who waits. */
typedef struct {
    Exchange *exchange; /* NULL: gone */
} Waiting;

static void
free_reading(gpointer data)
{
    Reading *reading = data;
    series_request_clear(&reading->request);
    g_free(reading->target);
    g_free(reading);
}

static void
drop_answer(gpointer data)
{
    answer_unref(data);
}

static gboolean
check_size(const GPtrArray *series, GError **error)
{
    guint64 points = 0;
    for (guint i = 0; i < series->len; i++)
        points += ((const Series *)series->pdata[i])->points->len;
    if (points <= SERIES_POINTS_MAX)
        return TRUE;
    g_set_error(error, SERIES_QUERY_ERROR, SERIES_QUERY_ERROR_PARAMETER,
                "these are %" G_GUINT64_FORMAT " points, and %d are the limit; give a step, or a shorter time", points,
                SERIES_POINTS_MAX);
    return FALSE;
}

/* On a thread of the service. */
static gpointer
read_series(History *history, gpointer data, GError **error)
{
    const Reading *reading = data;
    const char *targets[] = {reading->target, NULL};
    SeriesQuery query = {
        .targets = targets,
        .selectors = (const char *const *)reading->request.selectors,
        .range = reading->request.range,
        .step_us = reading->request.step_us,
        .each = reading->request.each,
        .rate = reading->request.rate,
    };
    g_autoptr(GPtrArray) series = series_read(history, &query, error);
    if (series == NULL || !check_size(series, error))
        return NULL;
    if (series->len == 0) {
        g_set_error(error, HISTORY_ERROR, HISTORY_ERROR_MISSING, "nothing of this was kept of %s in this time",
                    reading->target);
        return NULL;
    }
    GString *text = g_string_new(NULL);
    reading->request.write(series, text);
    return answer_new(200, reading->request.content_type, g_string_free_to_bytes(text), reading->coding);
}

static Answer *
answer_of_error(const GError *error)
{
    gboolean missing = g_error_matches(error, HISTORY_ERROR, HISTORY_ERROR_MISSING);
    if (!missing && error->domain != SERIES_QUERY_ERROR)
        return errand_answer_error(error);
    return answer_new_failure(&(AnswerFailure){
        .status = missing ? 404 : 400,
        .code = missing ? "not_kept" : "invalid_parameter",
        .message = error->message,
        .hint = "docs/metrics.md lists what is kept, docs/api.md the parameters",
    });
}

static void
on_read(gpointer result, const GError *error, gpointer data)
{
    Waiting *waiting = data;
    if (waiting->exchange != NULL)
        exchange_answer(waiting->exchange, result != NULL ? answer_ref(result) : answer_of_error(error));
    g_rc_box_release(waiting);
}

static void
leave(gpointer data)
{
    Waiting *waiting = data;
    waiting->exchange = NULL;
    g_rc_box_release(waiting);
}

static void
read_later(Site *site, Exchange *exchange, const ServiceTarget *target, const SeriesRequest *request)
{
    Reading *reading = g_new0(Reading, 1);
    reading->target = g_strdup(service_target_series(target));
    reading->request = *request;
    reading->coding = exchange_accepts_gzip(exchange) ? ANSWER_GZIP : ANSWER_PLAIN;
    /* One for the exchange, one for the reading: either may end first. */
    Waiting *waiting = g_rc_box_new0(Waiting);
    waiting->exchange = exchange;
    exchange_set_data(exchange, g_rc_box_acquire(waiting), leave);
    ServiceRead read = {.func = read_series, .data = reading, .free_data = free_reading, .free_result = drop_answer};
    service_read_history(site->service, &read, on_read, waiting);
}

void
series_answer(Site *site, Exchange *exchange)
{
    const RouteRequest *route = exchange_request(exchange);
    char name[64];
    SeriesRequest request;
    g_autoptr(GError) error = NULL;
    ServiceTarget *target = routes_path_target(route->path, name, sizeof(name))
                                ? service_lookup(site->service, name, &error)
                                : service_default_target(site->service, &error);
    if (target == NULL || !series_request_parse(route->query, g_get_real_time(), &request, &error))
        exchange_answer(exchange, answer_of_error(error));
    else
        read_later(site, exchange, target, &request);
}
