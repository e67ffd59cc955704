/* SPDX-License-Identifier: Apache-2.0 */
#include "http/server.h"

#include "confine/closing.h"
#include "http/handshake.h"
#include "http/head.h"
#include "http/mhd-source.h"
#include "http/traffic.h"

#include "target/reach.h"

#include <glib-unix.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    CONNECTIONS_CEILING = 65536, /* libmicrohttpd's default would be below PeerLimits */
    SILENCE_SECONDS = 60,        /* libmicrohttpd's timeout, for streams that are not read, which have no deadline */
    FINAL_ANSWERS_SECONDS = 1,
    SHORTAGE_MS = 10,              /* without accepting, if there are no descriptors for it */
    DESCRIPTORS_OF_CONNECTION = 3, /* at most: its own, and two of its relay */
};

/* A libmicrohttpd daemon: a listening socket with or without TLS. When the certificate changes, another daemon takes
 * over the socket, and this one continues until its connections end. */
typedef struct {
    TrafficListener listener;
    struct MHD_Daemon *mhd;
    int fd;
    guint accepting; /* source id: waits for connections; 0: it is retired */
} Daemon;

typedef struct {
    int fd;
    ServerSocket kind;
    Daemon *daemon;
    Tls *tls; /* NULL: none */
} Listener;

struct Server {
    Traffic traffic;
    GPtrArray *listeners; /* of Listener */
    GArray *addresses;    /* of Address, by listener */
    GPtrArray *retired;   /* of Daemon */
    guint sweep;          /* source id: checks whether retired daemons, and the server with them, have ended */
    guint deadline;       /* source id: the timeout of stopping */
    void (*stopped)(gpointer data);
    gpointer data;
};

/* ---- daemons ---- */

static void
free_daemon(gpointer data)
{
    Daemon *daemon = data;
    g_clear_handle_id(&daemon->accepting, g_source_remove);
    g_source_destroy(daemon->listener.source);
    MHD_stop_daemon(daemon->mhd);
    g_source_unref(daemon->listener.source);
    g_free(daemon);
}

static struct MHD_Daemon *
start_mhd(TrafficListener *listener, const Tls *tls)
{
    struct MHD_OptionItem with_tls[] = {
        {MHD_OPTION_HTTPS_MEM_CERT, 0, tls != NULL ? tls->certificate : NULL},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, tls != NULL ? tls->key : NULL},
        {MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)(gsize)HANDSHAKE_PRIORITIES},
        {MHD_OPTION_END, 0, NULL},
    };
    unsigned flags = MHD_USE_NO_LISTEN_SOCKET | MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG |
                     (tls != NULL ? MHD_USE_TLS : 0);
    return MHD_start_daemon(flags, 0, traffic_on_accept, listener, traffic_on_request, listener, /* */
                            MHD_OPTION_EXTERNAL_LOGGER, traffic_on_log, listener, MHD_OPTION_CONNECTION_LIMIT,
                            (unsigned)CONNECTIONS_CEILING, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
                            (size_t)SERVER_HEADERS_MAX, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)SILENCE_SECONDS,
                            MHD_OPTION_STRICT_FOR_CLIENT, head_strictness(), MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1,
                            MHD_OPTION_NOTIFY_CONNECTION, traffic_on_connection, listener, MHD_OPTION_NOTIFY_COMPLETED,
                            traffic_on_completed, listener, MHD_OPTION_URI_LOG_CALLBACK, traffic_on_uri, listener,
                            MHD_OPTION_ARRAY, tls != NULL ? with_tls : with_tls + 3, MHD_OPTION_END);
}

static gboolean on_arrivals(int fd, GIOCondition condition, gpointer data);

static gboolean
on_shortage_over(gpointer data)
{
    Daemon *daemon = data;
    daemon->accepting = g_unix_fd_add(daemon->fd, G_IO_IN, on_arrivals, daemon);
    return G_SOURCE_REMOVE;
}

static gboolean
on_arrivals(int fd, GIOCondition condition, gpointer data)
{
    Daemon *daemon = data;
    if (traffic_accept(&daemon->listener, daemon->mhd, fd))
        return G_SOURCE_CONTINUE;
    daemon->accepting = g_timeout_add(SHORTAGE_MS, on_shortage_over, daemon);
    return G_SOURCE_REMOVE;
}

static Daemon *
start_daemon(Server *server, const Listener *listener, const Address *address, GError **error)
{
    Daemon *daemon = g_new0(Daemon, 1);
    daemon->listener.traffic = &server->traffic;
    daemon->listener.own_users = listener->kind == SERVER_SOCKET_OURS;
    daemon->listener.kind = (address_is_local(address) ? EXCHANGE_LOCAL : 0) |
                            (address_is_unix(address) ? EXCHANGE_UNIX : 0) | (listener->tls != NULL ? EXCHANGE_TLS : 0);
    daemon->listener.handshake_us = listener->tls != NULL ? listener->tls->cost_us : 0;
    daemon->mhd = start_mhd(&daemon->listener, listener->tls);
    if (daemon->mhd == NULL) {
        g_autofree char *name = address_format(address);
        g_set_error(error, ADDRESS_ERROR, ADDRESS_ERROR_SOCKET, "cannot serve on %s: libmicrohttpd does not start",
                    name);
        g_free(daemon);
        return NULL;
    }
    daemon->fd = listener->fd;
    g_unix_set_fd_nonblocking(daemon->fd, TRUE, NULL); /* one that was handed over may wait in accept() */
    daemon->accepting = g_unix_fd_add(daemon->fd, G_IO_IN, on_arrivals, daemon);
    daemon->listener.source = mhd_source_new(daemon->mhd);
    g_source_attach(daemon->listener.source, g_main_context_get_thread_default());
    return daemon;
}

/* Makes DAEMON accept no more connections and end with its last one. The socket stays open. */
static void
retire(Server *server, Daemon *daemon)
{
    g_clear_handle_id(&daemon->accepting, g_source_remove);
    g_ptr_array_add(server->retired, daemon);
}

/* ---- the end of connections ---- */

static gboolean
on_sweep(gpointer data)
{
    Server *server = data;
    server->sweep = 0;
    for (guint i = server->retired->len; i > 0; i--) {
        const Daemon *daemon = server->retired->pdata[i - 1];
        if (daemon->listener.connections == 0)
            g_ptr_array_remove_index_fast(server->retired, i - 1);
    }
    if (server->stopped != NULL && server->traffic.connections.length == 0) {
        void (*stopped)(gpointer) = g_steal_pointer(&server->stopped);
        g_clear_handle_id(&server->deadline, g_source_remove);
        stopped(server->data);
    }
    return G_SOURCE_REMOVE;
}

/* Deferred, since it must not run within libmicrohttpd's callback. */
static void
sweep_soon(gpointer data)
{
    Server *server = data;
    if (server->sweep == 0 && (server->retired->len > 0 || server->stopped != NULL))
        server->sweep = g_idle_add(on_sweep, server);
}

/* ---- the server ---- */

/* Descriptors may have been sent by connections that were not accepted, which end with a unix socket. */
static void
close_socket(const Listener *listener)
{
    Address address;
    if (listener->kind != SERVER_SOCKET_OURS && address_of_listener(listener->fd, &address) &&
        address_is_unix(&address))
        closing_add(listener->fd, geteuid());
    else
        close(listener->fd);
}

static void
free_listener(gpointer data)
{
    Listener *listener = data;
    if (listener->daemon != NULL)
        free_daemon(listener->daemon);
    if (listener->tls != NULL)
        tls_free(listener->tls);
    close_socket(listener);
    g_free(listener);
}

static void
remove_files(const Server *server)
{
    for (guint i = 0; i < server->listeners->len; i++) {
        const Listener *listener = server->listeners->pdata[i];
        const Address *address = &g_array_index(server->addresses, Address, i);
        if (listener->kind == SERVER_SOCKET_OURS && address_is_unix(address))
            reach_unlink(address->socket.local.sun_path);
    }
}

/* Connections use half of the descriptors that this process may have, so that there are some for its own work. */
static PeerLimits
within_descriptors(PeerLimits limits)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0)
        limits.connections = (guint)MIN(limits.connections, MAX(files.rlim_cur / 2 / DESCRIPTORS_OF_CONNECTION, 1));
    return limits;
}

Server *
server_new(const ServerHandler *handler, const ServerLimits *limits)
{
    Server *server = g_new0(Server, 1);
    const ServerLimits fitting = {within_descriptors(limits->peers), limits->timeout_s};
    traffic_init(&server->traffic, handler, &fitting);
    server->traffic.closed = sweep_soon;
    server->traffic.data = server;
    server->listeners = g_ptr_array_new_with_free_func(free_listener);
    server->addresses = g_array_new(FALSE, FALSE, sizeof(Address));
    server->retired = g_ptr_array_new_with_free_func(free_daemon);
    return server;
}

void
server_free(Server *server)
{
    server->stopped = NULL;
    remove_files(server);
    traffic_abandon(&server->traffic);
    for (guint i = 0; i < server->listeners->len; i++) {
        Listener *listener = server->listeners->pdata[i];
        if (listener->daemon != NULL)
            retire(server, g_steal_pointer(&listener->daemon));
    }
    g_ptr_array_set_size(server->retired, 0);
    traffic_clear(&server->traffic);
    g_clear_handle_id(&server->sweep, g_source_remove);
    g_clear_handle_id(&server->deadline, g_source_remove);
    g_ptr_array_unref(server->retired);
    g_ptr_array_unref(server->listeners);
    g_array_unref(server->addresses);
    g_free(server);
}

gboolean
server_add(Server *server, int fd, ServerSocket kind, const Tls *tls, GError **error)
{
    Address address;
    Listener *listener = g_new0(Listener, 1);
    listener->fd = fd;
    listener->kind = kind;
    listener->tls = tls != NULL ? tls_copy(tls) : NULL;
    if (!address_of_listener(fd, &address))
        g_set_error(error, ADDRESS_ERROR, ADDRESS_ERROR_SOCKET,
                    "cannot serve on descriptor %d: not a listening stream socket", fd);
    else
        listener->daemon = start_daemon(server, listener, &address, error);
    if (listener->daemon == NULL) {
        free_listener(listener);
        return FALSE;
    }
    g_ptr_array_add(server->listeners, listener);
    g_array_append_val(server->addresses, address);
    return TRUE;
}

gboolean
server_set_tls(Server *server, const Tls *tls, GError **error)
{
    for (guint i = 0; i < server->listeners->len; i++) {
        Listener *listener = server->listeners->pdata[i];
        if (listener->tls == NULL || tls_equal(listener->tls, tls))
            continue;
        Listener renewed = {.fd = listener->fd, .kind = listener->kind, .tls = tls_copy(tls)};
        renewed.daemon = start_daemon(server, &renewed, &g_array_index(server->addresses, Address, i), error);
        if (renewed.daemon == NULL) {
            tls_free(renewed.tls);
            return FALSE;
        }
        retire(server, listener->daemon);
        tls_free(listener->tls);
        *listener = renewed;
    }
    sweep_soon(server);
    return TRUE;
}

void
server_set_limits(Server *server, const ServerLimits *limits)
{
    const PeerLimits fitting = within_descriptors(limits->peers);
    peers_set_limits(server->traffic.peers, &fitting);
    server->traffic.timeout_s = limits->timeout_s;
}

void
server_end_streams(Server *server, ExchangeTest *ends, gconstpointer data)
{
    traffic_end_streams(&server->traffic, ends, data);
}

const GArray *
server_addresses(const Server *server)
{
    return server->addresses;
}

static gboolean
on_final_deadline(gpointer data)
{
    Server *server = data;
    void (*stopped)(gpointer) = g_steal_pointer(&server->stopped);
    server->deadline = 0;
    stopped(server->data);
    return G_SOURCE_REMOVE;
}

static gboolean
on_deadline(gpointer data)
{
    Server *server = data;
    traffic_abandon(&server->traffic);
    server->deadline = g_timeout_add_seconds(FINAL_ANSWERS_SECONDS, on_final_deadline, server);
    return G_SOURCE_REMOVE;
}

void
server_stop(Server *server, guint timeout_s, void (*stopped)(gpointer data), gpointer data)
{
    server->stopped = stopped;
    server->data = data;
    for (guint i = 0; i < server->listeners->len; i++) {
        Listener *listener = server->listeners->pdata[i];
        if (listener->daemon != NULL)
            retire(server, g_steal_pointer(&listener->daemon));
    }
    remove_files(server);
    g_ptr_array_set_size(server->listeners, 0);
    g_array_set_size(server->addresses, 0);
    server->deadline = g_timeout_add_seconds(timeout_s, on_deadline, server);
    traffic_close(&server->traffic);
    sweep_soon(server);
}

void
server_figures(const Server *server, ServerFigures *figures)
{
    *figures = server->traffic.figures;
    figures->connections = peers_connections(server->traffic.peers);
}
