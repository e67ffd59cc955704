/* SPDX-License-Identifier: Apache-2.0 */
#include "http/scrape.h"

#include "http/metrics.h"
#include "routes/query.h"

/* A scrape under way. The exchange and the service hold one reference each. */
typedef struct {
    Site *site;
    Exchange *exchange; /* NULL: ended before the scrape did */
    MetricsFormat format;
    gboolean whole; /* with our own figures */
} Pending;

static void
forget_exchange(gpointer data)
{
    Pending *pending = data;
    pending->exchange = NULL;
    g_rc_box_release(pending);
}

static void
send_scrape(const GPtrArray *scraped, gint64 duration_us, gpointer data)
{
    Pending *pending = data;
    MetricsOwn own = {0};
    MetricsScrape scrape = {.scraped = scraped, .duration_us = duration_us, .own = pending->whole ? &own : NULL};
    if (pending->exchange != NULL) {
        service_figures(pending->site->service, &own.service);
        server_figures(pending->site->server, &own.server);
        Answer *answer = answer_new(200, metrics_content_type(pending->format), metrics_write(&scrape, pending->format),
                                    exchange_accepts_gzip(pending->exchange) ? ANSWER_GZIP : ANSWER_PLAIN);
        answer_add_header(answer, "Vary", "Accept, Accept-Encoding");
        exchange_answer(pending->exchange, answer);
    }
    g_rc_box_release(pending);
}

void
scrape_answer(Site *site, Exchange *exchange)
{
    QueryValue value;
    ServiceTarget *only = NULL;
    g_autoptr(GError) error = NULL;
    if (query_find(exchange_request(exchange)->query, "target", &value) != QUERY_ABSENT) {
        only = service_lookup(site->service, value.text, &error);
        if (only == NULL) {
            exchange_fail(exchange, &(AnswerFailure){.status = 404,
                                                     .code = "unknown_target",
                                                     .message = error->message,
                                                     .hint = "GET /api/v1/targets lists those there are"});
            return;
        }
    }
    Pending *pending = g_rc_box_new0(Pending);
    pending->site = site;
    pending->exchange = exchange;
    pending->format = metrics_format(exchange_header(exchange, "Accept"));
    pending->whole = only == NULL;
    exchange_set_data(exchange, g_rc_box_acquire(pending), forget_exchange);
    service_scrape(site->service, only, send_scrape, pending);
}
