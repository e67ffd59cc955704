/* SPDX-License-Identifier: Apache-2.0 */
#include "http/traffic.h"

#include "http/answer-send.h"
#include "http/gzip.h"
#include "http/mhd-source.h"

#include <gnutls/gnutls.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

typedef struct {
    GList link; /* in Traffic.connections */
    Door *door;
    Peer *peer; /* NULL: refused */
    int fd;
    gint64 deadline_us; /* monotonic; 0: none */
    Exchange *exchange; /* NULL: between two requests */
} Connection;

struct Exchange {
    Connection *connection;
    struct MHD_Connection *mhd;
    char *uri;
    char *path;
    char *who;
    RouteRole role;
    RouteRequest request;
    GByteArray *body;
    gboolean begun;     /* its headers were seen */
    gboolean too_long;  /* its body is longer than any we take */
    gboolean handled;   /* its owner has or had it */
    gboolean waiting;   /* counted in ServerFigures.waiting */
    gboolean suspended; /* libmicrohttpd waits for us */
    Answer *answer;
    gpointer data;
    GDestroyNotify free_data;
};

/* ---- deadlines ---- */

static void
set_deadline(Connection *connection, guint64 seconds)
{
    connection->deadline_us = g_get_monotonic_time() + (gint64)(seconds * G_USEC_PER_SEC);
}

/* libmicrohttpd sees the end of the connection and cleans up. */
static void
disconnect(Connection *connection)
{
    connection->deadline_us = 0;
    shutdown(connection->fd, SHUT_RDWR);
}

static gboolean
on_tick(gpointer data)
{
    Traffic *traffic = data;
    gint64 now = g_get_monotonic_time();
    for (GList *link = traffic->connections.head; link != NULL; link = link->next) {
        Connection *connection = link->data;
        if (connection->deadline_us == 0 || connection->deadline_us > now)
            continue;
        traffic->figures.slow += connection->exchange != NULL;
        disconnect(connection);
    }
    peers_forget(traffic->peers, now);
    if (traffic->connections.length > 0)
        return G_SOURCE_CONTINUE;
    traffic->tick = 0;
    return G_SOURCE_REMOVE;
}

/* ---- exchanges, as their owner sees them ---- */

const RouteRequest *
exchange_request(const Exchange *exchange)
{
    return &exchange->request;
}

const char *
exchange_header(const Exchange *exchange, const char *name)
{
    return MHD_lookup_connection_value(exchange->mhd, MHD_HEADER_KIND, name);
}

ExchangeDoor
exchange_door(const Exchange *exchange)
{
    return exchange->connection->door->door;
}

const Peer *
exchange_peer(const Exchange *exchange)
{
    return exchange->connection->peer;
}

char *
exchange_local_host(const Exchange *exchange)
{
    Address address = {.size = sizeof(address.socket)};
    if (getsockname(exchange->connection->fd, &address.socket.any, &address.size) != 0)
        return NULL;
    return address_format_host(&address);
}

const char *
exchange_who(const Exchange *exchange)
{
    return exchange->who != NULL ? exchange->who : peer_name(exchange->connection->peer);
}

void
exchange_set_who(Exchange *exchange, const char *who)
{
    g_free(exchange->who);
    exchange->who = g_strdup(who);
}

RouteRole
exchange_role(const Exchange *exchange)
{
    return exchange->role;
}

void
exchange_set_role(Exchange *exchange, RouteRole role)
{
    exchange->role = role;
}

gboolean
exchange_accepts_gzip(const Exchange *exchange)
{
    return gzip_is_accepted(exchange_header(exchange, MHD_HTTP_HEADER_ACCEPT_ENCODING));
}

void
exchange_set_data(Exchange *exchange, gpointer data, GDestroyNotify free_data)
{
    exchange->data = data;
    exchange->free_data = free_data;
}

void
exchange_pause(Exchange *exchange)
{
    exchange->suspended = TRUE;
    MHD_suspend_connection(exchange->mhd);
}

void
exchange_wake(Exchange *exchange)
{
    if (!exchange->suspended)
        return;
    exchange->suspended = FALSE;
    MHD_resume_connection(exchange->mhd);
    mhd_source_wake(exchange->connection->door->source);
}

void
exchange_answer(Exchange *exchange, Answer *answer)
{
    if (exchange->answer != NULL) {
        answer_unref(answer); /* the end of the server came first */
        return;
    }
    exchange->answer = answer;
    exchange_wake(exchange);
}

void
exchange_fail(Exchange *exchange, const AnswerFailure *failure)
{
    exchange_answer(exchange, answer_new_failure(failure));
}

static void
count_waiting(Exchange *exchange, gboolean waiting)
{
    ServerFigures *figures = &exchange->connection->door->traffic->figures;
    figures->waiting += (guint)(waiting - exchange->waiting);
    exchange->waiting = waiting;
}

static void
free_exchange(Exchange *exchange)
{
    count_waiting(exchange, FALSE);
    exchange->connection->exchange = NULL;
    if (exchange->answer != NULL) {
        answer_end(exchange->answer);
        answer_unref(exchange->answer);
    }
    if (exchange->free_data != NULL)
        exchange->free_data(exchange->data);
    if (exchange->body != NULL)
        g_byte_array_unref(exchange->body);
    g_free(exchange->who);
    g_free(exchange->path);
    g_free(exchange->uri);
    g_free(exchange);
}

/* ---- sending ---- */

/* TRUE: all of it is on its way. A reply of some hundred bytes always fits an idle connection's buffer. */
static gboolean
send_wire_text(Exchange *exchange, GBytes *text)
{
    gsize size;
    const void *bytes = g_bytes_get_data(text, &size);
    if ((exchange_door(exchange) & EXCHANGE_TLS) == 0)
        return send(exchange->connection->fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)size;
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(exchange->mhd, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    return info != NULL && gnutls_record_send(info->tls_session, bytes, size) == (ssize_t)size;
}

static enum MHD_Result
send_answer(Exchange *exchange)
{
    Connection *connection = exchange->connection;
    Traffic *traffic = connection->door->traffic;
    Answer *answer = exchange->answer;
    guint64 size = answer_size(answer);
    traffic->figures.requests++;
    traffic->figures.by_class[MIN(answer_status(answer) / 100, G_N_ELEMENTS(traffic->figures.by_class)) - 1]++;
    if (size == G_MAXUINT64)
        connection->deadline_us = 0; /* libmicrohttpd's own timeout watches over heartbeats that are not read */
    else
        set_deadline(connection, traffic->timeout_s + size / SERVER_SEND_RATE_MIN);
    g_autoptr(GBytes) text = answer_wire_text(answer, exchange->request.method);
    if (text != NULL && send_wire_text(exchange, text))
        return MHD_NO;
    return answer_queue(answer, exchange->mhd, exchange->request.method);
}

/* ---- receiving ---- */

static Answer *
refuse(unsigned status, const char *code, const char *message, const char *hint)
{
    return answer_new_failure(&(AnswerFailure){.status = status, .code = code, .message = message, .hint = hint});
}

/* "http://host/path" is what a proxy is asked for, and legal everywhere (RFC 9112 section 3.2.2). */
static const char *
skip_authority(const char *uri)
{
    const char *scheme = strstr(uri, "://");
    if (uri[0] == '/' || scheme == NULL)
        return uri;
    const char *path = strchr(scheme + 3, '/');
    return path != NULL ? path : "/";
}

static gboolean
split_uri(Exchange *exchange)
{
    const char *target = skip_authority(exchange->uri);
    const char *question = strchr(target, '?');
    const char *end = question != NULL ? question : target + strlen(target);
    exchange->path = g_uri_unescape_segment(target, end, NULL);
    exchange->request.path = exchange->path;
    exchange->request.query = question != NULL ? question + 1 : "";
    return exchange->path != NULL && exchange->path[0] == '/';
}

static gboolean
announces_long_body(const Exchange *exchange)
{
    const char *length = exchange_header(exchange, MHD_HTTP_HEADER_CONTENT_LENGTH);
    guint64 value;
    return length != NULL &&
           (!g_ascii_string_to_unsigned(length, 10, 0, G_MAXUINT64, &value, NULL) || value > SERVER_BODY_MAX);
}

static gboolean
has_body(const Exchange *exchange)
{
    return exchange_header(exchange, MHD_HTTP_HEADER_CONTENT_LENGTH) != NULL ||
           exchange_header(exchange, MHD_HTTP_HEADER_TRANSFER_ENCODING) != NULL;
}

static Answer *
refuse_rate(guint wait_s)
{
    Answer *answer = refuse(MHD_HTTP_TOO_MANY_REQUESTS, "too_many_requests",
                            "this address sends more requests than it may", "wait as long as Retry-After says");
    g_autofree char *seconds = g_strdup_printf("%u", wait_s);
    answer_add_header(answer, MHD_HTTP_HEADER_RETRY_AFTER, seconds);
    return answer;
}

static Answer *
refuse_body(void)
{
    return refuse(MHD_HTTP_CONTENT_TOO_LARGE, "body_too_large", "the body is longer than 64 KiB",
                  "no request needs so much");
}

/* NULL: the request may go on. */
static Answer *
begin(Exchange *exchange, const char *method)
{
    Connection *connection = exchange->connection;
    Traffic *traffic = connection->door->traffic;
    guint wait_s = 0;
    exchange->begun = TRUE;
    exchange->request.method = method;
    exchange->request.body = "";
    set_deadline(connection, traffic->timeout_s);
    if (strlen(exchange->uri) > SERVER_URI_MAX)
        return refuse(MHD_HTTP_URI_TOO_LONG, "uri_too_long", "the path and query are longer than 8 KiB",
                      "shorten the query");
    if (!split_uri(exchange))
        return refuse(MHD_HTTP_BAD_REQUEST, "bad_path", "the path is not one",
                      "begin it with '/' and encode bytes as %XX, but not NUL");
    if (announces_long_body(exchange))
        return refuse_body();
    if (!peers_spend(traffic->peers, connection->peer, g_get_monotonic_time(), &wait_s)) {
        traffic->figures.limited++;
        return refuse_rate(wait_s);
    }
    return traffic->handler.admit(exchange, traffic->handler.data);
}

/* What is too long is read to its end all the same: an answer in the middle would not be seen. The deadline ends it. */
static void
collect_body(Exchange *exchange, const char *bytes, size_t size)
{
    if (exchange->body == NULL)
        exchange->body = g_byte_array_new();
    if (exchange->body->len + size > SERVER_BODY_MAX)
        exchange->too_long = TRUE;
    else
        g_byte_array_append(exchange->body, (const guint8 *)bytes, (guint)size);
}

static void
handle(Exchange *exchange)
{
    Traffic *traffic = exchange->connection->door->traffic;
    exchange->handled = TRUE;
    exchange->connection->deadline_us = 0; /* the next move is ours */
    if (exchange->body != NULL) {
        exchange->request.body_size = exchange->body->len;
        g_byte_array_append(exchange->body, (const guint8 *)"", 1);
        exchange->request.body = (const char *)exchange->body->data;
    }
    count_waiting(exchange, TRUE);
    if (exchange->too_long)
        exchange_answer(exchange, refuse_body());
    else
        traffic->handler.handle(exchange, traffic->handler.data);
}

enum MHD_Result
traffic_on_request(void *door, struct MHD_Connection *mhd, const char *url, const char *method, const char *version,
                   const char *upload, size_t *upload_size, void **context)
{
    Exchange *exchange = *context;
    if (exchange == NULL || exchange->connection->peer == NULL)
        return MHD_NO;
    if (!exchange->begun) {
        exchange->answer = begin(exchange, method);
        /* A body that is not wanted is not read, which costs the connection; where there is none, it goes on. */
        return exchange->answer != NULL && has_body(exchange) ? send_answer(exchange) : MHD_YES;
    }
    if (*upload_size > 0) {
        collect_body(exchange, upload, *upload_size);
        *upload_size = 0;
        return MHD_YES;
    }
    if (!exchange->handled && exchange->answer == NULL) {
        handle(exchange);
        if (exchange->answer == NULL) {
            exchange_pause(exchange);
            return MHD_YES;
        }
    }
    count_waiting(exchange, FALSE);
    return send_answer(exchange);
}

void *
traffic_on_uri(void *door, const char *uri, struct MHD_Connection *mhd)
{
    Connection *connection = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
    /* A request that libmicrohttpd itself refused has had no other end. */
    if (connection->exchange != NULL)
        free_exchange(connection->exchange);
    Exchange *exchange = g_new0(Exchange, 1);
    exchange->connection = connection;
    exchange->mhd = mhd;
    exchange->uri = g_strdup(uri);
    connection->exchange = exchange;
    return exchange;
}

void
traffic_on_completed(void *door, struct MHD_Connection *mhd, void **context, enum MHD_RequestTerminationCode code)
{
    Exchange *exchange = *context;
    Traffic *traffic = ((Door *)door)->traffic;
    if (exchange == NULL)
        return;
    Connection *connection = exchange->connection;
    free_exchange(exchange);
    *context = NULL;
    set_deadline(connection, traffic->timeout_s);
    if (traffic->closing)
        disconnect(connection);
}

/* ---- connections ---- */

enum MHD_Result
traffic_on_accept(void *data, const struct sockaddr *address, socklen_t size)
{
    Traffic *traffic = ((Door *)data)->traffic;
    /* Who is at the other end of a unix socket is known later. */
    if (address->sa_family == AF_UNIX || peers_has_room(traffic->peers, address))
        return MHD_YES;
    traffic->figures.refused++;
    return MHD_NO;
}

static Peer *
connect_peer(const Door *door, struct MHD_Connection *mhd, int fd)
{
    struct ucred user = {.uid = (uid_t)-1};
    socklen_t size = sizeof(user);
    if ((door->door & EXCHANGE_UNIX) == 0)
        return peers_connect(door->traffic->peers,
                             MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr, 0);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &user, &size) != 0)
        return NULL;
    if (door->own_users && user.uid != 0 && user.uid != geteuid())
        return NULL;
    return peers_connect(door->traffic->peers, &(struct sockaddr){.sa_family = AF_UNIX}, user.uid);
}

static Connection *
open_connection(Door *door, struct MHD_Connection *mhd)
{
    Traffic *traffic = door->traffic;
    Connection *connection = g_new0(Connection, 1);
    connection->link.data = connection;
    connection->door = door;
    connection->fd = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    connection->peer = connect_peer(door, mhd, connection->fd);
    door->connections++;
    g_queue_push_tail_link(&traffic->connections, &connection->link);
    if (traffic->tick == 0)
        traffic->tick = g_timeout_add_seconds(1, on_tick, traffic);
    set_deadline(connection, traffic->timeout_s);
    if (connection->peer == NULL) {
        traffic->figures.refused++;
        disconnect(connection);
    }
    return connection;
}

static void
close_connection(Connection *connection)
{
    Door *door = connection->door;
    Traffic *traffic = door->traffic;
    if (connection->exchange != NULL)
        free_exchange(connection->exchange);
    if (connection->peer != NULL)
        peers_disconnect(traffic->peers, connection->peer);
    g_queue_unlink(&traffic->connections, &connection->link);
    g_free(connection);
    door->connections--;
    /* When a connection ends, libmicrohttpd may leave others that were resumed with it for a later turn, and asks for
     * none. */
    mhd_source_wake(door->source);
    traffic->closed(traffic->data);
}

void
traffic_on_connection(void *door, struct MHD_Connection *mhd, void **context, enum MHD_ConnectionNotificationCode what)
{
    if (what == MHD_CONNECTION_NOTIFY_STARTED)
        *context = open_connection(door, mhd);
    else
        close_connection(*context);
}

/* ---- all of them ---- */

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
traffic_close(Traffic *traffic)
{
    traffic->closing = TRUE;
    for (GList *link = traffic->connections.head; link != NULL; link = link->next) {
        Connection *connection = link->data;
        if (connection->exchange != NULL && !is_stream(connection->exchange))
            continue;
        disconnect(connection);
        if (connection->exchange != NULL)
            end_stream(connection->exchange);
    }
}

void
traffic_abandon(Traffic *traffic)
{
    traffic->closing = TRUE;
    for (GList *link = traffic->connections.head; link != NULL; link = link->next) {
        Connection *connection = link->data;
        Exchange *exchange = connection->exchange;
        if (exchange != NULL && exchange->handled && exchange->answer == NULL)
            exchange_answer(exchange, refuse(MHD_HTTP_SERVICE_UNAVAILABLE, "stopping", "the server is about to end",
                                             "ask again when it is back"));
        else if (exchange != NULL && is_stream(exchange))
            end_stream(exchange);
    }
}
