/* SPDX-License-Identifier: Apache-2.0 */
/* The endpoints for Prometheus. */
#include "site/site.h"
#include "site/table.h"

#include "routes/query.h"
#include "site/metrics.h"

typedef struct Writing Writing;

/* A scrape in progress: owned by the service until it is done, except while it waits for its turn. */
typedef struct {
    Site *site;
    Exchange *exchange; /* NULL: it has ended */
    guint64 peer;       /* peer_id() */
    MetricsFormat format;
    gboolean whole;   /* with the server's own figures */
    Writing *writing; /* waits for its turn; NULL: not yet, or no longer */
    GList turn;
    gint64 begun_us; /* monotonic time at which its turn came */
} Scrape;

/* ---- writing, on a thread: a hundred targets are half a megabyte, to be compressed ---- */

struct Writing {
    Service *service;
    GPtrArray *scraped; /* of ServiceScraped, without errors */
    gint64 duration_us;
    MetricsOwn own;
    gboolean whole;
    MetricsFormat format;
    AnswerCoding coding;
};

static void
free_scraped(gpointer data)
{
    ServiceScraped *scraped = data;
    service_target_unref(scraped->target);
    g_clear_pointer(&scraped->sample, stats_sample_unref);
    g_free(scraped);
}

static GPtrArray *
copy_scraped(const GPtrArray *scraped)
{
    GPtrArray *copies = g_ptr_array_new_full(scraped->len, free_scraped);
    for (guint i = 0; i < scraped->len; i++) {
        ServiceScraped *copy = g_memdup2(scraped->pdata[i], sizeof(*copy));
        service_target_ref(copy->target);
        copy->error = NULL;
        if (copy->sample != NULL)
            stats_sample_ref(copy->sample);
        g_ptr_array_add(copies, copy);
    }
    return copies;
}

static void
free_writing(gpointer data)
{
    Writing *writing = data;
    g_ptr_array_unref(writing->scraped);
    g_array_unref(writing->own.pushes);
    g_clear_pointer(&writing->own.rules, g_array_unref);
    g_free(writing);
}

static gpointer
write_answer(gpointer data, GError **error)
{
    Writing *writing = data;
    writing->own.rules = writing->whole ? service_rule_counts(writing->service) : NULL;
    MetricsScrape scrape = {
        .scraped = writing->scraped, .duration_us = writing->duration_us, .own = writing->whole ? &writing->own : NULL};
    Answer *answer = answer_new(200, metrics_content_type(writing->format), metrics_write(&scrape, writing->format),
                                writing->coding);
    answer_add_header(answer, "Vary", "Accept");
    return answer;
}

static void
drop_answer(gpointer data)
{
    answer_unref(data);
}

/* ---- in the main context ---- */

static void
on_left(Exchange *exchange, gpointer data)
{
    Scrape *scrape = data;
    scrape->exchange = NULL;
    if (scrape->writing == NULL)
        return;
    turns_withdraw(&scrape->site->scrapes, scrape->peer, &scrape->turn);
    free_writing(scrape->writing);
    g_free(scrape);
}

static void begin_next(Site *site);

static void
on_written(gpointer result, const GError *error, gpointer data)
{
    Scrape *scrape = data;
    Site *site = scrape->site;
    const gint64 now_us = g_get_monotonic_time();
    turns_done(&site->scrapes, scrape->peer, now_us - scrape->begun_us, now_us);
    if (scrape->exchange != NULL)
        exchange_answer(scrape->exchange, answer_ref(result));
    g_free(scrape);
    begin_next(site);
}

/* Peers take turns: the same threads take samples into the history, look for processes and answer others. */
static void
begin_next(Site *site)
{
    GList *turn;
    while ((turn = turns_next(&site->scrapes, g_get_monotonic_time())) != NULL) {
        Scrape *scrape = turn->data;
        scrape->begun_us = g_get_monotonic_time();
        const ServiceTask task = {.func = write_answer,
                                  .data = g_steal_pointer(&scrape->writing),
                                  .free_data = free_writing,
                                  .free_result = drop_answer};
        service_run_task(site->service, &task, on_written, scrape);
    }
}

static void
on_scraped(const GPtrArray *scraped, gint64 duration_us, gpointer data)
{
    Scrape *scrape = data;
    if (scrape->exchange == NULL) {
        g_free(scrape);
        return;
    }
    Writing *writing = g_new0(Writing, 1);
    writing->service = scrape->site->service;
    writing->scraped = copy_scraped(scraped);
    writing->duration_us = duration_us;
    writing->whole = scrape->whole;
    writing->format = scrape->format;
    writing->coding = exchange_accepts_gzip(scrape->exchange) ? ANSWER_GZIP : ANSWER_PLAIN;
    service_figures(scrape->site->service, &writing->own.service);
    server_figures(scrape->site->server, &writing->own.server);
    writing->own.pushes = service_push_figures(scrape->site->service);
    scrape->writing = writing;
    turns_enter(&scrape->site->scrapes, scrape->peer, &scrape->turn, g_get_monotonic_time());
    begin_next(scrape->site);
}

static void
scrape_answer(Site *site, Exchange *exchange)
{
    QueryValue value;
    ServiceTarget *only = NULL;
    g_autoptr(GError) error = NULL;
    if (query_find(exchange_request(exchange)->query, "target", &value) != QUERY_ABSENT) {
        only = service_lookup(site->service, exchange_viewer(exchange), value.text, &error);
        if (only == NULL) {
            exchange_fail(exchange, &(AnswerFailure){.status = 404,
                                                     .code = "unknown_target",
                                                     .message = error->message,
                                                     .hint = "see GET /api/v1/targets"});
            return;
        }
    }
    Scrape *scrape = g_new0(Scrape, 1);
    scrape->site = site;
    scrape->exchange = exchange;
    scrape->peer = peer_id(exchange_peer(exchange));
    scrape->turn.data = scrape;
    scrape->format = metrics_format(exchange_header(exchange, "Accept"));
    scrape->whole = only == NULL && exchange_viewer(exchange) == VIEWER_ALL;
    exchange_wait(exchange, EXCHANGE_WHILE_CONNECTED, on_left, scrape);
    ServiceScrapeOf of = {.viewer = exchange_viewer(exchange), .only = only};
    service_scrape(site->service, &of, on_scraped, scrape);
}

static const RouteParameter parameters[] = {
    {"target", "id", "only this target, without jescope's own metrics"},
    {0},
};

static const Route rows[] = {
    {ROUTE_DIALECT_NATIVE, "GET|HEAD", "/metrics", "metrics of all targets and of jescope itself, for Prometheus",
     .parameters = parameters, .serve = scrape_answer},
};

const RouteTable scrape_routes = {rows, G_N_ELEMENTS(rows)};
