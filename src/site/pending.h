/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests about a target that wait for their answer.
 *
 * Those that change nothing are coalesced: the same ones that come while the target is being asked wait, and are all
 * answered by asking once more. No client gets an answer that was found before it asked. When all their clients have
 * gone, the target is not asked. A change is made once for each request, to its end even if its client has gone, and
 * audited. For the server's thread.
 */
#ifndef JESCOPE_SITE_PENDING_H
#define JESCOPE_SITE_PENDING_H

#include "site/resolved.h"

enum {
    PENDING_KEPT = 256, /* resolved requests that may be repeated soon */
};

/* A request, with the exchanges that wait for its answer. */
typedef struct Pending Pending;

/* SITE has its service and audit. */
PendingTable *pending_table_new(const Site *site);
void pending_table_free(PendingTable *table);

/* Forgets how requests were resolved, since the site's settings have changed; those under way are not affected. */
void pending_table_forget(PendingTable *table);

/* The request that EXCHANGE makes, if the same was made before and changes nothing; else NULL. Valid until the next
 * call. */
Pending *pending_find(PendingTable *table, const Exchange *exchange);

/* The subject. */
Resolved *pending_resolved(const Pending *pending);

/* EXCHANGE will be answered. */
void pending_join(Pending *pending, Exchange *exchange);

/* Answers EXCHANGE, whose request RESOLVED is about a target and changes nothing, and coalesces equal requests. It is
 * counted in COUNT as below. */
void pending_read(PendingTable *table, Exchange *exchange, Resolved *resolved, guint *count);

/* Answers EXCHANGE, whose request RESOLVED is a change. It is counted in COUNT, one of peer_count(), in the meantime;
 * NULL: not counted. */
void pending_change(PendingTable *table, Exchange *exchange, Resolved *resolved, guint *count);

#endif
