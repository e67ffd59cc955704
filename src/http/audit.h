/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The audit: one line for each change and for each request that was refused for lack of permission. Lines about
 * refusals of one peer are rate-limited: further ones are counted, and the count is logged. Changes are always logged:
 * a peer that makes too many must be refused. For one thread, with a main context.
 */
#ifndef JESCOPE_HTTP_AUDIT_H
#define JESCOPE_HTTP_AUDIT_H

#include "http/exchange.h"

enum {
    AUDIT_REFUSALS_AT_ONCE = 10, /* lines of one peer; one more per second */
    AUDIT_COUNT_SECONDS = 10,    /* after which those left out are counted in a line */
    AUDIT_CHANGES_AT_ONCE = 200, /* of one peer */
    AUDIT_CHANGES_RATE = 50,     /* added per second */
};

typedef struct Audit Audit;

/* SAY writes a line without its end. */
Audit *audit_new(void (*say)(const char *text, gpointer data), gpointer data);
void audit_free(Audit *audit);

/* The request of EXCHANGE, for audit_change(), on the target LABEL (NULL: none). Free with g_free(). */
char *audit_describe(const Exchange *exchange, const char *label);

/* Whether there is room for the line of a change that EXCHANGE asks for, which this counts. */
gboolean audit_takes_change(Audit *audit, const Exchange *exchange);

/* The change ABOUT, of audit_describe(), was answered with ANSWER. */
void audit_change(Audit *audit, const char *about, const Answer *answer);

/* EXCHANGE was refused with ANSWER. */
void audit_refusal(Audit *audit, const Exchange *exchange, const Answer *answer);

#endif
