/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connections of a server and their exchanges: libmicrohttpd's callbacks, and deadlines that it does not have. Only
 * for server.c.
 */
#ifndef JESCOPE_HTTP_TRAFFIC_H
#define JESCOPE_HTTP_TRAFFIC_H

#include "http/server.h"

#include <microhttpd.h>

typedef struct {
    ServerHandler handler;
    Peers *peers;
    guint timeout_s;
    gboolean closing;   /* each response is the last on its connection */
    GQueue connections; /* of Connection */
    GQueue remainders;  /* of connections that were closed (connection.c) */
    guint tick;         /* source id of the deadlines' timer; 0: no connection */
    guint files;        /* bodies being received into files */
    guint64 received;   /* their bytes */
    guint64 unread;     /* bytes of large answers, of all peers */
    ServerFigures figures;
    void (*closed)(gpointer data); /* a connection has ended */
    gpointer data;
} Traffic;

/* One libmicrohttpd daemon, on a listening socket. */
typedef struct {
    Traffic *traffic;
    GSource *source; /* of the daemon */
    ExchangeListener kind;
    gint64 handshake_us; /* processor time of a TLS handshake */
    gboolean own_users;  /* of a unix socket: only the server's user and root may connect */
    guint connections;
    uid_t arriving; /* the user of the connection that libmicrohttpd is being given, if it is a local one */
} TrafficListener;

void traffic_init(Traffic *traffic, const ServerHandler *handler, const ServerLimits *limits);

/* To be called after all connections have ended. */
void traffic_clear(Traffic *traffic);

/* Ends the streams for which ENDS is TRUE. Their clients may reconnect, if they are admitted. */
void traffic_end_streams(Traffic *traffic, ExchangeTest *ends, gconstpointer data);

/* Disconnects clients that are idle or read a stream, and the others once they are answered. */
void traffic_close(Traffic *traffic);

/* Disconnects all clients; those that wait get an answer that says so. */
void traffic_abandon(Traffic *traffic);

/* Gives MHD the connections that wait at the listening socket FD, a number of them at a time. FALSE: there are no
 * descriptors or memory for them now. */
gboolean traffic_accept(TrafficListener *listener, struct MHD_Daemon *mhd, int fd);

/* Callbacks for libmicrohttpd; the closure is a TrafficListener. */
enum MHD_Result traffic_on_accept(void *listener, const struct sockaddr *address, socklen_t size);
void traffic_on_connection(void *listener, struct MHD_Connection *mhd, void **context,
                           enum MHD_ConnectionNotificationCode what);
void *traffic_on_uri(void *listener, const char *uri, struct MHD_Connection *mhd);
enum MHD_Result traffic_on_request(void *listener, struct MHD_Connection *mhd, const char *url, const char *method,
                                   const char *version, const char *upload, size_t *upload_size, void **context);
/* A message about a request that libmicrohttpd refuses by itself. */
void traffic_on_log(void *listener, const char *format, va_list arguments) G_GNUC_PRINTF(2, 0);
void traffic_on_completed(void *listener, struct MHD_Connection *mhd, void **context,
                          enum MHD_RequestTerminationCode code);

#endif
