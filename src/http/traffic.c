/* SPDX-License-Identifier: Apache-2.0 */
#include "http/traffic.h"

#include "http/answer-send.h"
#include "http/gzip.h"
#include "http/head.h"
#include "http/mhd-source.h"
#include "http/peer-user.h"

#include "target/reach.h"

#include <errno.h>
#include <gnutls/gnutls.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

typedef struct {
    GList link; /* in Traffic.connections */
    TrafficListener *listener;
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
    Viewer viewer;
    gboolean by_session;
    RouteRequest request;
    GByteArray *body;
    gboolean is_file; /* the body goes into a file; counted in Traffic.files */
    int file;         /* -1: nothing received yet */
    guint64 file_size;
    int file_error;        /* errno of receiving it; 0: none */
    gboolean begun;        /* its headers were received */
    gboolean is_malformed; /* its end is ambiguous */
    gboolean too_long;     /* its body exceeds the limit */
    gboolean handled;      /* it was passed to its owner */
    gboolean waiting;      /* counted in ServerFigures.waiting */
    gboolean suspended;    /* libmicrohttpd waits until we resume it */
    guint delay_ms;        /* delay of the refusal */
    gboolean held_back;    /* the refusal was delayed, and libmicrohttpd calls back at the same point */
    guint delay;           /* source id of the delay's timer */
    Answer *held;          /* the answer to send after the delay; NULL: none, or the one before the body */
    ExchangeWait how_long;
    void (*left)(Exchange *exchange, gpointer data); /* NULL: its owner is not waiting */
    gpointer data;
    Answer *answer;
    guint64 unread; /* counted in peer_unread() */
};

static Answer *
refuse(unsigned status, const char *code, const char *message, const char *hint)
{
    return answer_new_failure(&(AnswerFailure){.status = status, .code = code, .message = message, .hint = hint});
}

/* ---- deadlines ---- */

static void
set_deadline(Connection *connection, guint64 seconds)
{
    connection->deadline_us = g_get_monotonic_time() + (gint64)(seconds * G_USEC_PER_SEC);
}

/* Shuts the connection down; libmicrohttpd notices that and cleans up. */
static void
disconnect(Connection *connection)
{
    connection->deadline_us = 0;
    shutdown(connection->fd, SHUT_RDWR);
}

/* Checks for a disconnected client, since libmicrohttpd does not watch a suspended connection. */
static gboolean
has_hung_up(const Connection *connection)
{
    struct pollfd end = {.fd = connection->fd, .events = POLLRDHUP};
    return poll(&end, 1, 0) > 0 && (end.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

/* Tells the owner that the exchange must no longer be answered. */
static void
leave(Exchange *exchange)
{
    void (*left)(Exchange *, gpointer) = g_steal_pointer(&exchange->left);
    if (left != NULL)
        left(exchange, exchange->data);
}

static void
end_if_abandoned(const Connection *connection)
{
    Exchange *exchange = connection->exchange;
    if (exchange == NULL || exchange->left == NULL || exchange->how_long != EXCHANGE_WHILE_CONNECTED ||
        !has_hung_up(connection))
        return;
    leave(exchange);
    connection->listener->traffic->figures.abandoned++;
    exchange_answer(exchange, refuse(MHD_HTTP_SERVICE_UNAVAILABLE, "abandoned", "the client has hung up", "try again"));
}

static gboolean
on_tick(gpointer data)
{
    Traffic *traffic = data;
    gint64 now = g_get_monotonic_time();
    for (GList *link = traffic->connections.head; link != NULL; link = link->next) {
        Connection *connection = link->data;
        end_if_abandoned(connection);
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

/* ---- the owner's interface of exchanges ---- */

const RouteRequest *
exchange_request(const Exchange *exchange)
{
    return &exchange->request;
}

int
exchange_take_file(Exchange *exchange)
{
    int file = exchange->file;
    exchange->file = -1;
    return file;
}

const char *
exchange_header(const Exchange *exchange, const char *name)
{
    return MHD_lookup_connection_value(exchange->mhd, MHD_HEADER_KIND, name);
}

ExchangeListener
exchange_listener(const Exchange *exchange)
{
    return exchange->connection->listener->kind;
}

Peer *
exchange_peer(const Exchange *exchange)
{
    return exchange->connection->peer;
}

void
exchange_note_failure(Exchange *exchange)
{
    exchange->delay_ms = peers_note_failure(exchange->connection->peer, g_get_monotonic_time());
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

Viewer
exchange_viewer(const Exchange *exchange)
{
    return exchange->viewer;
}

void
exchange_set_viewer(Exchange *exchange, Viewer viewer)
{
    exchange->viewer = viewer;
}

void
exchange_set_role(Exchange *exchange, RouteRole role)
{
    exchange->role = role;
}

gboolean
exchange_has_session(const Exchange *exchange)
{
    return exchange->by_session;
}

void
exchange_note_session(Exchange *exchange)
{
    exchange->by_session = TRUE;
}

gboolean
exchange_accepts_gzip(const Exchange *exchange)
{
    return gzip_is_accepted(exchange_header(exchange, MHD_HTTP_HEADER_ACCEPT_ENCODING));
}

/* libmicrohttpd 0.9 ends a chunk's line at a bare LF: a proxy in front of it may see another end of the body, so that
 * the two disagree about the next request. */
gboolean
exchange_is_last(const Exchange *exchange)
{
    return exchange->is_malformed || exchange_header(exchange, MHD_HTTP_HEADER_TRANSFER_ENCODING) != NULL;
}

void
exchange_wait(Exchange *exchange, ExchangeWait how_long, void (*left)(Exchange *exchange, gpointer data), gpointer data)
{
    exchange->how_long = how_long;
    exchange->left = left;
    exchange->data = data;
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
    mhd_source_wake(exchange->connection->listener->source);
}

static void
count_waiting(Exchange *exchange, gboolean waiting)
{
    ServerFigures *figures = &exchange->connection->listener->traffic->figures;
    figures->waiting += (guint)(waiting - exchange->waiting);
    exchange->waiting = waiting;
}

static gboolean
on_hold_over(gpointer data)
{
    Exchange *exchange = data;
    exchange->delay = 0;
    exchange->answer = g_steal_pointer(&exchange->held);
    exchange_wake(exchange);
    return G_SOURCE_REMOVE;
}

void
exchange_answer(Exchange *exchange, Answer *answer)
{
    g_assert(exchange->answer == NULL && exchange->held == NULL);
    exchange->left = NULL;
    if (exchange->delay_ms > 0) {
        exchange->held = answer;
        exchange->delay = g_timeout_add(exchange->delay_ms, on_hold_over, exchange);
        exchange->delay_ms = 0;
        /* A stream does not delay the end of the server. */
        count_waiting(exchange, FALSE);
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
count_file(const Exchange *exchange, int change)
{
    exchange->connection->listener->traffic->files += (guint)change;
    *peer_count(exchange->connection->peer, PEER_FILES) += (guint)change;
}

static void
free_exchange(Exchange *exchange)
{
    leave(exchange);
    count_waiting(exchange, FALSE);
    if (exchange->unread > 0)
        *peer_unread(exchange->connection->peer) -= exchange->unread;
    if (exchange->is_file)
        count_file(exchange, -1);
    if (exchange->file >= 0)
        close(exchange->file);
    exchange->connection->exchange = NULL;
    g_clear_handle_id(&exchange->delay, g_source_remove);
    g_clear_pointer(&exchange->held, answer_unref);
    if (exchange->answer != NULL) {
        answer_end(exchange->answer);
        answer_unref(exchange->answer);
    }
    if (exchange->body != NULL)
        g_byte_array_unref(exchange->body);
    g_free(exchange->who);
    g_free(exchange->path);
    g_free(exchange->uri);
    g_free(exchange);
}

/* ---- sending ---- */

/* TRUE if all of TEXT was sent. A reply of some hundred bytes always fits into an idle connection's buffer. */
static gboolean
send_wire_text(Exchange *exchange, GBytes *text)
{
    gsize size;
    const void *bytes = g_bytes_get_data(text, &size);
    if ((exchange_listener(exchange) & EXCHANGE_TLS) == 0)
        return send(exchange->connection->fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)size;
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(exchange->mhd, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    return info != NULL && gnutls_record_send(info->tls_session, bytes, size) == (ssize_t)size;
}

static Answer *
refuse_unread(void)
{
    Answer *answer = refuse(MHD_HTTP_TOO_MANY_REQUESTS, "answers_unread",
                            "256 MiB of answers to this address are unread", "read them to their end first");
    answer_add_header(answer, MHD_HTTP_HEADER_RETRY_AFTER, "1");
    return answer;
}

/* Counts a large answer, which occupies memory until a possibly slow client has read it; refuses it above the limit. */
static void
count_unread(Exchange *exchange)
{
    guint64 *unread = peer_unread(exchange->connection->peer);
    guint64 size = answer_size(exchange->answer);
    if (size < SERVER_UNREAD_LEAST || size == G_MAXUINT64)
        return;
    if (*unread > 0 && *unread + size > SERVER_UNREAD_MAX) {
        answer_unref(exchange->answer);
        exchange->answer = refuse_unread();
        return;
    }
    exchange->unread = size;
    *unread += size;
}

static enum MHD_Result
send_answer(Exchange *exchange)
{
    Connection *connection = exchange->connection;
    Traffic *traffic = connection->listener->traffic;
    count_unread(exchange);
    if (exchange_is_last(exchange))
        answer_add_header(exchange->answer, MHD_HTTP_HEADER_CONNECTION, "close");
    Answer *answer = exchange->answer;
    guint64 size = answer_size(answer);
    traffic->figures.requests++;
    traffic->figures.by_class[MIN(answer_status(answer) / 100, G_N_ELEMENTS(traffic->figures.by_class)) - 1]++;
    if (size == G_MAXUINT64)
        connection->deadline_us = 0; /* libmicrohttpd's timeout detects heartbeats that are not read */
    else
        set_deadline(connection, traffic->timeout_s + size / SERVER_SEND_RATE_MIN);
    g_autoptr(GBytes) text = answer_wire_text(answer, exchange->request.method);
    if (text != NULL && send_wire_text(exchange, text))
        return MHD_NO;
    return answer_queue(answer, exchange->mhd, exchange->request.method);
}

/* ---- receiving ---- */

/* head_fault() has compared it with Host. */
static const char *
skip_authority(const char *uri)
{
    const char *scheme = strstr(uri, "://");
    if (uri[0] == '/' || scheme == NULL)
        return uri;
    const char *path = strpbrk(scheme + 3, "/?#");
    return path != NULL && *path == '/' ? path : "/";
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

static guint64
body_max(const Exchange *exchange)
{
    return exchange->is_file ? SERVER_FILE_MAX : SERVER_BODY_MAX;
}

static gboolean
announces_long_body(const Exchange *exchange)
{
    const char *length = exchange_header(exchange, MHD_HTTP_HEADER_CONTENT_LENGTH);
    guint64 value;
    return length != NULL &&
           (!g_ascii_string_to_unsigned(length, 10, 0, G_MAXUINT64, &value, NULL) || value > body_max(exchange));
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
    Answer *answer = refuse(MHD_HTTP_TOO_MANY_REQUESTS, "too_many_requests", "too many requests from this address",
                            "wait as long as Retry-After says");
    g_autofree char *seconds = g_strdup_printf("%u", wait_s);
    answer_add_header(answer, MHD_HTTP_HEADER_RETRY_AFTER, seconds);
    return answer;
}

static Answer *
refuse_body(const Exchange *exchange)
{
    if (exchange->is_file)
        return refuse(MHD_HTTP_CONTENT_TOO_LARGE, "body_too_large", "the file is larger than 64 MiB",
                      "compress it with gzip or zstd, or run jescope report where it is");
    return refuse(MHD_HTTP_CONTENT_TOO_LARGE, "body_too_large", "the body is longer than 64 KiB",
                  "no request needs a longer one");
}

#define MALFORMED_HINT "send each header once, with a colon right after its name, and end each line with CR and LF"

/* NULL if the head is valid, otherwise the refusal. */
static Answer *
check_head(Exchange *exchange, const char *version)
{
    const HeadLine line = {exchange->request.method, exchange->uri, version};
    const char *fault = head_fault(exchange->mhd, &line);
    if (fault == NULL)
        return NULL;
    exchange->is_malformed = TRUE;
    return refuse(MHD_HTTP_BAD_REQUEST, "malformed_request", fault, MALFORMED_HINT);
}

/* NULL if another body may be received into a file, otherwise the refusal. */
static Answer *
begin_file(Exchange *exchange)
{
    Connection *connection = exchange->connection;
    Traffic *traffic = connection->listener->traffic;
    if (traffic->files >= SERVER_FILES_AT_ONCE || *peer_count(connection->peer, PEER_FILES) >= SERVER_FILES_OF_PEER) {
        Answer *answer = refuse(MHD_HTTP_TOO_MANY_REQUESTS, "crowded", "other files are being received already",
                                "wait as long as Retry-After says");
        answer_add_header(answer, MHD_HTTP_HEADER_RETRY_AFTER, "5");
        return answer;
    }
    exchange->is_file = TRUE;
    count_file(exchange, 1);
    set_deadline(connection, traffic->timeout_s + SERVER_FILE_MAX / SERVER_SEND_RATE_MIN);
    return NULL;
}

/* NULL if the request may continue, otherwise the refusal. */
static Answer *
begin(Exchange *exchange, const char *method, const char *version)
{
    Connection *connection = exchange->connection;
    Traffic *traffic = connection->listener->traffic;
    guint wait_s = 0;
    exchange->begun = TRUE;
    exchange->request.method = method;
    exchange->request.body = "";
    set_deadline(connection, traffic->timeout_s);
    Answer *malformed = check_head(exchange, version);
    if (malformed != NULL)
        return malformed;
    if (strlen(exchange->uri) > SERVER_URI_MAX)
        return refuse(MHD_HTTP_URI_TOO_LONG, "uri_too_long", "the path and query are longer than 8 KiB",
                      "shorten the query");
    if (!split_uri(exchange))
        return refuse(MHD_HTTP_BAD_REQUEST, "bad_path", "malformed path",
                      "begin it with '/' and encode bytes as %XX, but not NUL");
    if (traffic->handler.is_file != NULL && traffic->handler.is_file(exchange, traffic->handler.data)) {
        Answer *crowded = begin_file(exchange);
        if (crowded != NULL)
            return crowded;
    }
    if (announces_long_body(exchange))
        return refuse_body(exchange);
    if (!peers_spend(traffic->peers, connection->peer, g_get_monotonic_time(), &wait_s)) {
        traffic->figures.limited++;
        exchange->delay_ms = peers_note_limited(traffic->peers, connection->peer);
        return refuse_rate(wait_s);
    }
    return traffic->handler.admit(exchange, traffic->handler.data);
}

/* A body that is too long is still read until its end or the deadline, since the client would not read an early
 * response. */
static void
collect_file(Exchange *exchange, const char *bytes, size_t size)
{
    exchange->too_long = exchange->too_long || exchange->file_size + size > SERVER_FILE_MAX;
    if (exchange->too_long || exchange->file_error != 0)
        return;
    if (exchange->file < 0)
        exchange->file = memfd_create("jescope-file", MFD_CLOEXEC);
    for (size_t done = 0; done < size && exchange->file_error == 0;) {
        ssize_t n = pwrite(exchange->file, bytes + done, size - done, (off_t)(exchange->file_size + done));
        exchange->file_error = n < 0 && errno != EINTR ? errno : 0;
        done += n > 0 ? (size_t)n : 0;
    }
    exchange->file_size += size;
}

static void
collect_body(Exchange *exchange, const char *bytes, size_t size)
{
    if (exchange->is_file) {
        collect_file(exchange, bytes, size);
        return;
    }
    if (exchange->body == NULL)
        exchange->body = g_byte_array_new();
    if (exchange->body->len + size > SERVER_BODY_MAX)
        exchange->too_long = TRUE;
    else
        g_byte_array_append(exchange->body, (const guint8 *)bytes, (guint)size);
}

static gint64
spent_us(void)
{
    struct timespec spent;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
    return (gint64)spent.tv_sec * G_USEC_PER_SEC + spent.tv_nsec / 1000;
}

static void
handle(Exchange *exchange)
{
    Traffic *traffic = exchange->connection->listener->traffic;
    gint64 begun_us = spent_us();
    exchange->handled = TRUE;
    exchange->connection->deadline_us = 0; /* the server's turn */
    if (exchange->body != NULL) {
        exchange->request.body_size = exchange->body->len;
        g_byte_array_append(exchange->body, (const guint8 *)"", 1);
        exchange->request.body = (const char *)exchange->body->data;
    }
    count_waiting(exchange, TRUE);
    if (exchange->too_long)
        exchange_answer(exchange, refuse_body(exchange));
    else if (exchange->file_error != 0)
        exchange_answer(exchange, refuse(MHD_HTTP_INSUFFICIENT_STORAGE, "system", "there is no memory for the file",
                                         "check the memory limit of jescope"));
    else
        traffic->handler.handle(exchange, traffic->handler.data);
    peers_charge(traffic->peers, exchange->connection->peer, spent_us() - begun_us);
}

static gboolean
on_delay_over(gpointer data)
{
    Exchange *exchange = data;
    exchange->delay = 0;
    exchange_wake(exchange);
    return G_SOURCE_REMOVE;
}

/* Sends the refusal of a request before its body was received. */
static enum MHD_Result
send_refusal(Exchange *exchange)
{
    if (exchange->delay_ms > 0) {
        exchange->delay = g_timeout_add(exchange->delay_ms, on_delay_over, exchange);
        exchange->delay_ms = 0;
        exchange->held_back = TRUE;
        exchange_pause(exchange);
        return MHD_YES;
    }
    /* A refused body is not read, which ends the connection; without a body, the connection continues. */
    return exchange->is_malformed || has_body(exchange) ? send_answer(exchange) : MHD_YES;
}

enum MHD_Result
traffic_on_request(void *listener, struct MHD_Connection *mhd, const char *url, const char *method, const char *version,
                   const char *upload, size_t *upload_size, void **context)
{
    Exchange *exchange = *context;
    if (exchange == NULL || exchange->connection->peer == NULL)
        return MHD_NO;
    if (!exchange->begun) {
        exchange->answer = begin(exchange, method, version);
        return exchange->answer != NULL ? send_refusal(exchange) : MHD_YES;
    }
    if (exchange->held_back) {
        exchange->held_back = FALSE;
        return send_refusal(exchange);
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

/* libmicrohttpd 0.9 sends two heads for an invalid Content-Length. It logs that before, so jescope's response is sent
 * instead. The log does not identify the connection, but every one with such a length gets this response. */
void
traffic_on_log(void *listener, const char *format, va_list arguments)
{
    const Traffic *traffic = ((TrafficListener *)listener)->traffic;
    g_autoptr(GBytes) text = answer_last_words(&(AnswerFailure){.status = MHD_HTTP_BAD_REQUEST,
                                                                .code = "malformed_request",
                                                                .message = "Content-Length is not a number",
                                                                .hint = MALFORMED_HINT});
    for (GList *link = traffic->connections.head; link != NULL; link = link->next) {
        Connection *connection = link->data;
        Exchange *exchange = connection->exchange;
        if (connection->listener != listener || exchange == NULL || exchange->begun ||
            !head_has_bad_length(exchange->mhd))
            continue;
        send_wire_text(exchange, text);
        disconnect(connection);
    }
}

void *
traffic_on_uri(void *listener, const char *uri, struct MHD_Connection *mhd)
{
    Connection *connection = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
    /* A request that libmicrohttpd refused by itself has not ended before. */
    if (connection->exchange != NULL)
        free_exchange(connection->exchange);
    Exchange *exchange = g_new0(Exchange, 1);
    exchange->connection = connection;
    exchange->mhd = mhd;
    exchange->uri = g_strdup(uri);
    exchange->viewer = VIEWER_NONE;
    exchange->file = -1;
    connection->exchange = exchange;
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
    Traffic *traffic = ((TrafficListener *)data)->traffic;
    /* The user at the other end of a unix socket is determined later. */
    if (address->sa_family == AF_UNIX || peers_has_room(traffic->peers, address))
        return MHD_YES;
    traffic->figures.refused++;
    return MHD_NO;
}

static Peer *
connect_peer(const TrafficListener *listener, struct MHD_Connection *mhd, int fd)
{
    struct ucred user = {.uid = (uid_t)-1};
    socklen_t size = sizeof(user);
    if ((listener->kind & EXCHANGE_UNIX) == 0) {
        if ((listener->kind & EXCHANGE_LOCAL) != 0 && !peer_user_find(fd, &user.uid))
            user.uid = PEERS_USER_UNKNOWN;
        return peers_connect(listener->traffic->peers,
                             MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr, user.uid);
    }
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &user, &size) != 0)
        return NULL;
    if (listener->own_users && user.uid != 0 && user.uid != reach_user())
        return NULL;
    return peers_connect(listener->traffic->peers, &(struct sockaddr){.sa_family = AF_UNIX}, user.uid);
}

static Connection *
open_connection(TrafficListener *listener, struct MHD_Connection *mhd)
{
    Traffic *traffic = listener->traffic;
    Connection *connection = g_new0(Connection, 1);
    connection->link.data = connection;
    connection->listener = listener;
    connection->fd = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    connection->peer = connect_peer(listener, mhd, connection->fd);
    listener->connections++;
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
    TrafficListener *listener = connection->listener;
    Traffic *traffic = listener->traffic;
    if (connection->exchange != NULL)
        free_exchange(connection->exchange);
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
traffic_on_connection(void *listener, struct MHD_Connection *mhd, void **context,
                      enum MHD_ConnectionNotificationCode what)
{
    if (what == MHD_CONNECTION_NOTIFY_STARTED)
        *context = open_connection(listener, mhd);
    else
        close_connection(*context);
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
        if (exchange != NULL && exchange->handled && exchange->answer == NULL) {
            leave(exchange);
            exchange_answer(exchange, refuse(MHD_HTTP_SERVICE_UNAVAILABLE, "stopping", "the server is stopping",
                                             "try again once it has restarted"));
        } else if (exchange != NULL && is_stream(exchange))
            end_stream(exchange);
        else if (exchange != NULL)
            exchange_wake(exchange); /* a delayed refusal */
    }
}
