/* SPDX-License-Identifier: Apache-2.0 */
/* A destination to push to: a URL and its credentials. */
#ifndef JESCOPE_EXPORT_DESTINATION_H
#define JESCOPE_EXPORT_DESTINATION_H

#include <glib.h>
#include <sys/types.h>

typedef struct ExportSink ExportSink;

typedef enum {
    EXPORT_FILES, /* a directory: NAME:///PATH */
    EXPORT_TLS,   /* NAME://HOST is https */
    EXPORT_CLEAR, /* NAME://HOST is http, as in this system's own URLs */
} ExportTransport;

/* Credential files; NULL: none. Files with secrets must be readable by their owner only. */
typedef struct {
    const char *token_file; /* a bearer token; for s3 the line "KEY-ID SECRET" */
    const char *ca_file;    /* certificate authorities to trust instead of the system's */
    const char *cert_file;  /* the client certificate, with key_file */
    const char *key_file;
} ExportAccess;

typedef struct {
    const ExportSink *sink;
    char *text;           /* the URL as given */
    char *base;           /* "https://host:port/path", without a trailing slash; for files, the directory */
    char *path;           /* path of base: "/path"; "" if it has none */
    char *origin;         /* origin of base: "https://host:port" */
    GHashTable *settings; /* the query: name -> value, decoded */
    gboolean in_clear;    /* sent unencrypted to another machine */
    uid_t server_user;    /* Loopback.named, for a server on a loopback address: the setting "server-user" */
    ExportAccess access;  /* strings owned by the destination */
    /* Set by the owner: once it returns TRUE, requests are aborted. Called about once a second; NULL: never. */
    gboolean (*is_over)(gpointer data);
    gpointer is_over_data;
} Destination;

/* NULL with EXPORT_ERROR_DESTINATION. A URL with a user or password is refused, since process lists would show it. */
Destination *destination_new(const char *url, const ExportAccess *access, GError **error);
void destination_free(Destination *destination);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Destination, destination_free)

/* The value of a setting in the query, or ABSENT. */
const char *destination_setting(const Destination *destination, const char *name, const char *absent);

/* FALSE with an error if the query has a name that is not in KNOWN (NULL-terminated), or "server-user", which every
 * server has. For ExportSink.new. */
gboolean destination_check_settings(const Destination *destination, const char *const *known, GError **error);

#endif
