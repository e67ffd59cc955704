/* SPDX-License-Identifier: Apache-2.0 */
/* Where to push: a URL, and what is needed to be let in there. */
#ifndef JESCOPE_EXPORT_DESTINATION_H
#define JESCOPE_EXPORT_DESTINATION_H

#include <glib.h>

typedef struct ExportSink ExportSink;

typedef enum {
    EXPORT_FILES, /* a directory: NAME:///PATH */
    EXPORT_TLS,   /* NAME://HOST is https */
    EXPORT_CLEAR, /* NAME://HOST is http, as this system's own URLs are */
} ExportTransport;

/* Files, none of which others than their owner may read if they hold secrets. NULL: none. */
typedef struct {
    const char *token_file; /* a bearer token; for s3 a line "KEY-ID SECRET" */
    const char *ca_file;    /* trusted instead of the system's authorities */
    const char *cert_file;  /* our certificate for TLS, with key_file */
    const char *key_file;
} ExportAccess;

typedef struct {
    const ExportSink *sink;
    char *text;           /* the URL as given */
    char *base;           /* "https://host:port/path", without a slash at its end; of files the directory */
    char *path;           /* of base: "/path"; "" if it has none */
    char *origin;         /* of base: "https://host:port" */
    GHashTable *settings; /* of the query: name -> value, decoded */
    gboolean in_clear;    /* can be read on its way: no TLS, and another machine */
    ExportAccess access;  /* its strings are the destination's */
    gint *ends; /* atomic, the owner's to set: while it is not 0, requests end without an answer; NULL: none */
} Destination;

/* NULL with EXPORT_ERROR_DESTINATION. A URL with a user or password is refused: it would be seen in lists of processes.
 */
Destination *destination_new(const char *url, const ExportAccess *access, GError **error);
void destination_free(Destination *destination);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Destination, destination_free)

/* A setting of the query, or ABSENT. */
const char *destination_setting(const Destination *destination, const char *name, const char *absent);

/* FALSE with an error if the query has a name that is not in KNOWN (NULL-terminated). For ExportSink.new. */
gboolean destination_check_settings(const Destination *destination, const char *const *known, GError **error);

#endif
