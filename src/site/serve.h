/* SPDX-License-Identifier: Apache-2.0 */
/* The complete server: a service, an HTTP server for it, and the rules between them. On the default main context. */
#ifndef JESCOPE_SITE_SERVE_H
#define JESCOPE_SITE_SERVE_H

#include "http/server.h"

#include "routes/route.h"
#include "service/service.h"

#define SERVE_ERROR (serve_error_quark())
GQuark serve_error_quark(void);

typedef enum {
    SERVE_ERROR_EXPOSED,  /* other machines or users could connect, without access control */
    SERVE_ERROR_SETTINGS, /* incompatible settings */
} ServeError;

enum {
    SERVE_STOP_SECONDS = 10, /* for requests in progress; recordings and dumps have the service's own limit */
};

typedef struct ServeOptions ServeOptions;

struct ServeOptions {
    const char *const *listen; /* addresses, NULL at the end; if empty, and DESCRIPTORS has no sockets: 127.0.0.1:7469,
                                  for root SERVE_ROOT_SOCKET */
    const GArray *descriptors; /* of int: listening sockets, taken over by serve_new(); may be NULL */
    const char *tls_certificate, *tls_key;        /* files; both or neither */
    const char *token_file;                       /* NULL: none */
    gboolean insecure;                            /* require neither TLS nor a token */
    gboolean require_token;                       /* on addresses of this machine as well */
    gboolean trust_local;                         /* every user of this machine may control every target */
    const char *const *hosts;                     /* additional names accepted in Host headers */
    unsigned dialects;                            /* RouteDialect */
    unsigned grants;                              /* RouteGrant */
    guint64 sampler_memory_max;                   /* as RouteHost.sampler_memory_max */
    const char *store;                            /* clickhouse://HOST:PORT/DATABASE for /api/v1/fleet; NULL: none */
    const char *store_token_file, *store_ca_file; /* for the store; NULL: none */
    const char *userver_path;                     /* a second path of userver's handler, "/admin/heap"; NULL: none */
    ServerLimits limits;
    ServiceOptions service;
    /* Called by serve_new() after sockets are created and before threads are; may be NULL. */
    gboolean (*listening)(const ServeOptions *options, GError **error);
    void (*say)(const char *text, gpointer data); /* a message for the operator, one line without a newline */
    gpointer data;
};

/* The default address of root's server, to which only root can connect. */
#define SERVE_ROOT_SOCKET "/run/jescope/serve.sock"

/* Local targets, every dialect. */
extern const ServeOptions serve_options_default;

typedef struct Serve Serve;

/* OPTIONS is copied, except data. Serves from the next iteration of the main context on. */
Serve *serve_new(const ServeOptions *options, GError **error);
void serve_free(Serve *serve);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Serve, serve_free)

/* Applies all but listen, descriptors and service.history; rereads certificates and tokens. On error nothing
 * changes. */
gboolean serve_reconfigure(Serve *serve, const ServeOptions *options, GError **error);

/* Whether the first search for targets is complete. */
gboolean serve_is_ready(const Serve *serve);

/* The addresses that were named or given: "http://127.0.0.1:7469", "unix:/run/jescope.sock". Free with g_strfreev(). */
char **serve_places(const Serve *serve);

/* Rejects new requests; those in progress are answered, recordings end with their dump and the earlier state of
 * profiling is restored. Then STOPPED is called, in bounded time. */
void serve_stop(Serve *serve, void (*stopped)(gpointer data), gpointer data);

#endif
