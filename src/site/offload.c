/* SPDX-License-Identifier: Apache-2.0 */
#include "site/offload.h"

enum {
    WAIT_SECONDS = 30,
};

static const char kept_enough[] =
    "two requests of this peer for files, states of rules or what the black box has kept are already being answered";

/* The threads of a kind of work, of which some are for the first request of a peer alone. */
static const struct {
    PeerCount count;
    guint of_peer; /* requests that are being answered or wait */
    guint threads, firsts;
    const char *enough, *crowded;
} kinds[OFFLOAD_KINDS] = {
    [OFFLOAD_READ] = {.count = PEER_KEPT,
                      .of_peer = SITE_KEPT_OF_PEER_MAX,
                      .threads = 8,
                      .firsts = 5,
                      .enough = kept_enough,
                      .crowded = "files, states of rules and what the black box has kept are being read for others"},
    [OFFLOAD_REPORT] = {.count = PEER_KEPT,
                        .of_peer = SITE_KEPT_OF_PEER_MAX,
                        .threads = 8,
                        .firsts = 5,
                        .enough = kept_enough,
                        .crowded = "reports of files are being made for others"},
    [OFFLOAD_FLEET] = {.count = PEER_FLEET,
                       .of_peer = 1,
                       .threads = 6,
                       .enough = "another question of this peer to the store is being answered",
                       .crowded = "questions of others to the store are being answered"},
};

/* A thread owns it from begin() to on_done(). */
typedef struct {
    Site *site;
    Exchange *exchange; /* NULL: its client has disconnected; in the main context only */
    gint left;          /* the same, for the thread; atomic */
    Peer *peer;
    AnswerCoding coding;
    Offload work;
    GList link;    /* in Site.offloads, while it waits */
    guint timeout; /* source id; 0: it does not wait */
    gint64 began_us;
    gboolean takes_turn;
} Running;

static gpointer
run(gpointer data, GError **error)
{
    Running *running = data;
    RouteReply reply = {.descriptor = -1};
    running->work.answer(running->work.data, &running->left, &reply);
    return answer_new_route(&reply, running->coding, NULL);
}

bool
offload_is_wanted(void *left)
{
    return g_atomic_int_get((gint *)left) == 0;
}

static void
drop_answer(gpointer answer)
{
    answer_unref(answer);
}

static void
running_free(Running *running)
{
    --*peer_count(running->peer, kinds[running->work.kind].count);
    running->work.free_data(running->work.data);
    g_free(running);
}

static void begin_next(Site *site, OffloadKind kind);

static void
on_done(gpointer result, const GError *error, gpointer data)
{
    Running *running = data;
    Site *site = running->site;
    const OffloadKind kind = running->work.kind;
    const gint64 now_us = g_get_monotonic_time();
    const gboolean took_turn = running->takes_turn;
    if (took_turn)
        turns_done(&site->offloads[kind], peer_id(running->peer), now_us - running->began_us, now_us);
    if (running->exchange != NULL)
        exchange_answer(running->exchange, answer_ref(result));
    running_free(running);
    if (took_turn)
        begin_next(site, kind);
}

static void
begin(Running *running)
{
    const ServiceTask task = {.func = run, .data = running, .free_result = drop_answer};
    g_clear_handle_id(&running->timeout, g_source_remove);
    running->began_us = g_get_monotonic_time();
    service_run_task(running->site->service, &task, on_done, running);
}

static void
begin_next(Site *site, OffloadKind kind)
{
    GList *next;
    while ((next = turns_next(&site->offloads[kind], g_get_monotonic_time())) != NULL)
        begin(next->data);
}

static void
withdraw(Running *running)
{
    g_clear_handle_id(&running->timeout, g_source_remove);
    turns_withdraw(&running->site->offloads[running->work.kind], peer_id(running->peer), &running->link);
    running_free(running);
}

static Answer *
refuse(const char *message, const char *retry_after)
{
    Answer *answer = answer_new_failure(&(AnswerFailure){
        .status = 429, .code = "crowded", .message = message, .hint = "wait as long as Retry-After says"});
    answer_add_header(answer, "Retry-After", retry_after);
    return answer;
}

static gboolean
on_timeout(gpointer data)
{
    Running *running = data;
    Exchange *exchange = running->exchange;
    const char *message = kinds[running->work.kind].crowded;
    running->timeout = 0;
    running->exchange = NULL;
    withdraw(running);
    exchange_answer(exchange, refuse(message, "5"));
    return G_SOURCE_REMOVE;
}

/* The thread of a disconnected client continues: it counts until it is done. */
static void
on_left(Exchange *exchange, gpointer data)
{
    Running *running = data;
    running->exchange = NULL;
    g_atomic_int_set(&running->left, 1);
    if (running->timeout != 0)
        withdraw(running);
}

void
offload(Site *site, Exchange *exchange, const Offload *work)
{
    Peer *peer = exchange_peer(exchange);
    guint *count = peer_count(peer, kinds[work->kind].count);
    if (*count >= kinds[work->kind].of_peer) {
        work->free_data(work->data);
        exchange_answer(exchange, refuse(kinds[work->kind].enough, "1"));
        return;
    }
    Running *running = g_new0(Running, 1);
    running->site = site;
    running->exchange = exchange;
    running->peer = peer;
    running->coding = exchange_accepts_gzip(exchange) ? ANSWER_GZIP : ANSWER_PLAIN;
    running->work = *work;
    running->takes_turn = !peer_is_ours(peer);
    ++*count;
    exchange_wait(exchange, EXCHANGE_WHILE_CONNECTED, on_left, running);
    if (!running->takes_turn) {
        begin(running);
        return;
    }
    running->link.data = running;
    running->timeout = g_timeout_add_seconds(WAIT_SECONDS, on_timeout, running);
    turns_enter(&site->offloads[work->kind], peer_id(peer), &running->link, g_get_monotonic_time());
    begin_next(site, work->kind);
}

void
offload_begin(Site *site)
{
    for (OffloadKind kind = 0; kind < OFFLOAD_KINDS; kind++) {
        turns_init(&site->offloads[kind], kinds[kind].threads, kinds[kind].of_peer);
        site->offloads[kind].firsts = kinds[kind].firsts;
    }
}

void
offload_end(Site *site)
{
    for (OffloadKind kind = 0; kind < OFFLOAD_KINDS; kind++)
        turns_clear(&site->offloads[kind]);
}
