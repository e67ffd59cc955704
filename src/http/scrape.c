/* SPDX-License-Identifier: Apache-2.0 */
#include "http/scrape.h"

#include "http/metrics.h"
#include "routes/query.h"

#include <gio/gio.h>

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

/* ---- writing, on a thread: a hundred targets are half a megabyte, to be compressed ---- */

typedef struct {
    GPtrArray *scraped; /* of ServiceScraped, without errors */
    gint64 duration_us;
    MetricsOwn own;
    gboolean whole;
    MetricsFormat format;
    AnswerCoding coding;
} Writing;

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
        ServiceScraped *copy = g_memdup2(scraped->pdata[i], sizeof *copy);
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
    g_free(writing);
}

static void
write_answer(GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
    const Writing *writing = data;
    MetricsScrape scrape = {
        .scraped = writing->scraped, .duration_us = writing->duration_us, .own = writing->whole ? &writing->own : NULL};
    Answer *answer = answer_new(200, metrics_content_type(writing->format), metrics_write(&scrape, writing->format),
                                writing->coding);
    answer_add_header(answer, "Vary", "Accept");
    g_task_return_pointer(task, answer, (GDestroyNotify)answer_unref);
}

static void
on_written(GObject *source, GAsyncResult *result, gpointer data)
{
    Pending *pending = data;
    g_autoptr(Answer) answer = g_task_propagate_pointer(G_TASK(result), NULL);
    if (pending->exchange != NULL)
        exchange_answer(pending->exchange, g_steal_pointer(&answer));
    g_rc_box_release(pending);
}

/* ---- in the main context ---- */

static void
on_scraped(const GPtrArray *scraped, gint64 duration_us, gpointer data)
{
    Pending *pending = data;
    if (pending->exchange == NULL) {
        g_rc_box_release(pending);
        return;
    }
    Writing *writing = g_new0(Writing, 1);
    writing->scraped = copy_scraped(scraped);
    writing->duration_us = duration_us;
    writing->whole = pending->whole;
    writing->format = pending->format;
    writing->coding = exchange_accepts_gzip(pending->exchange) ? ANSWER_GZIP : ANSWER_PLAIN;
    service_figures(pending->site->service, &writing->own.service);
    server_figures(pending->site->server, &writing->own.server);
    g_autoptr(GTask) task = g_task_new(NULL, NULL, on_written, pending);
    g_task_set_task_data(task, writing, free_writing);
    g_task_run_in_thread(task, write_answer);
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
    service_scrape(site->service, only, on_scraped, pending);
}
