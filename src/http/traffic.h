/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connections of a server and the exchanges on them: libmicrohttpd's callbacks, and the deadlines it does not know.
 * For server.c alone.
 */
#ifndef JESCOPE_HTTP_TRAFFIC_H
#define JESCOPE_HTTP_TRAFFIC_H

#include "http/server.h"

#include <microhttpd.h>

typedef struct {
    ServerHandler handler;
    Peers *peers;
    guint timeout_s;
    gboolean closing;   /* what is answered is the last on its connection */
    GQueue connections; /* of Connection */
    guint tick;         /* source id of the deadlines' timer; 0: no connection */
    ServerFigures figures;
    void (*closed)(gpointer data); /* a connection has ended */
    gpointer data;
} Traffic;

/* Through what connections come in: one libmicrohttpd daemon. */
typedef struct {
    Traffic *traffic;
    GSource *source; /* of the daemon */
    ExchangeDoor door;
    gboolean own_users; /* of a unix socket: only our user and root may come in */
    guint connections;
} Door;

void traffic_init(Traffic *traffic, const ServerHandler *handler, const ServerLimits *limits);

/* All connections are gone. */
void traffic_clear(Traffic *traffic);

/* Disconnects who is between two requests or listens to a stream, and the others once they are answered. */
void traffic_close(Traffic *traffic);

/* Disconnects everybody; who waits for an answer gets one that says so. */
void traffic_abandon(Traffic *traffic);

/* For libmicrohttpd; the closure of each is a Door. */
enum MHD_Result traffic_on_accept(void *door, const struct sockaddr *address, socklen_t size);
void traffic_on_connection(void *door, struct MHD_Connection *mhd, void **context,
                           enum MHD_ConnectionNotificationCode what);
void *traffic_on_uri(void *door, const char *uri, struct MHD_Connection *mhd);
enum MHD_Result traffic_on_request(void *door, struct MHD_Connection *mhd, const char *url, const char *method,
                                   const char *version, const char *upload, size_t *upload_size, void **context);
void traffic_on_completed(void *door, struct MHD_Connection *mhd, void **context, enum MHD_RequestTerminationCode code);

#endif
