/* SPDX-License-Identifier: Apache-2.0 */
#include "http/serve.h"

#include "http/flights.h"
#include "http/site.h"

#include <string.h>
#include <unistd.h>

G_DEFINE_QUARK(jescope - serve - error, serve_error)

const ServeOptions serve_options_default = {
    .dialects = ROUTE_DIALECT_ALL,
    .limits = {.peers = {.connections = 1024, .per_peer = 512, .rate = 1000}, .timeout_s = 30},
};

struct Serve {
    Service *service;
    Server *server;
    Tokens *tokens;
    Tls *tls;
    char **hosts;
    Site site;
    guint ending; /* of service and server: those that still work */
    void (*stopped)(gpointer data);
    gpointer data;
};

/* ---- settings ---- */

/* What is read from files before anything of a Serve changes. */
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

/* An address that others can reach needs what keeps them out. */
static gboolean
check_exposure(const ServeOptions *options, const Address *address, GError **error)
{
    if (options->insecure || address_is_local(address) ||
        (options->token_file != NULL && options->tls_certificate != NULL))
        return TRUE;
    g_autofree char *name = address_format(address);
    g_set_error(error, SERVE_ERROR, SERVE_ERROR_EXPOSED,
                "others can reach %s; give --token-file, --tls-cert and --tls-key, or say --insecure if anybody there "
                "may control these processes",
                name);
    return FALSE;
}

static void
set_site(Serve *serve, const ServeOptions *options)
{
    g_strfreev(serve->hosts);
    serve->hosts = g_strdupv((char **)(gsize)options->hosts);
    serve->site.rules = (GuardRules){
        .tokens = serve->tokens,
        .hosts = (const char *const *)serve->hosts,
        .local_needs_token = options->require_token,
        .others_need_no_token = options->insecure && options->token_file == NULL,
    };
    serve->site.dialects = options->dialects;
    serve->site.say = options->say;
    serve->site.data = options->data;
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
    return named || given > 0 || add_address(serve, options, "127.0.0.1", error);
}

/* ---- the whole ---- */

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
    set_site(serve, options);
    ServerHandler handler = site_handler(&serve->site);
    serve->site.server = serve->server = server_new(&handler, &options->limits);
    if (!listen_everywhere(serve, options, error))
        return NULL;
    serve->site.service = serve->service = service_new(&options->service, error);
    if (serve->service == NULL)
        return NULL;
    serve->site.flights = flights_new(serve->service);
    return g_steal_pointer(&serve);
}

void
serve_free(Serve *serve)
{
    g_clear_pointer(&serve->server, server_free);
    g_clear_pointer(&serve->site.flights, flights_free);
    g_clear_pointer(&serve->service, service_free);
    g_clear_pointer(&serve->tokens, tokens_free);
    g_clear_pointer(&serve->tls, tls_free);
    g_strfreev(serve->hosts);
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
    flights_forget(serve->site.flights);
    server_set_limits(serve->server, &options->limits);
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
    for (guint i = 0; i < addresses->len; i++) {
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
