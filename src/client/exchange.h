/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP requests to one server, with libcurl, which is loaded when the first one is made
 * (docs/decisions/0014-libcurl.md).
 *
 * The server is not trusted: what it sends is bounded in bytes and in time, after decompression; redirects are not
 * followed; proxies, ~/.netrc and cookies are not used. Certificates are verified. A connection belongs to one thread
 * at a time and is kept for the next request.
 */
#ifndef JESCOPE_CLIENT_EXCHANGE_H
#define JESCOPE_CLIENT_EXCHANGE_H

#include "client/url.h"

typedef struct Connection Connection;

typedef struct {
    const char *token_file; /* of the bearer token; NULL: none is sent */
    const char *ca_file;    /* certificates to trust instead of the system's; NULL: those */
} ClientAccess;

typedef struct {
    const char *method; /* "GET", "PUT", "POST" or "DELETE" */
    const char *path;   /* behind ClientUrl.base, with its query */
    const char *type;   /* the content type that is expected */
    guint64 limit;      /* bytes that the answer may have */
    guint deadline_ms;  /* for all of it */
} ExchangeRequest;

/* Nothing is connected yet. URL stays the caller's. */
Connection *connection_new(const ClientUrl *url, const ClientAccess *access, GError **error);
void connection_free(Connection *connection);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Connection, connection_free)

/*
 * Returns a read-only descriptor of a memory file with the body, at offset 0. -1 with TARGET_ERROR: OUTCOME_NO_AGENT
 * (no connection), OUTCOME_SILENT (deadline), OUTCOME_TOO_LARGE, OUTCOME_PROTOCOL (not an answer of jescope), or what
 * the server's own error says, with its message.
 */
int connection_exchange(Connection *connection, const ExchangeRequest *request, GError **error);

/* What a connection does with an answer that has no end. Called on the thread of connection_follow(). */
typedef struct {
    gboolean (*take)(const char *bytes, gsize length, gpointer data); /* FALSE: enough */
    gboolean (*goes_on)(gpointer data);                               /* asked about once a second; FALSE: enough */
    gpointer data;
} ExchangeStream;

/*
 * GET of PATH, an event stream, until it ends, STREAM has enough of it, or nothing has come for SILENCE_MS (servers
 * send a comment every 15 s). CONNECTION is used for nothing else. Returns the status of the answer, of which STREAM
 * gets nothing unless it is 200; 0: there was none.
 */
long connection_follow(Connection *connection, const char *path, guint silence_ms, const ExchangeStream *stream);

/*
 * Sends a JSON document to URL, which need not be a jescope's: as above, redirects are not followed. The answer is not
 * looked at beyond its status, which is returned; 0 with TARGET_ERROR: there was none within DEADLINE_MS.
 */
long connection_post_json(const char *url, const char *json, guint deadline_ms, GError **error);

#endif
