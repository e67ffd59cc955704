/* SPDX-License-Identifier: Apache-2.0 */
/* Dispatches requests to their answers. */
#include "site/site.h"

#include "site/pending.h"
#include "site/root.h"

#include <string.h>

/* libmtev's clients parse the reason phrase of the status. */
static Answer *
in_words_of(const Resolved *resolved, Answer *refusal)
{
    if (resolved->match.state != ROUTE_MATCHED || resolved->match.route->dialect != ROUTE_DIALECT_LIBMTEV)
        return refusal;
    RouteReply reply = {.status = 403, .reason = "DENIED", .content_type = "text/html", .descriptor = -1};
    answer_unref(refusal);
    return answer_new_route(&reply, ANSWER_PLAIN, NULL);
}

static void
refuse(const Site *site, Exchange *exchange, Answer *refusal)
{
    audit_refusal(site->audit, exchange, refusal);
    exchange_answer(exchange, refusal);
}

static Answer *
refuse_for_now(const char *message, const char *hint, const char *seconds)
{
    Answer *answer =
        answer_new_failure(&(AnswerFailure){.status = 429, .code = "crowded", .message = message, .hint = hint});
    answer_add_header(answer, "Retry-After", seconds);
    return answer;
}

static void
make_change(Site *site, Exchange *exchange, Resolved *resolved)
{
    gboolean waits = (resolved->match.flags & ROUTE_WAITING) != 0;
    if (waits && *peer_count(exchange_peer(exchange), PEER_WAITING) >= SITE_WAITING_OF_PEER_MAX)
        refuse(site, exchange,
               refuse_for_now("two requests of this peer with seconds= are already running",
                              "wait for one of them, or start a recording instead", "5"));
    else
        pending_change(site->pending, exchange, resolved);
}

/* A watch occupies a thread, and a process, for a time that its client chooses. One that other peers have begun counts
 * as well, since they may leave it to this one. SAME: the pending request that is equal, or NULL. */
static void
read_target(Site *site, Exchange *exchange, Resolved *resolved, Pending *same)
{
    Peer *peer = exchange_peer(exchange);
    gboolean watches =
        (resolved->match.flags & ROUTE_WATCHING) != 0 && (same == NULL || !pending_counts_for(same, peer));
    if (watches && *peer_count(peer, PEER_WAITING) >= SITE_WAITING_OF_PEER_MAX)
        refuse(site, exchange,
               refuse_for_now("this peer is having two targets watched already", "wait for one of them", "5"));
    else if (same != NULL && pending_is_full_for(same, peer))
        refuse(site, exchange,
               refuse_for_now("16 requests of this peer wait for this watch already", "wait for one of them", "5"));
    else if (same != NULL)
        pending_join(same, exchange);
    else
        pending_read(site->pending, exchange, resolved);
}

/* ---- the handler ---- */

/* Whether EXCHANGE needs no token. The document at "/" is also the list of targets for clients other than browsers. */
static gboolean
is_open(const Site *site, const Exchange *exchange, const RouteMatch *match)
{
    if (match->state != ROUTE_MATCHED || (match->flags & ROUTE_OPEN) == 0 ||
        exchange_header(exchange, "Authorization") != NULL)
        return FALSE;
    return strcmp(match->route->pattern, "/") != 0 || (site->page != NULL && root_is_for_browser(exchange));
}

static gboolean
is_file(const Exchange *exchange, gpointer data)
{
    const RouteRequest *request = exchange_request(exchange);
    return strcmp(request->method, "POST") == 0 && strcmp(request->path, "/api/v1/files") == 0;
}

/* A file from a page of another site is rejected before it is received. */
static Answer *
admit_known(const Site *site, const Exchange *exchange)
{
    Answer *refusal = is_file(exchange, NULL) ? guard_check_origin(exchange) : NULL;
    if (refusal != NULL)
        audit_refusal(site->audit, exchange, refusal);
    return refusal;
}

static Answer *
admit(Exchange *exchange, gpointer data)
{
    const Site *site = data;
    Answer *worker = guard_replace_worker(exchange);
    if (worker != NULL)
        return worker;
    Answer *refusal = guard_admit(&site->rules, exchange);
    if (refusal == NULL)
        return admit_known(site, exchange);
    g_autoptr(Resolved) resolved = resolved_of(site, exchange);
    if (answer_status(refusal) == 401 && is_open(site, exchange, &resolved->match)) {
        answer_unref(refusal);
        refusal = guard_admit_stranger(&site->rules, exchange);
        if (refusal == NULL)
            return NULL;
    }
    if (answer_status(refusal) == 401)
        refusal = in_words_of(resolved, refusal);
    audit_refusal(site->audit, exchange, refusal);
    return refusal;
}

static void
serve(Site *site, Exchange *exchange, const Resolved *resolved)
{
    /* Pages, which may be linked to from anywhere, accept any parameter. */
    Answer *refusal = resolved->match.route->summary != NULL ? resolved_check(resolved) : NULL;
    if (refusal != NULL)
        exchange_answer(exchange, refusal);
    else
        resolved->match.route->serve(site, exchange);
}

static void
handle(Exchange *exchange, gpointer data)
{
    Site *site = data;
    Pending *same = pending_find(site->pending, exchange);
    g_autoptr(Resolved) resolved = same != NULL ? resolved_ref(pending_resolved(same)) : resolved_of(site, exchange);
    const RouteMatch *match = &resolved->match;
    const gboolean is_open = match->state == ROUTE_MATCHED && (match->flags & ROUTE_OPEN) != 0;
    Answer *refusal = guard_allow(exchange, match->role, is_open);
    if (refusal != NULL)
        refuse(site, exchange, in_words_of(resolved, refusal));
    else if (match->state != ROUTE_MATCHED)
        exchange_answer(exchange, resolved_answer_unknown(resolved));
    else if (match->role == ROUTE_ROLE_CONTROL && !audit_takes_change(site->audit, exchange))
        /* Each is a line of the audit log, which must not displace others'. */
        refuse(
            site, exchange,
            refuse_for_now("this peer makes more than 50 changes per second", "wait as long as Retry-After says", "1"));
    else if (match->route->serve != NULL)
        serve(site, exchange, resolved);
    else if (match->role == ROUTE_ROLE_CONTROL)
        make_change(site, exchange, resolved);
    else
        read_target(site, exchange, resolved, same);
}

ServerHandler
site_handler(Site *site)
{
    return (ServerHandler){.is_file = is_file, .admit = admit, .handle = handle, .data = site};
}
