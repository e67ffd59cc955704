/* SPDX-License-Identifier: Apache-2.0 */
/* A client's connection and its deadline, which libmicrohttpd does not have. Only for the files that handle exchanges.
 */
#ifndef JESCOPE_HTTP_CONNECTION_H
#define JESCOPE_HTTP_CONNECTION_H

#include "http/traffic.h"

#include "confine/relay.h"

typedef struct {
    GList link; /* in Traffic.connections */
    TrafficListener *listener;
    Peer *peer;   /* NULL: refused, or displaced */
    Relay *relay; /* of another user's unix socket; may be NULL */
    uid_t user;   /* see exchange_user() */
    int fd;
    gint64 deadline_us; /* monotonic; 0: none */
    guint32 segments;   /* PeerReading.segments so far; see connection_charge_head() */
    guint64 bytes;      /* likewise */
    Exchange *exchange; /* NULL: between two requests */
    gboolean has_asked; /* it had a complete request */
    gboolean has_ended; /* it was shut down: what libmicrohttpd has read of further requests is not handled */
} Connection;

/* Takes the connection that libmicrohttpd has accepted; without a peer, it is shut down. */
Connection *connection_open(TrafficListener *listener, struct MHD_Connection *mhd);

/* Frees it after its end. */
void connection_close(Connection *connection);

/* What closed connections have left counts for their peers until it ends. To be called now and then, and before
 * connections are accepted. */
void connection_forget_remainders(Traffic *traffic);

/* Ends this, before the end of TRAFFIC; relays are left to themselves. */
void connection_release_remainders(Traffic *traffic);

/* Charges the peer of CONNECTION for what was read since the last call: of a head that is COMPLETE, or of one that is
 * not. libmicrohttpd reads it without a call of ours, and again from its beginning for each piece. FALSE if the peer
 * has sent too many pieces. */
gboolean connection_charge_head(Connection *connection, gboolean complete);

/* What was read so far costs nothing more. */
void connection_end_reading(Connection *connection);

void connection_set_deadline(Connection *connection, guint64 seconds);

/* Shuts the connection down; libmicrohttpd notices that and cleans up. */
void connection_disconnect(Connection *connection);

/* Whether the client has disconnected, which libmicrohttpd does not notice while the connection is suspended. */
gboolean connection_has_hung_up(const Connection *connection);

#endif
