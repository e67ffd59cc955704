/* SPDX-License-Identifier: Apache-2.0 */
/* The whole: a service, a server over it, and the rules between them. On the default main context. */
#ifndef JESCOPE_HTTP_SERVE_H
#define JESCOPE_HTTP_SERVE_H

#include "http/server.h"

#include "service/service.h"

#define SERVE_ERROR (serve_error_quark())
GQuark serve_error_quark(void);

typedef enum {
    SERVE_ERROR_EXPOSED,  /* others could reach it, and nothing keeps them from doing as they like */
    SERVE_ERROR_SETTINGS, /* that do not go together */
} ServeError;

enum {
    SERVE_STOP_SECONDS = 10, /* for requests under way; recordings and dumps have the service's own time */
};

typedef struct {
    const char *const *listen; /* addresses, NULL at the end; empty: 127.0.0.1:7469, unless DESCRIPTORS has sockets */
    const GArray *descriptors; /* of int: sockets that listen already, taken by serve_new(); may be NULL */
    const char *tls_certificate, *tls_key; /* files; both or neither */
    const char *token_file;                /* NULL: none */
    gboolean insecure;                     /* no TLS and no token needed */
    gboolean require_token;                /* on this machine's own addresses too */
    const char *const *hosts;              /* further names in Host headers */
    unsigned dialects;                     /* RouteDialect */
    ServerLimits limits;
    ServiceOptions service;
    void (*say)(const char *text, gpointer data); /* what the operator should know, one line without an end */
    gpointer data;
} ServeOptions;

/* Local targets on 127.0.0.1:7469, every dialect. */
extern const ServeOptions serve_options_default;

typedef struct Serve Serve;

/* OPTIONS is copied, but for data. Serves from the next turn of the main context on. */
Serve *serve_new(const ServeOptions *options, GError **error);
void serve_free(Serve *serve);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Serve, serve_free)

/* Takes over all but listen, descriptors and service.history; certificates and tokens are read again. On error all
 * stays as it was. */
gboolean serve_reconfigure(Serve *serve, const ServeOptions *options, GError **error);

/* Whether the targets that were there at the beginning are known. */
gboolean serve_is_ready(const Serve *serve);

/* Where it serves: "http://127.0.0.1:7469", "unix:/run/jescope.sock". Free with g_strfreev(). */
char **serve_places(const Serve *serve);

/* No new requests; those under way are answered, recordings end with their dump and profiling is as it was before. Then
 * STOPPED is called, in bounded time. */
void serve_stop(Serve *serve, void (*stopped)(gpointer data), gpointer data);

#endif
