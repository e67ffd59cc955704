/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests about a target that wait for their answer.
 *
 * Requests that change nothing are coalesced: equal ones that arrive while the target is being queried wait, and are
 * all answered by one further query. So no response predates its request. When all their clients have disconnected, the
 * target is not queried. A change is executed once for each request, to its end even if its client has disconnected,
 * and audited. For the server's thread.
 */
#ifndef JESCOPE_SITE_PENDING_H
#define JESCOPE_SITE_PENDING_H

#include "site/resolved.h"

enum {
    PENDING_KEPT = 256,       /* resolved requests, which may be repeated soon */
    PENDING_JOINED_MAX = 16,  /* exchanges of one peer that wait for the same request with a duration of its own */
    PENDING_OF_PEER_MAX = 16, /* different requests of one peer that wait for one target, a quarter of all */
};

/* A request, with the exchanges that wait for its answer. */
typedef struct Pending Pending;

/* SITE must have its service and audit. */
PendingTable *pending_table_new(const Site *site);
void pending_table_free(PendingTable *table);

/* Discards the resolved requests, since the site's settings have changed; those in progress are not affected. */
void pending_table_forget(PendingTable *table);

/* The pending request equal to EXCHANGE's, if that changes nothing; else NULL. Valid until the next call. */
Pending *pending_find(PendingTable *table, const Exchange *exchange);

/* The resolved request. */
Resolved *pending_resolved(const Pending *pending);

/* Whether PENDING specifies its own duration and one of its exchanges is PEER's, for whom it then counts once as
 * PEER_WAITING. */
gboolean pending_counts_for(const Pending *pending, const Peer *peer);

/* Whether PENDING specifies its own duration, for which each of its exchanges keeps a connection, and has as many of
 * PEER's as it may. */
gboolean pending_is_full_for(const Pending *pending, const Peer *peer);

/* Adds EXCHANGE to those that will be answered. */
void pending_join(Pending *pending, Exchange *exchange);

/* Answers EXCHANGE, whose request RESOLVED is about a target and changes nothing, and coalesces equal requests. */
void pending_read(PendingTable *table, Exchange *exchange, Resolved *resolved);

/* Answers EXCHANGE, whose request RESOLVED is a change. */
void pending_change(PendingTable *table, Exchange *exchange, Resolved *resolved);

#endif
