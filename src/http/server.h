/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HTTP transport: sockets, TLS, limits and deadlines, on the main context of its creator. The owner answers the
 * requests.
 *
 * Each step of a client has a deadline: its headers, its body, idling between two requests, and reading the answer,
 * which depends on the size. A client that takes longer is disconnected, even if it sends or reads continuously.
 */
#ifndef JESCOPE_HTTP_SERVER_H
#define JESCOPE_HTTP_SERVER_H

#include "http/address.h"
#include "http/exchange.h"
#include "http/tls.h"

enum {
    SERVER_URI_MAX = 8 * 1024,
    SERVER_BODY_MAX = 64 * 1024,
    SERVER_FILE_MAX = 64 << 20, /* bytes of a body that is received into a file */
    SERVER_FILES_AT_ONCE = 4,   /* being received from all peers, */
    SERVER_FILES_FIRSTS = 28,   /* and more from peers of which none is, one each */
    SERVER_FILES_OF_PEER = 2,   /* from one peer */
    SERVER_HELD_OF_PEER = 16,   /* delayed refusals of one peer, beyond which its wrong tokens end their connections */
    SERVER_FILES_BYTES = 384 << 20,   /* of files being received; one peer has at most as many as are left */
    SERVER_PARAMETERS_MAX = 64,       /* of a query */
    SERVER_HEADERS_MAX = 16 * 1024,   /* including libmicrohttpd's memory for the connection */
    SERVER_SEND_RATE_MIN = 64 * 1024, /* bytes per second; slower readers are disconnected */
    SERVER_UNREAD_MAX =
        256 << 20, /* bytes of large answers that a peer may leave unread; a single answer may be larger */
    SERVER_UNREAD_LEAST = 1 << 20,   /* minimum bytes of a large answer */
    SERVER_UNREAD_ALL_MAX = 1 << 30, /* bytes of large answers that all peers together may leave unread */
};

typedef struct {
    /* Whether the body of EXCHANGE, whose path is known, is a file, for exchange_take_file(): its limit is then
     * SERVER_FILE_MAX. NULL: none is a file. */
    gboolean (*is_file)(const Exchange *exchange, gpointer data);
    /* Called after the headers and before the body. Returns NULL to continue, or the response. */
    Answer *(*admit)(Exchange *exchange, gpointer data);
    /* Called for a complete request, to be answered now or later. */
    void (*handle)(Exchange *exchange, gpointer data);
    gpointer data;
} ServerHandler;

typedef struct {
    PeerLimits peers;
    guint timeout_s;
} ServerLimits;

typedef struct Server Server;

Server *server_new(const ServerHandler *handler, const ServerLimits *limits);

/* Ends at once, with requests in progress. */
void server_free(Server *server);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Server, server_free)

typedef enum {
    SERVER_SOCKET_OURS,  /* the file of a unix socket is removed at the end; only our own user and root may connect */
    SERVER_SOCKET_GIVEN, /* its creator has decided about access */
} ServerSocket;

/* Serves the listening socket FD; takes ownership of FD, also on error. TLS (may be NULL) is borrowed for the call. */
gboolean server_add(Server *server, int fd, ServerSocket kind, const Tls *tls, GError **error);

/* New connections use TLS from now on; existing ones are unchanged. */
gboolean server_set_tls(Server *server, const Tls *tls, GError **error);

void server_set_limits(Server *server, const ServerLimits *limits);

/* Ends the streams for which ENDS is TRUE, after permissions have changed. */
void server_end_streams(Server *server, ExchangeTest *ends, gconstpointer data);

/* Its listening addresses, of Address. Valid until the next server_add(). */
const GArray *server_addresses(const Server *server);

/* Accepts no more connections and requests. STOPPED is called when current requests are answered, or after TIMEOUT_S
 * seconds. */
void server_stop(Server *server, guint timeout_s, void (*stopped)(gpointer data), gpointer data);

/* For the server's own metrics. */
typedef struct {
    guint connections;
    guint waiting;       /* exchanges not answered yet */
    guint64 requests;    /* answered */
    guint64 refused;     /* connections over a limit */
    guint64 limited;     /* requests over their peer's rate */
    guint64 slow;        /* connections that took too long */
    guint64 abandoned;   /* requests whose client disconnected before the response */
    guint64 by_class[5]; /* answers with status 1xx ... 5xx */
} ServerFigures;

void server_figures(const Server *server, ServerFigures *figures);

#endif
