/* SPDX-License-Identifier: Apache-2.0 */
#include "site/serve.h"

#include "site/offload.h"
#include "site/pending.h"
#include "site/sent-files.h"
#include "site/site.h"
#include "site/table.h"
#include "site/web-page.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

G_DEFINE_QUARK(jescope_serve_error, serve_error)

const ServeOptions serve_options_default = {
    .dialects = ROUTE_DIALECT_ALL,
    .limits = {.peers = {.connections = 1024, .per_peer = 512, .rate = 1000}, .timeout_s = 30},
};

enum {
    EXPIRY_SECONDS = 60,
};

struct Serve {
    Service *service;
    Server *server;
    Tokens *tokens;
    Tls *tls;
    char **hosts;
    guint named; /* listeners that were named or given; further ones hold `localhost` */
    Site site;
    guint ending; /* the number of service and server still running */
    void (*stopped)(gpointer data);
    gpointer data;
};

/* ---- settings ---- */

/* The files, which are read before a Serve is changed. */
typedef struct {
    Tokens *tokens;
    Tls *tls;
} Secrets;

static void
clear_secrets(Secrets *secrets)
{
    g_clear_pointer(&secrets->tokens, tokens_free);
    g_clear_pointer(&secrets->tls, tls_free);
}

static gboolean
read_secrets(const ServeOptions *options, Secrets *secrets, GError **error)
{
    if ((options->tls_certificate == NULL) != (options->tls_key == NULL)) {
        g_set_error_literal(error, SERVE_ERROR, SERVE_ERROR_SETTINGS,
                            "--tls-cert and --tls-key belong together; give both");
        return FALSE;
    }
    if (options->require_token && options->token_file == NULL) {
        g_set_error_literal(error, SERVE_ERROR, SERVE_ERROR_SETTINGS, "--require-token needs --token-file");
        return FALSE;
    }
    if (options->token_file != NULL && (secrets->tokens = tokens_read(options->token_file, error)) == NULL)
        return FALSE;
    return options->tls_certificate == NULL ||
           (secrets->tls = tls_read(options->tls_certificate, options->tls_key, error)) != NULL;
}

/* An address that other machines can reach needs access control. */
static gboolean
check_exposure(const ServeOptions *options, const Address *address, GError **error)
{
    if (options->insecure || address_is_local(address) ||
        (options->token_file != NULL && options->tls_certificate != NULL))
        return TRUE;
    g_autofree char *name = address_format(address);
    g_set_error(error, SERVE_ERROR, SERVE_ERROR_EXPOSED,
                "others can reach %s; give --token-file, --tls-cert and --tls-key, or --insecure if all clients there "
                "may control these processes",
                name);
    return FALSE;
}

static void
clear_store(SiteStore *store)
{
    g_free(store->url);
    g_free(store->token_file);
    g_free(store->ca_file);
    *store = (SiteStore){0};
}

static void
set_store(SiteStore *store, const ServeOptions *options)
{
    clear_store(store);
    *store =
        (SiteStore){g_strdup(options->store), g_strdup(options->store_token_file), g_strdup(options->store_ca_file)};
}

static void
set_site(Serve *serve, const ServeOptions *options)
{
    g_strfreev(serve->hosts);
    serve->hosts = g_strdupv((char **)(gsize)options->hosts);
    serve->site.rules = (GuardRules){
        .tokens = serve->tokens,
        .sessions = serve->site.sessions,
        .hosts = (const char *const *)serve->hosts,
        .local_needs_token = options->require_token,
        .localhost_is_shared = serve->site.rules.localhost_is_shared,
        .local_is_trusted = options->trust_local,
        .others_need_no_token = options->insecure && options->token_file == NULL,
    };
    serve->site.tables = site_tables;
    serve->site.dialects = options->dialects;
    serve->site.grants = options->grants;
    serve->site.sampler_memory_max = options->sampler_memory_max;
    set_store(&serve->site.store, options);
    g_free(serve->site.userver_path);
    serve->site.userver_path = g_strdup(options->userver_path);
}

/* ---- listening ---- */

static gboolean
add_socket(Serve *serve, const ServeOptions *options, int fd, ServerSocket kind, GError **error)
{
    Address address;
    if (address_of_listener(fd, &address) && !check_exposure(options, &address, error)) {
        close(fd);
        return FALSE;
    }
    const Tls *tls = address_is_unix(&address) ? NULL : serve->tls;
    return server_add(serve->server, fd, kind, tls, error);
}

static gboolean
add_address(Serve *serve, const ServeOptions *options, const char *text, GError **error)
{
    Address address;
    if (!address_parse(text, &address, error) || !check_exposure(options, &address, error))
        return FALSE;
    int fd = address_listen(&address, error);
    return fd >= 0 && add_socket(serve, options, fd, SERVER_SOCKET_OURS, error);
}

/* A socket that only root can connect to: root's server reaches every user's processes. */
static gboolean
add_default(Serve *serve, const ServeOptions *options, GError **error)
{
    if (geteuid() != 0)
        return add_address(serve, options, "127.0.0.1", error);
    g_autofree char *directory = g_path_get_dirname(SERVE_ROOT_SOCKET);
    if (mkdir(directory, 0755) != 0 && errno != EEXIST) {
        int code = errno;
        g_set_error(error, SERVE_ERROR, SERVE_ERROR_SETTINGS,
                    "cannot create '%s' for the server's socket: %s; choose another path with --listen", directory,
                    g_strerror(code));
        return FALSE;
    }
    return add_address(serve, options, "unix:" SERVE_ROOT_SOCKET, error);
}

static gboolean
listen_everywhere(Serve *serve, const ServeOptions *options, GError **error)
{
    guint given = options->descriptors != NULL ? options->descriptors->len : 0;
    for (guint i = 0; i < given; i++)
        if (!add_socket(serve, options, g_array_index(options->descriptors, int, i), SERVER_SOCKET_GIVEN, error))
            return FALSE;
    gboolean named = options->listen != NULL && *options->listen != NULL;
    for (guint i = 0; named && options->listen[i] != NULL; i++)
        if (!add_address(serve, options, options->listen[i], error))
            return FALSE;
    return named || given > 0 || add_default(serve, options, error);
}

/* ---- localhost ---- */

static gboolean
has_listener(const Serve *serve, const Address *wanted)
{
    const GArray *addresses = server_addresses(serve->server);
    for (guint i = 0; i < addresses->len; i++)
        if (address_covers(&g_array_index(addresses, Address, i), wanted))
            return TRUE;
    return FALSE;
}

/* Whether what this process listens on is on the machine of listener I: systemd may hand over a socket of another
 * network namespace. */
static gboolean
is_in_our_network(const ServeOptions *options, guint i)
{
    guint given = options->descriptors != NULL ? options->descriptors->len : 0;
    return i >= given || address_is_of_our_network(g_array_index(options->descriptors, int, i));
}

/* Listens on ADDRESS, too. FALSE if another program can. */
static gboolean
hold(Serve *serve, const Address *address)
{
    int fd = address_listen(address, NULL);
    return fd >= 0 ? server_add(serve->server, fd, SERVER_SOCKET_OURS, NULL, NULL) : !address_exists(address);
}

static void
refuse_localhost(Serve *serve, const ServeOptions *options, const Address *address, const Address *other)
{
    g_autofree char *ours = address_format(address), *others = address_format(other);
    g_autofree char *text = g_strdup_printf("'localhost' is not accepted as the name of this server, since another "
                                            "program may listen on %s; use http://%s",
                                            others, ours);
    serve->site.rules.localhost_is_shared = TRUE;
    if (options->say != NULL)
        options->say(text, options->data);
}

/* Browsers connect to 127.0.0.1 or [::1] for `localhost`. A page that another user serves at one of them would be of
 * the same origin as ours at the other one. With TLS, he has no key. */
static void
hold_localhost(Serve *serve, const ServeOptions *options)
{
    serve->named = server_addresses(serve->server)->len;
    for (guint i = 0; serve->tls == NULL && i < serve->named; i++) {
        const Address address = g_array_index(server_addresses(serve->server), Address, i);
        Address other;
        if (address_other_of_localhost(&address, &other) && !has_listener(serve, &other) &&
            (!is_in_our_network(options, i) || !hold(serve, &other)))
            refuse_localhost(serve, options, &address, &other);
    }
}

/* ---- the whole ---- */

/* Connections opened by a session end with it. */
static gboolean
expire(gpointer data)
{
    Serve *serve = data;
    if (sessions_expire(serve->site.sessions, g_get_monotonic_time()) > 0)
        server_end_streams(serve->server, guard_session_is_over, &serve->site.rules);
    sent_files_expire(serve->site.sent);
    service_expire(serve->service);
    return G_SOURCE_CONTINUE;
}

Serve *
serve_new(const ServeOptions *options, GError **error)
{
    Secrets secrets = {0};
    if (!read_secrets(options, &secrets, error)) {
        clear_secrets(&secrets);
        return NULL;
    }
    g_autoptr(Serve) serve = g_new0(Serve, 1);
    serve->tokens = secrets.tokens;
    serve->tls = secrets.tls;
    serve->site.sessions = sessions_new();
    serve->site.sent = sent_files_new();
    serve->site.event_text = g_string_new(NULL);
    turns_init(&serve->site.scrapes, SITE_SCRAPES_MAX, SITE_SCRAPES_OF_PEER_MAX);
    offload_begin(&serve->site);
    set_site(serve, options);
    serve->site.audit = audit_new(options->say, options->data);
    serve->site.page = web_page_new();
    ServerHandler handler = site_handler(&serve->site);
    serve->site.server = serve->server = server_new(&handler, &options->limits);
    if (!listen_everywhere(serve, options, error))
        return NULL;
    hold_localhost(serve, options);
    if (options->listening != NULL && !options->listening(options, error))
        return NULL;
    serve->site.service = serve->service = service_new(&options->service, error);
    if (serve->service == NULL)
        return NULL;
    serve->site.pending = pending_table_new(&serve->site);
    serve->site.expiry = g_timeout_add_seconds(EXPIRY_SECONDS, expire, serve);
    return g_steal_pointer(&serve);
}

void
serve_free(Serve *serve)
{
    g_clear_pointer(&serve->server, server_free);
    g_clear_pointer(&serve->site.pending, pending_table_free);
    g_clear_pointer(&serve->service, service_free);
    turns_clear(&serve->site.scrapes);
    offload_end(&serve->site);
    g_string_free(serve->site.event_text, TRUE);
    g_clear_handle_id(&serve->site.expiry, g_source_remove);
    g_clear_pointer(&serve->site.sessions, sessions_free);
    g_clear_pointer(&serve->site.sent, sent_files_free);
    g_clear_pointer(&serve->site.audit, audit_free);
    g_clear_pointer(&serve->site.page, web_page_free);
    g_clear_pointer(&serve->tokens, tokens_free);
    g_clear_pointer(&serve->tls, tls_free);
    g_strfreev(serve->hosts);
    g_free(serve->site.userver_path);
    clear_store(&serve->site.store);
    g_free(serve);
}

static gboolean
check_all_exposures(const Serve *serve, const ServeOptions *options, GError **error)
{
    const GArray *addresses = server_addresses(serve->server);
    for (guint i = 0; i < addresses->len; i++)
        if (!check_exposure(options, &g_array_index(addresses, Address, i), error))
            return FALSE;
    return TRUE;
}

static gboolean
check_tls(const Serve *serve, const Secrets *secrets, GError **error)
{
    if ((serve->tls != NULL) == (secrets->tls != NULL))
        return TRUE;
    g_set_error_literal(error, SERVE_ERROR, SERVE_ERROR_SETTINGS,
                        "TLS cannot be switched on or off by a reload; restart the server");
    return FALSE;
}

static gboolean
is_any(const Exchange *exchange, gconstpointer unused)
{
    return TRUE;
}

gboolean
serve_reconfigure(Serve *serve, const ServeOptions *options, GError **error)
{
    Secrets secrets = {0};
    if (!read_secrets(options, &secrets, error) || !check_tls(serve, &secrets, error) ||
        !check_all_exposures(serve, options, error) || !service_reconfigure(serve->service, &options->service, error) ||
        (secrets.tls != NULL && !server_set_tls(serve->server, secrets.tls, error))) {
        clear_secrets(&secrets);
        return FALSE;
    }
    Secrets old = {.tokens = serve->tokens, .tls = serve->tls};
    serve->tokens = secrets.tokens;
    serve->tls = secrets.tls;
    set_site(serve, options);
    pending_table_forget(serve->site.pending);
    server_set_limits(serve->server, &options->limits);
    server_end_streams(serve->server, is_any, NULL);
    clear_secrets(&old);
    return TRUE;
}

gboolean
serve_is_ready(const Serve *serve)
{
    return service_has_looked(serve->service);
}

char **
serve_places(const Serve *serve)
{
    g_autoptr(GStrvBuilder) places = g_strv_builder_new();
    const GArray *addresses = server_addresses(serve->server);
    for (guint i = 0; i < serve->named; i++) {
        const Address *address = &g_array_index(addresses, Address, i);
        g_autofree char *name = address_format(address);
        g_autofree char *url = address_is_unix(address)
                                   ? g_strdup(name)
                                   : g_strconcat(serve->tls != NULL ? "https://" : "http://", name, NULL);
        g_strv_builder_add(places, url);
    }
    return g_strv_builder_end(places);
}

static void
one_has_ended(gpointer data)
{
    Serve *serve = data;
    if (--serve->ending == 0)
        serve->stopped(serve->data);
}

void
serve_stop(Serve *serve, void (*stopped)(gpointer data), gpointer data)
{
    serve->stopped = stopped;
    serve->data = data;
    serve->ending = 2;
    server_stop(serve->server, SERVE_STOP_SECONDS, one_has_ended, serve);
    service_stop(serve->service, one_has_ended, serve);
}
