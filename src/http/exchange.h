/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request and its answer. The server creates it when a request arrives, and frees it after it was answered and the
 * response was sent or the client disconnected. For the server's thread.
 */
#ifndef JESCOPE_HTTP_EXCHANGE_H
#define JESCOPE_HTTP_EXCHANGE_H

#include "http/answer.h"
#include "http/peers.h"

#include "target/viewer.h"

typedef struct Exchange Exchange;

typedef gboolean ExchangeTest(const Exchange *exchange, gconstpointer data);

/* The kind of listener that accepted a connection. */
typedef enum {
    EXCHANGE_LOCAL = 1 << 0, /* only this machine can connect */
    EXCHANGE_UNIX = 1 << 1,
    EXCHANGE_TLS = 1 << 2,
} ExchangeListener;

/* The request with a decoded path and the complete body. Valid as long as the exchange. */
const RouteRequest *exchange_request(const Exchange *exchange);

/* Returns the body, if it is a file (ServerHandler.is_file), as a memfd at offset 0, which the caller closes; -1 if the
 * request has no body. */
int exchange_take_file(Exchange *exchange);

/* The first header NAME (case does not matter), or NULL. */
const char *exchange_header(const Exchange *exchange, const char *name);

ExchangeListener exchange_listener(const Exchange *exchange);
Peer *exchange_peer(const Exchange *exchange);

/* The user at the other end; PEERS_USER_UNKNOWN if it is on another machine, or unknown. It may be subordinate to the
 * user that is the peer. */
uid_t exchange_user(const Exchange *exchange);

/* Records an invalid token: the answer is delayed if the peer guesses tokens (peers_note_failure()), or the last one of
 * its connection if SERVER_HELD_OF_PEER are delayed already. */
void exchange_note_failure(Exchange *exchange);

/* The local address of the connection, to be freed: "10.0.0.5"; NULL on a unix socket. */
char *exchange_local_host(const Exchange *exchange);

/* The client's name in the audit: that of its token, otherwise of its peer. */
const char *exchange_who(const Exchange *exchange);
void exchange_set_who(Exchange *exchange, const char *who);

/* The client's role; ROUTE_ROLE_READ by default. */
RouteRole exchange_role(const Exchange *exchange);
void exchange_set_role(Exchange *exchange, RouteRole role);

/* Whether it was admitted by its session; FALSE by default. */
gboolean exchange_has_session(const Exchange *exchange);
void exchange_note_session(Exchange *exchange);

/* The targets that the client may see; VIEWER_NONE by default. */
Viewer exchange_viewer(const Exchange *exchange);
void exchange_set_viewer(Exchange *exchange, Viewer viewer);

gboolean exchange_accepts_gzip(const Exchange *exchange);

/* Whether its connection ends with it, as its answer then says. */
gboolean exchange_is_last(const Exchange *exchange);

typedef enum {
    EXCHANGE_TO_THE_END, /* until the server ends: a change is made and audited even if the client has disconnected */
    EXCHANGE_WHILE_CONNECTED, /* until the client disconnects or closes its side */
} ExchangeWait;

/* Announces that the caller will answer later. If the exchange ends before, LEFT is called with DATA, and it must no
 * longer be answered. */
void exchange_wait(Exchange *exchange, ExchangeWait how_long, void (*left)(Exchange *exchange, gpointer data),
                   gpointer data);

/* Answers the request; once per exchange. Takes ownership of ANSWER. */
void exchange_answer(Exchange *exchange, Answer *answer);

/* The same with answer_new_failure(). */
void exchange_fail(Exchange *exchange, const AnswerFailure *failure);

/* For what is done for EXCHANGE after the handler has returned: the refusal if its peer has used up its allowance, NULL
 * if it may be done; and the count of its cost, the processor time of the server's thread since BEGUN_US, a value of
 * thread_time_us(). */
Answer *exchange_check_allowance(const Exchange *exchange);
void exchange_charge(const Exchange *exchange, gint64 begun_us);

/* exchange_pause(), called from the READ of the stream, suspends sending until exchange_wake(). */
void exchange_pause(Exchange *exchange);
void exchange_wake(Exchange *exchange);

/* Closes the connection at once, whatever of an answer is not sent; the exchange is freed soon. */
void exchange_disconnect(Exchange *exchange);

#endif
