/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One request and its answer. The server creates it when a request arrives and frees it when the response is sent or
 * the client has disconnected, but not before it is answered. For the server's thread.
 */
#ifndef JESCOPE_HTTP_EXCHANGE_H
#define JESCOPE_HTTP_EXCHANGE_H

#include "http/answer.h"
#include "http/peers.h"

#include "target/viewer.h"

typedef struct Exchange Exchange;

typedef gboolean ExchangeTest(const Exchange *exchange, gconstpointer data);

/* The kind of listener that a connection came in by. */
typedef enum {
    EXCHANGE_LOCAL = 1 << 0, /* only this machine can connect there */
    EXCHANGE_UNIX = 1 << 1,
    EXCHANGE_TLS = 1 << 2,
} ExchangeListener;

/* The path is decoded, the body complete. Valid as long as the exchange. */
const RouteRequest *exchange_request(const Exchange *exchange);

/* The body, if it is a file (ServerHandler.is_file): a memfd at offset 0, which is the caller's from now on; -1: the
 * request has no body. */
int exchange_take_file(Exchange *exchange);

/* The first header NAME (case does not matter), or NULL. */
const char *exchange_header(const Exchange *exchange, const char *name);

ExchangeListener exchange_listener(const Exchange *exchange);
Peer *exchange_peer(const Exchange *exchange);

/* It has an invalid token: the answer is held back if its peer guesses tokens (peers_note_failure()). */
void exchange_note_failure(Exchange *exchange);

/* Our own address as this client sees it: "10.0.0.5"; NULL on a unix socket. */
char *exchange_local_host(const Exchange *exchange);

/* The client's name in the audit: that of its token, else of its peer. */
const char *exchange_who(const Exchange *exchange);
void exchange_set_who(Exchange *exchange, const char *who);

/* The most it may do; ROUTE_ROLE_READ until it is set. */
RouteRole exchange_role(const Exchange *exchange);
void exchange_set_role(Exchange *exchange, RouteRole role);

/* Whether it was admitted by its session; FALSE until it is set. */
gboolean exchange_has_session(const Exchange *exchange);
void exchange_note_session(Exchange *exchange);

/* The targets it is shown; VIEWER_NONE until it is set. */
Viewer exchange_viewer(const Exchange *exchange);
void exchange_set_viewer(Exchange *exchange, Viewer viewer);

gboolean exchange_accepts_gzip(const Exchange *exchange);

/* Its connection ends with it, and its answer says so. */
gboolean exchange_is_last(const Exchange *exchange);

typedef enum {
    EXCHANGE_TO_THE_END,      /* of the server: a change is made and audited even if its client has disconnected */
    EXCHANGE_WHILE_CONNECTED, /* until the client disconnects, or closes its side */
} ExchangeWait;

/* It will be answered later, by the caller. If it ends before that, LEFT is called with DATA, and it is not to be
 * answered any more. */
void exchange_wait(Exchange *exchange, ExchangeWait how_long, void (*left)(Exchange *exchange, gpointer data),
                   gpointer data);

/* Answers, once. Takes ANSWER. */
void exchange_answer(Exchange *exchange, Answer *answer);

/* The same with answer_new_failure(). */
void exchange_fail(Exchange *exchange, const AnswerFailure *failure);

/* The stream it is answered with has nothing to read (from within its READ), until it has again. */
void exchange_pause(Exchange *exchange);
void exchange_wake(Exchange *exchange);

#endif
