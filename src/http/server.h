/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The transport: sockets, TLS, limits and deadlines, on the main context it was made on. What a request means is its
 * owner's affair.
 *
 * A client has a time for each step: for its headers, for its body, for being idle between two requests, and for
 * reading the answer, by its size. Who takes longer is disconnected, however busy he looks.
 */
#ifndef JESCOPE_HTTP_SERVER_H
#define JESCOPE_HTTP_SERVER_H

#include "http/address.h"
#include "http/exchange.h"
#include "http/tls.h"

enum {
    SERVER_URI_MAX = 8 * 1024,
    SERVER_BODY_MAX = 64 * 1024,
    SERVER_HEADERS_MAX = 16 * 1024,   /* together with what libmicrohttpd needs for the connection */
    SERVER_SEND_RATE_MIN = 64 * 1024, /* bytes per second: who reads slower is disconnected */
};

typedef struct {
    /* The headers are there, the body is not. NULL: go on; else the answer. */
    Answer *(*admit)(Exchange *exchange, gpointer data);
    /* The whole request is there: answer it now or later. */
    void (*handle)(Exchange *exchange, gpointer data);
    gpointer data;
} ServerHandler;

typedef struct {
    PeerLimits peers;
    guint timeout_s;
} ServerLimits;

typedef struct Server Server;

Server *server_new(const ServerHandler *handler, const ServerLimits *limits);

/* At once, whatever is under way. */
void server_free(Server *server);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Server, server_free)

typedef enum {
    SERVER_SOCKET_OURS,  /* a unix socket's file is removed at the end, and only our own user and root may connect */
    SERVER_SOCKET_GIVEN, /* whoever made it decided who may connect */
} ServerSocket;

/* Serves what listens as FD, which it takes (in any case). TLS (may be NULL) is borrowed for the call. */
gboolean server_add(Server *server, int fd, ServerSocket kind, const Tls *tls, GError **error);

/* From now on new connections get TLS; those that are there go on as they are. */
gboolean server_set_tls(Server *server, const Tls *tls, GError **error);

void server_set_limits(Server *server, const ServerLimits *limits);

/* What it listens on, of Address. Valid until the next server_add(). */
const GArray *server_addresses(const Server *server);

/* No new connections and requests; STOPPED is called when those under way are answered, or TIMEOUT_S later. */
void server_stop(Server *server, guint timeout_s, void (*stopped)(gpointer data), gpointer data);

/* For our own metrics. */
typedef struct {
    guint connections;
    guint waiting;       /* exchanges that are not answered yet */
    guint64 requests;    /* answered */
    guint64 refused;     /* connections over a limit */
    guint64 limited;     /* requests over their peer's rate */
    guint64 slow;        /* connections that took too long */
    guint64 by_class[5]; /* answers with status 1xx ... 5xx */
} ServerFigures;

void server_figures(const Server *server, ServerFigures *figures);

#endif
