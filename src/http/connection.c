/* SPDX-License-Identifier: Apache-2.0 */
#include "http/connection.h"

#include "http/exchange-internal.h"
#include "http/mhd-source.h"

#include <fcntl.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    CLOSED = 7,         /* TCP_CLOSE of <netinet/tcp.h>, whose struct tcp_info has no segments */
    BUFFER = 256 << 10, /* of a TCP socket, for what is to be sent; the kernel doubles it. Its default grows to 4 MiB */
    RECORD_BYTES = 23,  /* of the smallest TLS record: head, tag, type and a byte of data */
    LAST_S = 10,        /* for what the client has not received when its connection ends, as of a relay */
};

/* What is left of a connection that has ended: it counts until the client has all, or its time is over. */
typedef struct {
    GList link;   /* in Traffic.remainders */
    Relay *relay; /* NULL: FD */
    int fd;
    gint64 until_us; /* of FD */
    Peer *peer;
} Remainder;

/* Bytes that the client has not received, so that the kernel keeps them. After a reset it keeps none, but still counts
 * them. */
static int
count_unsent(int fd)
{
    int unsent = 0;
    struct tcp_info info = {0};
    socklen_t size = sizeof(info);
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 && info.tcpi_state == CLOSED)
        return 0;
    return ioctl(fd, SIOCOUTQ, &unsent) == 0 ? unsent : 0;
}

/* From now on, close() discards what was not received. */
static void
discard_unsent(int fd)
{
    const struct linger none = {.l_onoff = 1};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
}

void
connection_set_deadline(Connection *connection, guint64 seconds)
{
    connection->deadline_us = g_get_monotonic_time() + (gint64)(seconds * G_USEC_PER_SEC);
}

static PeerReading
take_pieces(Connection *connection)
{
    const guint32 before = connection->segments;
    connection->segments = relay_pieces(connection->relay);
    return (PeerReading){.segments = connection->segments - before};
}

/* What was read since the last call; nothing for our own unix sockets. */
static PeerReading
take_reading(Connection *connection)
{
    if (connection->relay != NULL)
        return take_pieces(connection);
    struct tcp_info info = {0};
    socklen_t size = sizeof(info);
    if (getsockopt(connection->fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0)
        return (PeerReading){0};
    const PeerReading reading = {info.tcpi_data_segs_in - connection->segments,
                                 (info.tcpi_bytes_received - connection->bytes) / RECORD_BYTES};
    connection->segments = info.tcpi_data_segs_in;
    connection->bytes = info.tcpi_bytes_received;
    return reading;
}

void
connection_end_reading(Connection *connection)
{
    take_reading(connection);
}

gboolean
connection_charge_head(Connection *connection, gboolean complete)
{
    PeerReading reading = take_reading(connection);
    if (reading.segments == 0)
        return TRUE;
    /* How many records there were is unknown, and a usual head is one. */
    if (complete || (connection->listener->kind & EXCHANGE_TLS) == 0)
        reading.records = 0;
    return peers_may_read(connection->listener->traffic->peers, connection->peer, &reading, g_get_monotonic_time());
}

void
connection_disconnect(Connection *connection)
{
    connection->deadline_us = 0;
    connection->has_ended = TRUE;
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

/* A client that was not admitted may leave the page and the like unread. */
static gboolean
is_answered_stranger(const Exchange *exchange)
{
    return exchange->answer != NULL && exchange->viewer == VIEWER_NONE;
}

/* Whether the server has nothing to do for the connection yet: it is idle, or its request is not complete or was
 * refused, which it may not have been told yet, or has an answer that needs no admission. */
static gboolean
may_be_ended(const Connection *connection)
{
    const Exchange *exchange = connection->exchange;
    if (connection->peer == NULL || exchange == NULL)
        return connection->peer != NULL;
    return (!exchange->handled || exchange->held || is_answered_stranger(exchange)) && !exchange->is_file;
}

/* Whether all that would be lost with the connection is an answer, which is awaited or being sent: no change is under
 * way. */
static gboolean
is_for_an_answer(const Connection *connection)
{
    const Exchange *exchange = connection->exchange;
    return connection->peer != NULL && exchange != NULL &&
           (exchange->answer != NULL || (exchange->left != NULL && exchange->how_long == EXCHANGE_WHILE_CONNECTED));
}

/* Ends CONNECTION, which no longer counts. */
static void
displace(Traffic *traffic, Connection *connection)
{
    if (connection->exchange != NULL) {
        exchange_leave(connection->exchange);
        exchange_wake(connection->exchange);
        exchange_count_unread(connection->exchange, 0);
    }
    peers_disconnect(traffic->peers, g_steal_pointer(&connection->peer));
    g_clear_pointer(&connection->relay, relay_cut);
    traffic->figures.refused++;
    discard_unsent(connection->fd);
    connection_disconnect(connection);
}

static void
stop_counting(Traffic *traffic, GList *link)
{
    Remainder *remainder = link->data;
    peers_disconnect(traffic->peers, remainder->peer);
    g_queue_unlink(&traffic->remainders, link);
    g_free(remainder);
}

static gboolean
has_ended(const Remainder *remainder)
{
    if (remainder->relay != NULL)
        return relay_has_ended(remainder->relay);
    return count_unsent(remainder->fd) == 0 || g_get_monotonic_time() > remainder->until_us;
}

/* A relay is left to itself. */
static void
release(const Remainder *remainder)
{
    if (remainder->relay != NULL)
        relay_release(remainder->relay);
    if (remainder->fd < 0)
        return;
    if (count_unsent(remainder->fd) > 0)
        discard_unsent(remainder->fd);
    close(remainder->fd);
}

static void
cut(const Remainder *remainder)
{
    if (remainder->relay != NULL)
        relay_cut(remainder->relay);
    else
        release(remainder);
}

void
connection_forget_remainders(Traffic *traffic)
{
    for (GList *link = traffic->remainders.head, *next; link != NULL; link = next) {
        next = link->next;
        if (!has_ended(link->data))
            continue;
        release(link->data);
        stop_counting(traffic, link);
    }
}

/* What is left of a connection of the peer that has more than *MOST, and most of all; *MOST is set. NULL: none. */
static GList *
find_remainder(const Traffic *traffic, guint *most)
{
    GList *found = NULL;
    for (GList *link = traffic->remainders.head; link != NULL; link = link->next) {
        const Remainder *remainder = link->data;
        if (peer_connections(remainder->peer) <= *most)
            continue;
        found = link;
        *most = peer_connections(remainder->peer);
    }
    return found;
}

/* The oldest connection that MAY_BE_CHOSEN, of the peer that has more than *MOST, and most of all; *MOST is set. NULL:
 * none. */
static Connection *
find_connection(const Traffic *traffic, gboolean (*may_be_chosen)(const Connection *connection), guint *most)
{
    Connection *found = NULL;
    for (GList *link = traffic->connections.head; link != NULL; link = link->next) {
        Connection *connection = link->data;
        if (!may_be_chosen(connection) || peer_connections(connection->peer) <= *most)
            continue;
        found = connection;
        *most = peer_connections(connection->peer);
    }
    return found;
}

/* Ends a connection that may be ended, or what is left of one; if there is none, one for an answer. */
static gboolean
make_room_in_all(guint connections, gpointer data)
{
    Traffic *traffic = data;
    guint most = connections;
    GList *left = find_remainder(traffic, &most);
    Connection *found = find_connection(traffic, may_be_ended, &most);
    if (found == NULL && left == NULL)
        found = find_connection(traffic, is_for_an_answer, &most);
    if (found != NULL) {
        displace(traffic, found);
    } else if (left != NULL) {
        cut(left->data);
        stop_counting(traffic, left);
    }
    return found != NULL || left != NULL;
}

/* Ends the oldest connection of PEER without a complete request so far: a page of another site can have the browser of
 * its user open any number of those. */
static gboolean
make_room_of_peer(const Peer *peer, gpointer data)
{
    Traffic *traffic = data;
    for (GList *link = traffic->connections.head; link != NULL; link = link->next) {
        Connection *connection = link->data;
        if (connection->peer != peer || connection->has_asked || !may_be_ended(connection))
            continue;
        displace(traffic, connection);
        return TRUE;
    }
    return FALSE;
}

static Peer *
connect_to(Traffic *traffic, const struct sockaddr *address, uid_t user)
{
    const PeersRoom room = {.of_peer = make_room_of_peer, .in_all = make_room_in_all, .data = traffic};
    return peers_connect(traffic->peers, address, user, &room);
}

/* Of another user, who may send descriptors along, which libmicrohttpd would drop, waiting for them to be closed. */
static void
connect_stranger(Connection *connection, const struct sockaddr *address)
{
    Traffic *traffic = connection->listener->traffic;
    connection->peer = connect_to(traffic, address, connection->user);
    if (connection->peer == NULL)
        relay_refuse(connection->fd, connection->user);
    else if ((connection->relay = relay_insert(connection->fd, connection->user)) == NULL)
        peers_disconnect(traffic->peers, g_steal_pointer(&connection->peer));
}

/* Sets the user and the peer of CONNECTION. */
static void
connect_peer(Connection *connection, struct MHD_Connection *mhd)
{
    const TrafficListener *listener = connection->listener;
    const struct sockaddr *address = &(struct sockaddr){.sa_family = AF_UNIX};
    connection->user = listener->arriving;
    if ((listener->kind & EXCHANGE_UNIX) == 0) {
        const int size = BUFFER;
        setsockopt(connection->fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
        address = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr;
    } else if (!peers_is_ours(connection->user)) {
        connect_stranger(connection, address);
        return;
    }
    connection->peer = connect_to(listener->traffic, address, connection->user);
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
    if (connection->peer == NULL) {
        g_clear_pointer(&connection->relay, relay_cut);
        refuse(listener, connection);
    }
    return connection;
}

/* What CONNECTION, which has a peer, leaves counts as the connection until it has ended. FALSE: it leaves nothing, or
 * there is no descriptor for it. */
static gboolean
keep_rest(const Connection *connection, Remainder *remainder)
{
    const int unsent = connection->relay == NULL ? count_unsent(connection->fd) : 0;
    *remainder = (Remainder){.relay = connection->relay, .fd = -1};
    if (connection->relay != NULL || unsent == 0 || (connection->listener->kind & EXCHANGE_UNIX) != 0)
        return connection->relay != NULL;
    remainder->fd = fcntl(connection->fd, F_DUPFD_CLOEXEC, 0);
    remainder->until_us = g_get_monotonic_time() + (LAST_S + (gint64)unsent / SERVER_SEND_RATE_MIN) * G_USEC_PER_SEC;
    if (remainder->fd >= 0)
        shutdown(remainder->fd, SHUT_WR); /* which close() would do */
    return remainder->fd >= 0;
}

static void
keep_counting(Connection *connection, const Remainder *rest)
{
    Remainder *remainder = g_memdup2(rest, sizeof(*rest));
    connection->relay = NULL;
    remainder->peer = g_steal_pointer(&connection->peer);
    remainder->link.data = remainder;
    g_queue_push_tail_link(&connection->listener->traffic->remainders, &remainder->link);
}

void
connection_close(Connection *connection)
{
    TrafficListener *listener = connection->listener;
    Traffic *traffic = listener->traffic;
    Remainder rest;
    if (connection->exchange != NULL)
        exchange_free(connection->exchange);
    if (connection->peer != NULL && keep_rest(connection, &rest))
        keep_counting(connection, &rest);
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

void
connection_release_remainders(Traffic *traffic)
{
    while (traffic->remainders.head != NULL) {
        release(traffic->remainders.head->data);
        stop_counting(traffic, traffic->remainders.head);
    }
}
