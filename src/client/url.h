/* SPDX-License-Identifier: Apache-2.0 */
/* The URLs that name a target of another jescope. */
#ifndef JESCOPE_CLIENT_URL_H
#define JESCOPE_CLIENT_URL_H

#include <glib.h>

typedef struct {
    char *text;        /* "https://host:7469/prefix/targets/4711", as typed */
    char *base;        /* the part before "/api/v1": "https://host:7469/prefix" */
    char *server;      /* for messages: base, or "unix:/run/jescope/serve.sock" */
    char *socket;      /* of http+unix: the path of the socket; else NULL */
    char *id;          /* escaped as in a path; NULL: the URL names none */
    gboolean in_clear; /* the connection is unencrypted and leads to another machine */
} ClientUrl;

/* Parses [http|https]://HOST[:PORT][/PREFIX][/api/v1][/targets/ID], or http+unix://PATH, with "%2F" for each '/' of
 * PATH, and the same after it. FALSE with OUTCOME_INVALID, *url untouched. */
gboolean client_url_parse(const char *text, ClientUrl *url, GError **error);

/* Whether HOST, a name or an address, certainly means this machine. */
gboolean client_url_is_loopback(const char *host);

void client_url_clear(ClientUrl *url);

#endif
