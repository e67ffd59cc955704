/* SPDX-License-Identifier: Apache-2.0 */
#include "http/traffic.h"

#include "confine/closing.h"
#include "confine/peer-user.h"
#include "confine/thread-time.h"
#include "http/answer-send.h"
#include "http/head.h"
#include "http/receive.h"

#include <errno.h>
#include <gnutls/gnutls.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- deadlines ---- */

/* Whether EXCHANGE, whose connection is suspended, is to end with its client. */
static gboolean
waits_for_client(const Exchange *exchange)
{
    return exchange->held || (exchange->left != NULL && exchange->how_long == EXCHANGE_WHILE_CONNECTED);
}

static void
end_if_abandoned(const Connection *connection)
{
    Exchange *exchange = connection->exchange;
    if (exchange == NULL || !waits_for_client(exchange) || !connection_has_hung_up(connection))
        return;
    connection->listener->traffic->figures.abandoned++;
    if (exchange->held) {
        exchange_disconnect(exchange);
        return;
    }
    exchange_leave(exchange);
    exchange_fail(exchange, &(AnswerFailure){.status = MHD_HTTP_SERVICE_UNAVAILABLE,
                                             .code = "abandoned",
                                             .message = "the client has hung up",
                                             .hint = "try again"});
}

/* Ends a connection whose head is not complete, of a peer that sends too many pieces of heads. */
static void
end_if_in_pieces(Connection *connection)
{
    if (connection->peer == NULL || (connection->exchange != NULL && connection->exchange->begun) ||
        connection_charge_head(connection, FALSE))
        return;
    connection->listener->traffic->figures.refused++;
    connection_disconnect(connection);
}

static gboolean
on_tick(gpointer data)
{
    Traffic *traffic = data;
    gint64 now = g_get_monotonic_time();
    for (GList *link = traffic->connections.head; link != NULL; link = link->next) {
        Connection *connection = link->data;
        end_if_abandoned(connection);
        end_if_in_pieces(connection);
        if (connection->deadline_us == 0 || connection->deadline_us > now)
            continue;
        traffic->figures.slow += connection->exchange != NULL;
        connection_disconnect(connection);
    }
    connection_forget_remainders(traffic);
    peers_forget(traffic->peers, now);
    if (traffic->connections.length > 0 || traffic->remainders.length > 0)
        return G_SOURCE_CONTINUE;
    traffic->tick = 0;
    return G_SOURCE_REMOVE;
}

/* ---- sending ---- */

/* TRUE if TEXT was sent, of which some hundred bytes fit into the buffer of a connection, or a part of it, after which
 * nothing else can be. The connection is to be closed in both cases. */
static gboolean
send_wire_text(Exchange *exchange, GBytes *text)
{
    gsize size;
    const void *bytes = g_bytes_get_data(text, &size);
    if ((exchange_listener(exchange) & EXCHANGE_TLS) == 0)
        return send(exchange->connection->fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT) > 0;
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(exchange->mhd, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    /* A record that could not be sent whole stays in the session, before all that follows. */
    if (info != NULL)
        gnutls_record_send(info->tls_session, bytes, size);
    return info != NULL;
}

static Answer *
refuse_unread(void)
{
    Answer *answer = answer_new_failure(
        &(AnswerFailure){.status = MHD_HTTP_TOO_MANY_REQUESTS,
                         .code = "answers_unread",
                         .message = "256 MiB of answers to this peer are unread, or 1 GiB of answers to all",
                         .hint = "read them to their end first"});
    answer_add_header(answer, MHD_HTTP_HEADER_RETRY_AFTER, "1");
    return answer;
}

/* Disconnects the client that has waited longest for a large answer, of the peer that leaves most unread, if that is
 * BYTES or more. Those of root and of the server's user are left alone. */
static gboolean
end_unread(const Traffic *traffic, guint64 bytes)
{
    Exchange *found = NULL;
    guint64 most = bytes - 1;
    for (const GList *link = traffic->connections.head; link != NULL; link = link->next) {
        const Connection *connection = link->data;
        if (connection->exchange == NULL || connection->exchange->unread == 0 || peer_is_ours(connection->peer) ||
            *peer_unread(connection->peer) <= most)
            continue;
        found = connection->exchange;
        most = *peer_unread(connection->peer);
    }
    if (found == NULL)
        return FALSE;
    exchange_count_unread(found, 0);
    connection_disconnect(found->connection);
    return TRUE;
}

/* Whether SIZE bytes of the peer's may be left unread, too. Many peers may leave much: who leaves no less than the peer
 * would with these makes room, so that one large answer does not end the smaller ones of all others. */
static gboolean
has_room_for(const Traffic *traffic, Peer *peer, guint64 size)
{
    const guint64 own = *peer_unread(peer);
    if (own > 0 && own + size > SERVER_UNREAD_MAX)
        return FALSE;
    while (traffic->unread > 0 && traffic->unread + size > SERVER_UNREAD_ALL_MAX)
        if (!end_unread(traffic, own + size))
            return peer_is_ours(peer);
    return TRUE;
}

/* Counts a large answer, which occupies memory until a possibly slow client has read it; refuses it above the limit. */
static void
count_unread(Exchange *exchange)
{
    const Connection *connection = exchange->connection;
    guint64 size = answer_size(exchange->answer);
    if (size < SERVER_UNREAD_LEAST || size == G_MAXUINT64)
        return;
    if (has_room_for(connection->listener->traffic, connection->peer, size)) {
        exchange_count_unread(exchange, size);
        return;
    }
    answer_unref(exchange->answer);
    exchange->answer = refuse_unread();
}

static enum MHD_Result
send_answer(Exchange *exchange)
{
    Connection *connection = exchange->connection;
    Traffic *traffic = connection->listener->traffic;
    count_unread(exchange);
    const Answer *answer = exchange->answer;
    guint64 size = answer_size(answer);
    traffic->figures.requests++;
    traffic->figures.by_class[MIN(answer_status(answer) / 100, G_N_ELEMENTS(traffic->figures.by_class)) - 1]++;
    if (size == G_MAXUINT64)
        connection->deadline_us = 0; /* libmicrohttpd's timeout detects heartbeats that are not read */
    else
        connection_set_deadline(connection, traffic->timeout_s + size / SERVER_SEND_RATE_MIN);
    g_autoptr(GBytes) text = answer_wire_text(answer, exchange->request.method);
    if (text != NULL && send_wire_text(exchange, text))
        return MHD_NO;
    return answer_queue(answer, exchange->mhd, exchange->request.method, exchange_is_last(exchange));
}

/* ---- requests ---- */

static void
handle(Exchange *exchange)
{
    Traffic *traffic = exchange->connection->listener->traffic;
    gint64 begun_us = thread_time_us();
    exchange->handled = exchange->connection->has_asked = TRUE;
    exchange->connection->deadline_us = 0; /* the server's turn */
    exchange_count_waiting(exchange, TRUE);
    Answer *refusal = receive_end(exchange);
    if (refusal != NULL)
        exchange_answer(exchange, refusal);
    else
        traffic->handler.handle(exchange, traffic->handler.data);
    exchange_charge(exchange, begun_us);
}

enum {
    PAUSE_MS = 100, /* in receiving the bodies of a peer that sends more than its share */
};

static gboolean
may_receive(Exchange *exchange, size_t size)
{
    const Connection *connection = exchange->connection;
    const TrafficListener *listener = connection->listener;
    /* libmicrohttpd reads from a connection once in an iteration of the main loop, in which this time is constant. */
    const gint64 read_us = g_source_get_time(listener->source);
    const PeerPiece piece = {size, read_us != exchange->read_us};
    exchange->read_us = read_us;
    return listener->traffic->closing ||
           peers_may_receive(listener->traffic->peers, connection->peer, &piece, g_get_monotonic_time());
}

/* Receives a piece of a body, or leaves it for later if its peer has sent more than its share: a body can be sent in
 * pieces of one byte, and without an end until its deadline. */
static enum MHD_Result
receive_piece(Exchange *exchange, const char *bytes, size_t *size)
{
    if (!may_receive(exchange, *size)) {
        exchange_delay(exchange, PAUSE_MS);
        exchange_pause(exchange);
        return MHD_YES;
    }
    receive_body(exchange, bytes, *size);
    *size = 0;
    return MHD_YES;
}

/* Sends the refusal of a request before its body was received. */
static enum MHD_Result
send_refusal(Exchange *exchange)
{
    exchange->at_head = exchange_hold(exchange);
    if (exchange->at_head) {
        exchange_pause(exchange);
        return MHD_YES;
    }
    /* A refused body is not read, which ends the connection; without a body, the connection continues. */
    return exchange->is_malformed || receive_has_body(exchange) ? send_answer(exchange) : MHD_YES;
}

/* Of a request without a body that expects 100 Continue, libmicrohttpd calls back before it takes an answer, if the
 * next request has arrived behind it. It takes one from the next iteration of the main loop on. */
static gboolean
await_end(Exchange *exchange)
{
    if (exchange->is_complete || exchange_header(exchange, MHD_HTTP_HEADER_EXPECT) == NULL)
        return FALSE;
    exchange->is_complete = TRUE;
    exchange_pause(exchange);
    exchange_wake(exchange);
    return TRUE;
}

enum MHD_Result
traffic_on_request(void *listener, struct MHD_Connection *mhd, const char *url, const char *method, const char *version,
                   const char *upload, size_t *upload_size, void **context)
{
    Exchange *exchange = *context;
    if (exchange == NULL || exchange->connection->has_ended)
        return MHD_NO;
    if (!exchange->begun) {
        if (!connection_charge_head(exchange->connection, TRUE))
            return MHD_NO;
        exchange->answer = receive_begin(exchange, method, version);
        return exchange->answer != NULL ? send_refusal(exchange) : MHD_YES;
    }
    if (exchange->at_head)
        return send_refusal(exchange);
    if (*upload_size > 0)
        return receive_piece(exchange, upload, upload_size);
    if (await_end(exchange))
        return MHD_YES;
    if (!exchange->handled && exchange->answer == NULL)
        handle(exchange);
    if (exchange->answer == NULL || exchange->held) {
        exchange_pause(exchange);
        return MHD_YES;
    }
    return send_answer(exchange);
}

/* Answers EXCHANGE before libmicrohttpd can, and closes its connection. */
static void
send_last_words(Exchange *exchange, const AnswerFailure *failure)
{
    g_autoptr(GBytes) text = answer_failure_response(failure);
    send_wire_text(exchange, text);
    connection_disconnect(exchange->connection);
}

/* libmicrohttpd 0.9 sends two heads for an invalid Content-Length. It logs that before, so jescope's response is sent
 * instead. The log does not identify the connection, but every one with such a length gets this response. */
void
traffic_on_log(void *listener, const char *format, va_list arguments)
{
    const Traffic *traffic = ((TrafficListener *)listener)->traffic;
    const AnswerFailure failure = receive_malformed("Content-Length is not a number");
    for (GList *link = traffic->connections.head; link != NULL; link = link->next) {
        Connection *connection = link->data;
        Exchange *exchange = connection->exchange;
        if (connection->listener != listener || exchange == NULL || exchange->begun ||
            !head_has_bad_length(exchange->mhd))
            continue;
        send_last_words(exchange, &failure);
    }
}

static guint
count_parameters(const char *uri)
{
    guint n = 0;
    for (const char *at = strchr(uri, '?'); at != NULL; at = strchr(at + 1, '&'))
        n++;
    return n;
}

/* libmicrohttpd 0.9 keeps a record of each parameter, and abandons a connection without a word if it has no room. */
static const AnswerFailure too_many = {.status = MHD_HTTP_URI_TOO_LONG,
                                       .code = "uri_too_long",
                                       .message = "the query has more than 64 parameters",
                                       .hint = "shorten the query"};

void *
traffic_on_uri(void *listener, const char *uri, struct MHD_Connection *mhd)
{
    Connection *connection = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
    /* A request that libmicrohttpd refused by itself has not ended before. */
    if (connection->exchange != NULL)
        exchange_free(connection->exchange);
    Exchange *exchange = exchange_new(connection, mhd, uri);
    if (count_parameters(uri) > SERVER_PARAMETERS_MAX)
        send_last_words(exchange, &too_many);
    return exchange;
}

void
traffic_on_completed(void *listener, struct MHD_Connection *mhd, void **context, enum MHD_RequestTerminationCode code)
{
    Exchange *exchange = *context;
    Traffic *traffic = ((TrafficListener *)listener)->traffic;
    if (exchange == NULL)
        return;
    Connection *connection = exchange->connection;
    exchange_free(exchange);
    *context = NULL;
    connection_end_reading(connection);
    connection_set_deadline(connection, traffic->timeout_s);
    if (traffic->closing)
        connection_disconnect(connection);
}

/* ---- connections ---- */

enum {
    ARRIVALS_AT_ONCE =
        256, /* more than libmicrohttpd accepts by itself, so that the queue of the kernel is empty soon */
};

/* The user at the other end of FD, if it is on this machine. */
static uid_t
find_user(const TrafficListener *listener, int fd)
{
    struct ucred peer = {.uid = PEERS_USER_UNKNOWN};
    socklen_t size = sizeof(peer);
    if ((listener->kind & EXCHANGE_UNIX) != 0)
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size);
    else if ((listener->kind & EXCHANGE_LOCAL) != 0 && !peer_user_find(fd, &peer.uid))
        peer.uid = PEERS_USER_UNKNOWN;
    return peer.uid;
}

/* Whether the user of the connection that arrives may connect at all. */
static gboolean
is_admitted(const TrafficListener *listener)
{
    return (listener->kind & EXCHANGE_UNIX) == 0 || peers_is_ours(listener->arriving) ||
           (listener->arriving != PEERS_USER_UNKNOWN && !listener->own_users &&
            !closing_is_busy_for(listener->arriving));
}

static void
take_arrival(TrafficListener *listener, struct MHD_Daemon *mhd, int fd, const struct sockaddr *address, socklen_t size)
{
    Traffic *traffic = listener->traffic;
    listener->arriving = find_user(listener, fd);
    if (is_admitted(listener) &&
        peers_may_arrive(traffic->peers, address, listener->arriving, g_get_monotonic_time())) {
        MHD_add_connection(mhd, fd, address, size); /* closes it if it fails */
        return;
    }
    traffic->figures.refused++;
    if ((listener->kind & EXCHANGE_UNIX) != 0)
        relay_refuse(fd, listener->arriving);
    close(fd);
}

/* Whether accept() fails with CODE for as long as others have what it needs. */
static gboolean
is_shortage(int code)
{
    return code == EMFILE || code == ENFILE || code == ENOBUFS || code == ENOMEM;
}

gboolean
traffic_accept(TrafficListener *listener, struct MHD_Daemon *mhd, int fd)
{
    connection_forget_remainders(listener->traffic);
    for (guint i = 0; i < ARRIVALS_AT_ONCE; i++) {
        /* Only unix sockets have what is to be closed slowly. */
        if ((listener->kind & EXCHANGE_UNIX) != 0 && !closing_has_room())
            return FALSE;
        struct sockaddr_storage address = {0};
        socklen_t size = sizeof(address);
        const int arrived = accept4(fd, (struct sockaddr *)&address, &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (arrived >= 0)
            take_arrival(listener, mhd, arrived, (const struct sockaddr *)&address, size);
        else if (errno != ECONNABORTED && errno != EINTR)
            return !is_shortage(errno);
    }
    return TRUE;
}

enum MHD_Result
traffic_on_accept(void *data, const struct sockaddr *address, socklen_t size)
{
    Traffic *traffic = ((TrafficListener *)data)->traffic;
    /* The user at the other end of a unix socket is determined later. */
    if (address->sa_family == AF_UNIX || peers_has_room(traffic->peers, address, g_get_monotonic_time()))
        return MHD_YES;
    traffic->figures.refused++;
    return MHD_NO;
}

void
traffic_on_connection(void *listener, struct MHD_Connection *mhd, void **context,
                      enum MHD_ConnectionNotificationCode what)
{
    Traffic *traffic = ((TrafficListener *)listener)->traffic;
    if (what != MHD_CONNECTION_NOTIFY_STARTED) {
        connection_close(*context);
        return;
    }
    *context = connection_open(listener, mhd);
    if (traffic->tick == 0)
        traffic->tick = g_timeout_add_seconds(1, on_tick, traffic);
}

/* ---- all connections ---- */

void
traffic_init(Traffic *traffic, const ServerHandler *handler, const ServerLimits *limits)
{
    memset(traffic, 0, sizeof(*traffic));
    traffic->handler = *handler;
    traffic->peers = peers_new(&limits->peers);
    traffic->timeout_s = limits->timeout_s;
}

void
traffic_clear(Traffic *traffic)
{
    g_assert(traffic->connections.length == 0);
    connection_release_remainders(traffic);
    if (traffic->tick != 0)
        g_source_remove(traffic->tick);
    peers_free(traffic->peers);
}

static gboolean
is_stream(const Exchange *exchange)
{
    return exchange->answer != NULL && answer_size(exchange->answer) == G_MAXUINT64;
}

static void
end_stream(Exchange *exchange)
{
    answer_end(exchange->answer);
    exchange_wake(exchange);
}

void
traffic_end_streams(Traffic *traffic, ExchangeTest *ends, gconstpointer data)
{
    for (GList *link = traffic->connections.head; link != NULL; link = link->next) {
        const Connection *connection = link->data;
        if (connection->exchange != NULL && is_stream(connection->exchange) && ends(connection->exchange, data))
            end_stream(connection->exchange);
    }
}

void
traffic_close(Traffic *traffic)
{
    traffic->closing = TRUE;
    for (GList *link = traffic->connections.head; link != NULL; link = link->next) {
        Connection *connection = link->data;
        Exchange *exchange = connection->exchange;
        if (exchange != NULL && exchange->held)
            exchange_wake(exchange);
        if (exchange != NULL && !is_stream(exchange))
            continue;
        connection_disconnect(connection);
        if (exchange != NULL)
            end_stream(exchange);
    }
}

void
traffic_abandon(Traffic *traffic)
{
    traffic->closing = TRUE;
    for (GList *link = traffic->connections.head; link != NULL; link = link->next) {
        Connection *connection = link->data;
        Exchange *exchange = connection->exchange;
        if (exchange != NULL && exchange->handled && exchange->answer == NULL) {
            exchange_leave(exchange);
            exchange_fail(exchange, &(AnswerFailure){.status = MHD_HTTP_SERVICE_UNAVAILABLE,
                                                     .code = "stopping",
                                                     .message = "the server is stopping",
                                                     .hint = "try again once it has restarted"});
        } else if (exchange != NULL && is_stream(exchange))
            end_stream(exchange);
        else if (exchange != NULL)
            exchange_wake(exchange); /* a delayed refusal, or a body that waits */
    }
}
