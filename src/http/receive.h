/* SPDX-License-Identifier: Apache-2.0 */
/* Receives a request: checks its head, and collects its body in memory or in a file. Only for traffic.c. */
#ifndef JESCOPE_HTTP_RECEIVE_H
#define JESCOPE_HTTP_RECEIVE_H

#include "http/exchange-internal.h"

/* Begins with the head. NULL if the request may continue, otherwise the refusal. */
Answer *receive_begin(Exchange *exchange, const char *method, const char *version);

gboolean receive_has_body(const Exchange *exchange);

void receive_body(Exchange *exchange, const char *bytes, size_t size);

/* Completes the request. NULL if it was received, otherwise the refusal. */
Answer *receive_end(Exchange *exchange);

/* The refusal of a malformed head, whose fault is MESSAGE. */
AnswerFailure receive_malformed(const char *message);

#endif
