/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The audit log: one line for each change and for each request that was refused for lack of permission. Lines about
 * refusals of a peer are rate-limited: further ones are counted, and the count is logged. Changes are always logged, so
 * a peer that makes too many must be refused. For one thread, with a main context.
 */
#ifndef JESCOPE_HTTP_AUDIT_H
#define JESCOPE_HTTP_AUDIT_H

#include "http/exchange.h"

enum {
    AUDIT_REFUSALS_AT_ONCE = 10, /* lines per peer; one more per second */
    AUDIT_COUNT_SECONDS = 10,    /* interval after which the number of omitted lines is logged */
    AUDIT_CHANGES_AT_ONCE = 200, /* per peer */
    AUDIT_CHANGES_RATE = 50,     /* added per second */
};

typedef struct Audit Audit;

/* SAY writes TEXT as a line; TEXT has no line feed. */
Audit *audit_new(void (*say)(const char *text, gpointer data), gpointer data);
void audit_free(Audit *audit);

/* Describes the request of EXCHANGE on the target LABEL (NULL: none) for audit_change(). Free with g_free(). */
char *audit_describe(const Exchange *exchange, const char *label);

/* Whether the peer of EXCHANGE, a request for a change, is within its limit of changes; counts this one. */
gboolean audit_takes_change(Audit *audit, const Exchange *exchange);

/* Logs that the change ABOUT, of audit_describe(), was answered with ANSWER. */
void audit_change(Audit *audit, const char *about, const Answer *answer);

/* Logs that EXCHANGE was refused with ANSWER. */
void audit_refusal(Audit *audit, const Exchange *exchange, const Answer *answer);

#endif
