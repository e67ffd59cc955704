/* SPDX-License-Identifier: Apache-2.0 */
#include "http/connection.h"

#include "http/exchange-internal.h"
#include "http/mhd-source.h"

#include "confine/peer-user.h"
#include "confine/relay.h"
#include "target/reach.h"

#include <poll.h>
#include <sys/socket.h>

void
connection_set_deadline(Connection *connection, guint64 seconds)
{
    connection->deadline_us = g_get_monotonic_time() + (gint64)(seconds * G_USEC_PER_SEC);
}

void
connection_disconnect(Connection *connection)
{
    connection->deadline_us = 0;
    shutdown(connection->fd, SHUT_RDWR);
}

void
exchange_disconnect(Exchange *exchange)
{
    connection_disconnect(exchange->connection);
    exchange_wake(exchange);
}

gboolean
connection_has_hung_up(const Connection *connection)
{
    struct pollfd end = {.fd = connection->fd, .events = POLLRDHUP};
    return poll(&end, 1, 0) > 0 && (end.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

/* Whether the server has nothing to do for the connection yet: it is idle, or its request is not complete or was
 * refused. */
static gboolean
may_be_ended(const Connection *connection)
{
    const Exchange *exchange = connection->exchange;
    return connection->peer != NULL && (exchange == NULL || (!exchange->handled && !exchange->is_file));
}

/* Ends CONNECTION, which no longer counts. */
static void
displace(Traffic *traffic, Connection *connection)
{
    Exchange *exchange = connection->exchange;
    peers_disconnect(traffic->peers, g_steal_pointer(&connection->peer));
    traffic->figures.refused++;
    connection_disconnect(connection);
    if (exchange == NULL)
        return;
    g_clear_handle_id(&exchange->delay, g_source_remove);
    exchange_wake(exchange);
}

/* Ends the oldest such connection of the peer that has most. */
static gboolean
make_room(guint connections, gpointer data)
{
    Traffic *traffic = data;
    Connection *found = NULL;
    guint most = connections;
    for (GList *link = traffic->connections.head; link != NULL; link = link->next) {
        Connection *connection = link->data;
        if (!may_be_ended(connection) || peer_connections(connection->peer) <= most)
            continue;
        found = connection;
        most = peer_connections(connection->peer);
    }
    if (found != NULL)
        displace(traffic, found);
    return found != NULL;
}

/* Sets the user of CONNECTION, which comes by a unix socket. FALSE: it is refused. */
static gboolean
find_user(Connection *connection)
{
    struct ucred user = {.uid = PEERS_USER_UNKNOWN};
    socklen_t size = sizeof(user);
    getsockopt(connection->fd, SOL_SOCKET, SO_PEERCRED, &user, &size);
    connection->user = user.uid;
    if (user.uid == 0 || user.uid == reach_user())
        return TRUE;
    /* Others may send descriptors along, which libmicrohttpd would drop, waiting for them to be closed. */
    return relay_insert(connection->fd, user.uid) && user.uid != PEERS_USER_UNKNOWN && !connection->listener->own_users;
}

/* Sets the user and the peer of CONNECTION. */
static void
connect_peer(Connection *connection, struct MHD_Connection *mhd)
{
    const TrafficListener *listener = connection->listener;
    const struct sockaddr *address = &(struct sockaddr){.sa_family = AF_UNIX};
    if ((listener->kind & EXCHANGE_UNIX) != 0) {
        if (!find_user(connection))
            return;
    } else {
        address = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr;
        if ((listener->kind & EXCHANGE_LOCAL) == 0 || !peer_user_find(connection->fd, &connection->user))
            connection->user = PEERS_USER_UNKNOWN;
    }
    connection->peer = peers_connect(listener->traffic->peers, address, connection->user, make_room, listener->traffic);
}

/* Whether the peer of CONNECTION may have another handshake. Its share is known only now: which user of this machine it
 * is was not known when the connection was accepted. */
static gboolean
may_begin_handshake(const Connection *connection)
{
    const TrafficListener *listener = connection->listener;
    return (listener->kind & EXCHANGE_TLS) == 0 ||
           peers_begin_handshake(listener->traffic->peers, connection->peer, listener->handshake_us,
                                 g_get_monotonic_time());
}

/* Ends CONNECTION before it has begun. What the client has sent already is discarded, since libmicrohttpd would read it
 * in spite of shutdown(), and answer a handshake. */
static void
refuse(const TrafficListener *listener, Connection *connection)
{
    listener->traffic->figures.refused++;
    connection_disconnect(connection);
    if ((listener->kind & EXCHANGE_TLS) != 0)
        while (recv(connection->fd, NULL, G_MAXINT, MSG_TRUNC | MSG_DONTWAIT) > 0)
            ;
}

Connection *
connection_open(TrafficListener *listener, struct MHD_Connection *mhd)
{
    Traffic *traffic = listener->traffic;
    Connection *connection = g_new0(Connection, 1);
    connection->link.data = connection;
    connection->listener = listener;
    connection->fd = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    connect_peer(connection, mhd);
    listener->connections++;
    g_queue_push_tail_link(&traffic->connections, &connection->link);
    connection_set_deadline(connection, traffic->timeout_s);
    if (connection->peer != NULL && !may_begin_handshake(connection))
        peers_disconnect(traffic->peers, g_steal_pointer(&connection->peer));
    if (connection->peer == NULL)
        refuse(listener, connection);
    return connection;
}

void
connection_close(Connection *connection)
{
    TrafficListener *listener = connection->listener;
    Traffic *traffic = listener->traffic;
    if (connection->exchange != NULL)
        exchange_free(connection->exchange);
    if (connection->peer != NULL)
        peers_disconnect(traffic->peers, connection->peer);
    g_queue_unlink(&traffic->connections, &connection->link);
    g_free(connection);
    listener->connections--;
    /* When a connection ends, libmicrohttpd may defer others that were resumed at the same time, without requesting
     * another iteration. */
    mhd_source_wake(listener->source);
    traffic->closed(traffic->data);
}
