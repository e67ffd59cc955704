/* SPDX-License-Identifier: Apache-2.0 */
#include "site/pending.h"

#include "confine/keyed-hash.h"
#include "confine/thread-time.h"

struct Pending {
    PendingTable *table;
    char *key; /* in PendingTable.by_key; NULL: it cannot be found */
    Resolved *resolved;
    GQueue waiting;              /* of Exchange: for the next query of the target */
    GQueue asking;               /* of Exchange: their request to the target is in progress */
    ServiceTicket *ticket;       /* NULL: the target is not being queried */
    const ServiceTarget *target; /* of the ticket */
    guint start;                 /* source id; 0: no query is scheduled */
    char *about;                 /* of a change, for the audit */
};

struct PendingTable {
    const Site *site;
    GHashTable *by_key; /* of Pending */
    GHashTable *all;    /* the set of all */
    GString *key;       /* of the request */
};

static void
free_pending(gpointer data)
{
    Pending *pending = data;
    if (pending->ticket != NULL)
        service_ticket_cancel(pending->ticket);
    g_clear_handle_id(&pending->start, g_source_remove);
    g_queue_clear(&pending->waiting);
    g_queue_clear(&pending->asking);
    resolved_unref(pending->resolved);
    g_free(pending->about);
    g_free(pending->key);
    g_free(pending);
}

static gboolean
is_change(const Pending *pending)
{
    return pending->resolved->match.role == ROUTE_ROLE_CONTROL;
}

/* Whether PENDING counts as PEER_WAITING, once for each peer with an exchange. */
static gboolean
is_counted(const Pending *pending)
{
    return (pending->resolved->match.flags & (ROUTE_WATCHING | ROUTE_WAITING)) != 0;
}

static gboolean
is_idle(const Pending *pending)
{
    return pending->ticket == NULL && pending->start == 0 && pending->waiting.length == 0;
}

static gboolean
is_watch(const Pending *pending)
{
    return (pending->resolved->match.flags & ROUTE_WATCHING) != 0;
}

/* A request without exchanges is kept as long as there is room, unless each is to be counted. */
static void
drop_if_idle(Pending *pending)
{
    PendingTable *table = pending->table;
    if (!is_idle(pending) ||
        (pending->key != NULL && !is_watch(pending) && g_hash_table_size(table->by_key) <= PENDING_KEPT))
        return;
    if (pending->key != NULL)
        g_hash_table_remove(table->by_key, pending->key);
    g_hash_table_remove(table->all, pending);
}

/* ---- asking ---- */

static void plan(Pending *pending);

static gboolean
has_peer(const GQueue *exchanges, const Peer *peer)
{
    for (const GList *link = exchanges->head; link != NULL; link = link->next)
        if (exchange_peer(link->data) == peer)
            return TRUE;
    return FALSE;
}

gboolean
pending_counts_for(const Pending *pending, const Peer *peer)
{
    return is_counted(pending) && (has_peer(&pending->waiting, peer) || has_peer(&pending->asking, peer));
}

static guint
count_of_peer(const GQueue *exchanges, const Peer *peer)
{
    guint n = 0;
    for (const GList *link = exchanges->head; link != NULL; link = link->next)
        n += exchange_peer(link->data) == peer;
    return n;
}

gboolean
pending_is_full_for(const Pending *pending, const Peer *peer)
{
    return is_counted(pending) &&
           count_of_peer(&pending->waiting, peer) + count_of_peer(&pending->asking, peer) >= PENDING_JOINED_MAX;
}

/* Before EXCHANGE is added, or after it was removed. */
static void
count(const Pending *pending, const Exchange *exchange, int change)
{
    Peer *peer = exchange_peer(exchange);
    if (is_counted(pending) && !pending_counts_for(pending, peer))
        *peer_count(peer, PEER_WAITING) += (guint)change;
}

static void
answer_all(Pending *pending, Answer *answer)
{
    Exchange *exchange;
    while ((exchange = g_queue_pop_head(&pending->asking)) != NULL) {
        count(pending, exchange, -1);
        exchange_answer(exchange, answer_ref(answer));
    }
}

static void
finish(Pending *pending, Answer *answer)
{
    pending->ticket = NULL;
    if (pending->about != NULL)
        audit_change(pending->table->site->audit, pending->about, answer);
    answer_all(pending, answer);
    plan(pending);
    drop_if_idle(pending);
}

static void
on_done(gpointer result, const GError *error, gpointer data)
{
    g_autoptr(Answer) answer = result != NULL ? answer_ref(result) : resolved_answer_error(error);
    finish(data, answer);
}

/* The number of queries of TARGET, or if it is NULL, of any, waiting or in progress, that PEER has asked for. */
static guint
count_queries(const PendingTable *table, const ServiceTarget *target, const Peer *peer)
{
    GHashTableIter iterator;
    gpointer key;
    guint n = 0;
    g_hash_table_iter_init(&iterator, table->all);
    while (g_hash_table_iter_next(&iterator, &key, NULL)) {
        const Pending *pending = key;
        n += pending->ticket != NULL && (target == NULL || pending->target == target) &&
             has_peer(&pending->asking, peer);
    }
    return n;
}

/* The peer for which TARGET is queried: of those that ask, the one that has asked for least. NULL with ERROR if all
 * have their share: what waits for a target is bounded, and one peer must not take all of it. */
static const Peer *
find_payer(const Pending *pending, const ServiceTarget *target, GError **error)
{
    const Peer *payer = NULL, *last = NULL;
    guint least = G_MAXUINT;
    for (const GList *link = pending->asking.head; link != NULL && least > 0; link = link->next) {
        const Peer *peer = exchange_peer(link->data);
        if (peer == last)
            continue;
        last = peer;
        const guint n = count_queries(pending->table, NULL, peer);
        if (n >= least || count_queries(pending->table, target, peer) >= PENDING_OF_PEER_MAX)
            continue;
        payer = peer;
        least = n;
    }
    if (payer == NULL)
        g_set_error(error, TARGET_ERROR, OUTCOME_CROWDED, "%d requests of this peer are already waiting for %s",
                    PENDING_OF_PEER_MAX, service_target_label(target));
    return payer;
}

static void
ask(Pending *pending)
{
    Exchange *exchange;
    const char *who = NULL;
    g_autoptr(GError) error = NULL;
    while ((exchange = g_queue_pop_head(&pending->waiting)) != NULL)
        g_queue_push_tail(&pending->asking, exchange);
    ServiceTarget *target = resolved_target(pending->resolved, pending->table->site->service, &error);
    if (is_change(pending)) {
        exchange = g_queue_peek_head(&pending->asking);
        who = exchange_who(exchange);
        pending->about = audit_describe(exchange, target != NULL ? service_target_label(target) : NULL);
    }
    const Peer *payer = target != NULL ? find_payer(pending, target, &error) : NULL;
    if (payer != NULL) {
        ServiceWork work = resolved_work(pending->resolved, who);
        work.peer = peer_id_for_share(payer);
        pending->ticket = service_target_submit(target, &work, on_done, pending, &error);
        pending->target = target;
    }
    if (pending->ticket == NULL)
        on_done(NULL, error, pending);
}

/* Answers those whose peers have used up their allowance: many requests can be admitted before the first of them is
 * charged. */
static void
refuse_those_over(Pending *pending)
{
    for (GList *link = pending->waiting.head, *after; link != NULL; link = after) {
        Exchange *exchange = link->data;
        Answer *refusal = exchange_check_allowance(exchange);
        after = link->next;
        if (refusal == NULL)
            continue;
        g_queue_delete_link(&pending->waiting, link);
        count(pending, exchange, -1);
        exchange_answer(exchange, refusal);
    }
}

/* At the expense of the first that waits: to find a target, all processes of its user may have to be looked at. */
static gboolean
on_start(gpointer data)
{
    Pending *pending = data;
    pending->start = 0;
    refuse_those_over(pending);
    const Exchange *payer = g_queue_peek_head(&pending->waiting);
    const gint64 begun_us = thread_time_us();
    if (payer == NULL) {
        drop_if_idle(pending);
        return G_SOURCE_REMOVE;
    }
    ask(pending);
    exchange_charge(payer, begun_us);
    return G_SOURCE_REMOVE;
}

/* After the server has read what other clients have sent meanwhile: these are dispatched in the same iteration. */
static void
plan(Pending *pending)
{
    if (pending->waiting.length > 0 && pending->ticket == NULL && pending->start == 0)
        pending->start = g_idle_add_full(G_PRIORITY_DEFAULT, on_start, pending, NULL);
}

static void
on_left(Exchange *exchange, gpointer data)
{
    Pending *pending = data;
    if (!g_queue_remove(&pending->waiting, exchange))
        g_queue_remove(&pending->asking, exchange);
    count(pending, exchange, -1);
    if (is_change(pending) || pending->ticket == NULL || pending->asking.length > 0)
        return;
    service_ticket_cancel(pending->ticket);
    pending->ticket = NULL;
    plan(pending);
    drop_if_idle(pending);
}

/* ---- exchanges ---- */

/* Returned in PendingTable.key. A query contains no blank, so the key is unambiguous. */
static const char *
make_key(PendingTable *table, const Exchange *exchange)
{
    const RouteRequest *request = exchange_request(exchange);
    g_string_printf(table->key, "%" G_GINT64_FORMAT " %s%s %s %s", exchange_viewer(exchange),
                    exchange_accepts_gzip(exchange) ? "gzip " : "", request->method, request->query, request->path);
    return table->key->str;
}

static gboolean
may_share(const Exchange *exchange)
{
    return exchange_request(exchange)->body_size == 0;
}

Pending *
pending_find(PendingTable *table, const Exchange *exchange)
{
    if (!may_share(exchange))
        return NULL;
    return g_hash_table_lookup(table->by_key, make_key(table, exchange));
}

Resolved *
pending_resolved(const Pending *pending)
{
    return pending->resolved;
}

/* An earlier query's result may be older than this request, except for a watch, which ends after it. */
static gboolean
may_use_request_in_progress(const Pending *pending)
{
    return pending->ticket != NULL && is_watch(pending);
}

void
pending_join(Pending *pending, Exchange *exchange)
{
    count(pending, exchange, 1);
    g_queue_push_tail(may_use_request_in_progress(pending) ? &pending->asking : &pending->waiting, exchange);
    exchange_wait(exchange, EXCHANGE_WHILE_CONNECTED, on_left, pending);
    plan(pending);
}

static Pending *
add_pending(PendingTable *table, Resolved *resolved)
{
    Pending *pending = g_new0(Pending, 1);
    pending->table = table;
    pending->resolved = resolved_ref(resolved);
    g_hash_table_add(table->all, pending);
    return pending;
}

void
pending_read(PendingTable *table, Exchange *exchange, Resolved *resolved)
{
    Pending *pending = add_pending(table, resolved);
    if (may_share(exchange)) {
        pending->key = g_strdup(make_key(table, exchange));
        g_hash_table_insert(table->by_key, pending->key, pending);
    }
    pending_join(pending, exchange);
}

void
pending_change(PendingTable *table, Exchange *exchange, Resolved *resolved)
{
    Pending *pending = add_pending(table, resolved);
    count(pending, exchange, 1);
    g_queue_push_tail(&pending->waiting, exchange);
    exchange_wait(exchange, EXCHANGE_TO_THE_END, on_left, pending);
    ask(pending);
}

/* ---- the table ---- */

PendingTable *
pending_table_new(const Site *site)
{
    PendingTable *table = g_new0(PendingTable, 1);
    table->site = site;
    table->by_key = g_hash_table_new(keyed_hash_string, g_str_equal);
    table->all = g_hash_table_new_full(NULL, NULL, free_pending, NULL);
    table->key = g_string_new(NULL);
    return table;
}

void
pending_table_free(PendingTable *table)
{
    g_hash_table_unref(table->by_key);
    g_hash_table_unref(table->all);
    g_string_free(table->key, TRUE);
    g_free(table);
}

void
pending_table_forget(PendingTable *table)
{
    GHashTableIter iterator;
    gpointer key;
    g_hash_table_remove_all(table->by_key);
    g_hash_table_iter_init(&iterator, table->all);
    while (g_hash_table_iter_next(&iterator, &key, NULL)) {
        Pending *pending = key;
        g_clear_pointer(&pending->key, g_free);
        if (is_idle(pending))
            g_hash_table_iter_remove(&iterator);
    }
}
