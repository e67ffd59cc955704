/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One request and its answer. The server makes it when a request arrives and frees it when the answer is sent or the
 * client is gone; until it is answered it stays. For the server's thread.
 */
#ifndef JESCOPE_HTTP_EXCHANGE_H
#define JESCOPE_HTTP_EXCHANGE_H

#include "http/answer.h"
#include "http/peers.h"

typedef struct Exchange Exchange;

/* Where a connection comes in. */
typedef enum {
    EXCHANGE_LOCAL = 1 << 0, /* only this machine can connect there */
    EXCHANGE_UNIX = 1 << 1,
    EXCHANGE_TLS = 1 << 2,
} ExchangeDoor;

/* Path decoded, body whole. Valid as long as the exchange. */
const RouteRequest *exchange_request(const Exchange *exchange);

/* The first header NAME (case does not matter), or NULL. */
const char *exchange_header(const Exchange *exchange, const char *name);

ExchangeDoor exchange_door(const Exchange *exchange);
const Peer *exchange_peer(const Exchange *exchange);

/* Our own address as this client sees it: "10.0.0.5"; NULL on a unix socket. */
char *exchange_local_host(const Exchange *exchange);

/* Who asks, for the audit: the name of a token, else of the peer. */
const char *exchange_who(const Exchange *exchange);
void exchange_set_who(Exchange *exchange, const char *who);

/* The most it may do; ROUTE_ROLE_READ until it is set. */
RouteRole exchange_role(const Exchange *exchange);
void exchange_set_role(Exchange *exchange, RouteRole role);

gboolean exchange_accepts_gzip(const Exchange *exchange);

/* DATA lives as long as the exchange, which may end unanswered only when the server does. */
void exchange_set_data(Exchange *exchange, gpointer data, GDestroyNotify free_data);

/* Answers, once. Takes ANSWER. */
void exchange_answer(Exchange *exchange, Answer *answer);

/* The same with answer_new_failure(). */
void exchange_fail(Exchange *exchange, const AnswerFailure *failure);

/* The stream it is answered with has nothing to read (from within its READ), until it has again. */
void exchange_pause(Exchange *exchange);
void exchange_wake(Exchange *exchange);

#endif
