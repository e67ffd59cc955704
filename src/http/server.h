/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The transport: sockets, TLS, limits and deadlines, on the main context it was made on. The owner answers the
 * requests.
 *
 * A client has a time for each step: for its headers, for its body, for being idle between two requests, and for
 * reading the answer, by its size. One that takes longer is disconnected, even if it sends or reads all the time.
 */
#ifndef JESCOPE_HTTP_SERVER_H
#define JESCOPE_HTTP_SERVER_H

#include "http/address.h"
#include "http/exchange.h"
#include "http/tls.h"

enum {
    SERVER_URI_MAX = 8 * 1024,
    SERVER_BODY_MAX = 64 * 1024,
    SERVER_FILE_MAX = 64 << 20,       /* of a body that is received into a file */
    SERVER_FILES_AT_ONCE = 4,         /* that are being received, of all peers */
    SERVER_FILES_OF_PEER = 2,         /* and of one */
    SERVER_HEADERS_MAX = 16 * 1024,   /* together with what libmicrohttpd needs for the connection */
    SERVER_SEND_RATE_MIN = 64 * 1024, /* bytes per second; slower readers are disconnected */
    SERVER_UNREAD_MAX = 256 << 20, /* bytes of large answers that a peer may have unread; of a single one, any number */
    SERVER_UNREAD_LEAST = 1 << 20, /* bytes of one that is large */
};

typedef struct {
    /* Whether the body of EXCHANGE, whose path is known, is a file: then it may be as long as SERVER_FILE_MAX, and
     * exchange_take_file() has it. NULL: none is. */
    gboolean (*is_file)(const Exchange *exchange, gpointer data);
    /* The headers were received, the body was not. NULL: continue; else the response. */
    Answer *(*admit)(Exchange *exchange, gpointer data);
    /* The request is complete: answer it now or later. */
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
    SERVER_SOCKET_GIVEN, /* access to it was decided when it was made */
} ServerSocket;

/* Serves the listening socket FD and takes ownership of it (always). TLS (may be NULL) is borrowed for the call. */
gboolean server_add(Server *server, int fd, ServerSocket kind, const Tls *tls, GError **error);

/* New connections use TLS from now on; existing ones are unchanged. */
gboolean server_set_tls(Server *server, const Tls *tls, GError **error);

void server_set_limits(Server *server, const ServerLimits *limits);

/* Ends the streams of clients for which ENDS is TRUE: the right to read them has changed. */
void server_end_streams(Server *server, ExchangeTest *ends, gconstpointer data);

/* Its listening addresses, of Address. Valid until the next server_add(). */
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
    guint64 abandoned;   /* requests whose client disconnected before the response */
    guint64 by_class[5]; /* answers with status 1xx ... 5xx */
} ServerFigures;

void server_figures(const Server *server, ServerFigures *figures);

#endif
