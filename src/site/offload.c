/* SPDX-License-Identifier: Apache-2.0 */
#include "site/offload.h"

enum {
    REPORTS_AT_ONCE = 3, /* other answers need the same threads */
};

/* A thread owns it from offload() to on_done(). */
typedef struct {
    Site *site;
    Exchange *exchange; /* NULL: its client has disconnected; in the main context only */
    Peer *peer;
    AnswerCoding coding;
    Offload work;
} Running;

static gpointer
run(gpointer data, GError **error)
{
    const Running *running = data;
    RouteReply reply = {.descriptor = -1};
    running->work.answer(running->work.data, &reply);
    return answer_new_route(&reply, running->coding, NULL);
}

static void
drop_answer(gpointer answer)
{
    answer_unref(answer);
}

static void
on_left(Exchange *exchange, gpointer data)
{
    ((Running *)data)->exchange = NULL;
}

static void
on_done(gpointer result, const GError *error, gpointer data)
{
    Running *running = data;
    --*peer_count(running->peer, PEER_KEPT);
    running->site->reports -= running->work.is_report ? 1 : 0;
    if (running->exchange != NULL)
        exchange_answer(running->exchange, answer_ref(result));
    running->work.free_data(running->work.data);
    g_free(running);
}

/* NULL: there is room. */
static const char *
why_refused(const Site *site, Exchange *exchange, const Offload *work)
{
    if (*peer_count(exchange_peer(exchange), PEER_KEPT) >= SITE_KEPT_OF_PEER_MAX)
        return "two requests of this peer for files, states of rules or what the black box has kept are already being "
               "answered";
    gboolean crowded = site->reports >= REPORTS_AT_ONCE && !peer_is_ours(exchange_peer(exchange));
    return work->is_report && crowded ? "other reports of files are being made" : NULL;
}

/* The thread of a disconnected client continues: it counts until it is done. */
void
offload(Site *site, Exchange *exchange, const Offload *work)
{
    const char *refused = why_refused(site, exchange, work);
    if (refused != NULL) {
        Answer *answer = answer_new_failure(&(AnswerFailure){
            .status = 429, .code = "crowded", .message = refused, .hint = "wait as long as Retry-After says"});
        answer_add_header(answer, "Retry-After", "1");
        work->free_data(work->data);
        exchange_answer(exchange, answer);
        return;
    }
    Running *running = g_new(Running, 1);
    *running = (Running){.site = site,
                         .exchange = exchange,
                         .peer = exchange_peer(exchange),
                         .coding = exchange_accepts_gzip(exchange) ? ANSWER_GZIP : ANSWER_PLAIN,
                         .work = *work};
    ++*peer_count(running->peer, PEER_KEPT);
    site->reports += work->is_report ? 1 : 0;
    exchange_wait(exchange, EXCHANGE_WHILE_CONNECTED, on_left, running);
    const ServiceTask task = {.func = run, .data = running, .free_result = drop_answer};
    service_run_task(site->service, &task, on_done, running);
}
