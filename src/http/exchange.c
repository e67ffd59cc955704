/* SPDX-License-Identifier: Apache-2.0 */
#include "http/exchange-internal.h"

#include "confine/thread-time.h"
#include "http/answer-send.h"
#include "http/gzip.h"
#include "http/mhd-source.h"

#include <sys/socket.h>
#include <unistd.h>

Exchange *
exchange_new(Connection *connection, struct MHD_Connection *mhd, const char *uri)
{
    Exchange *exchange = g_new0(Exchange, 1);
    exchange->connection = connection;
    exchange->mhd = mhd;
    exchange->uri = g_strdup(uri);
    exchange->viewer = VIEWER_NONE;
    exchange->file = -1;
    if (connection->peer != NULL && connection->user != PEERS_USER_UNKNOWN &&
        connection->user != peer_id(connection->peer))
        exchange->who = g_strdup_printf("%s (subordinate uid %u)", peer_name(connection->peer), connection->user);
    connection->exchange = exchange;
    return exchange;
}

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

uid_t
exchange_user(const Exchange *exchange)
{
    return exchange->connection->user;
}

void
exchange_note_failure(Exchange *exchange)
{
    Peer *peer = exchange->connection->peer;
    exchange->delay_ms = peers_note_failure(peer, g_get_monotonic_time());
    if (exchange->delay_ms == 0 || *peer_count(peer, PEER_HELD) < SERVER_HELD_OF_PEER)
        return;
    exchange->delay_ms = 0;
    exchange->is_last = TRUE;
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
    return exchange->is_last || exchange->is_malformed ||
           exchange_header(exchange, MHD_HTTP_HEADER_TRANSFER_ENCODING) != NULL;
}

void
exchange_wait(Exchange *exchange, ExchangeWait how_long, void (*left)(Exchange *exchange, gpointer data), gpointer data)
{
    exchange->how_long = how_long;
    exchange->left = left;
    exchange->data = data;
}

void
exchange_leave(Exchange *exchange)
{
    void (*left)(Exchange *, gpointer) = g_steal_pointer(&exchange->left);
    if (left != NULL)
        left(exchange, exchange->data);
}

void
exchange_pause(Exchange *exchange)
{
    exchange->suspended = TRUE;
    MHD_suspend_connection(exchange->mhd);
}

/* Before its connection loses its peer. */
static void
end_delay(Exchange *exchange)
{
    g_clear_handle_id(&exchange->delay, g_source_remove);
    if (exchange->held)
        --*peer_count(exchange->connection->peer, PEER_HELD);
    exchange->held = FALSE;
}

void
exchange_wake(Exchange *exchange)
{
    end_delay(exchange);
    if (!exchange->suspended)
        return;
    exchange->suspended = FALSE;
    MHD_resume_connection(exchange->mhd);
    mhd_source_wake(exchange->connection->listener->source);
}

static gboolean
on_delay_over(gpointer data)
{
    Exchange *exchange = data;
    exchange->delay = 0;
    exchange_wake(exchange);
    return G_SOURCE_REMOVE;
}

void
exchange_delay(Exchange *exchange, guint ms)
{
    g_assert(exchange->delay == 0);
    exchange->delay = g_timeout_add(ms, on_delay_over, exchange);
}

gboolean
exchange_hold(Exchange *exchange)
{
    if (exchange->delay_ms == 0 || exchange->connection->listener->traffic->closing)
        return FALSE;
    exchange_delay(exchange, exchange->delay_ms);
    exchange->delay_ms = 0;
    exchange->held = TRUE;
    ++*peer_count(exchange->connection->peer, PEER_HELD);
    return TRUE;
}

void
exchange_count_waiting(Exchange *exchange, gboolean waiting)
{
    ServerFigures *figures = &exchange->connection->listener->traffic->figures;
    figures->waiting += (guint)(waiting - exchange->waiting);
    exchange->waiting = waiting;
}

void
exchange_answer(Exchange *exchange, Answer *answer)
{
    g_assert(exchange->answer == NULL);
    exchange->left = NULL;
    exchange->answer = answer;
    exchange_count_waiting(exchange, FALSE);
    if (!exchange_hold(exchange))
        exchange_wake(exchange);
}

void
exchange_fail(Exchange *exchange, const AnswerFailure *failure)
{
    exchange_answer(exchange, answer_new_failure(failure));
}

Answer *
exchange_refuse_rate(const Exchange *exchange, guint wait_s)
{
    Answer *answer = answer_new_failure(&(AnswerFailure){.status = MHD_HTTP_TOO_MANY_REQUESTS,
                                                         .code = "too_many_requests",
                                                         .message = "too many requests from this address",
                                                         .hint = "wait as long as Retry-After says"});
    g_autofree char *seconds = g_strdup_printf("%u", wait_s);
    answer_add_header(answer, MHD_HTTP_HEADER_RETRY_AFTER, seconds);
    exchange->connection->listener->traffic->figures.limited++;
    return answer;
}

Answer *
exchange_check_allowance(const Exchange *exchange)
{
    const Connection *connection = exchange->connection;
    guint wait_s = 0;
    if (peers_may_go_on(connection->listener->traffic->peers, connection->peer, g_get_monotonic_time(), &wait_s))
        return NULL;
    return exchange_refuse_rate(exchange, wait_s);
}

void
exchange_charge(const Exchange *exchange, gint64 begun_us)
{
    const Connection *connection = exchange->connection;
    peers_charge(connection->listener->traffic->peers, connection->peer, thread_time_us() - begun_us);
}

static void
count_file(const Exchange *exchange, int change)
{
    exchange->connection->listener->traffic->files += (guint)change;
    *peer_count(exchange->connection->peer, PEER_FILES) += (guint)change;
}

void
exchange_count_unread(Exchange *exchange, guint64 size)
{
    if (exchange->unread == size)
        return;
    exchange->connection->listener->traffic->unread += size - exchange->unread;
    *peer_unread(exchange->connection->peer) += size - exchange->unread;
    exchange->unread = size;
}

void
exchange_count_received(Exchange *exchange, guint64 size)
{
    if (exchange->file_size == size)
        return;
    exchange->connection->listener->traffic->received += size - exchange->file_size;
    *peer_received(exchange->connection->peer) += size - exchange->file_size;
    exchange->file_size = size;
}

void
exchange_count_file(Exchange *exchange)
{
    exchange->is_file = TRUE;
    count_file(exchange, 1);
}

void
exchange_free(Exchange *exchange)
{
    exchange_leave(exchange);
    exchange_count_waiting(exchange, FALSE);
    exchange_count_unread(exchange, 0);
    exchange_count_received(exchange, 0);
    if (exchange->is_file)
        count_file(exchange, -1);
    if (exchange->file >= 0)
        close(exchange->file);
    end_delay(exchange);
    exchange->connection->exchange = NULL;
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
