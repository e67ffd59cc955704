/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP requests to one server with libcurl, which is loaded for the first one (docs/decisions/0014-libcurl.md).
 *
 * The server is not trusted: its responses are bounded in bytes and in time, after decompression; redirects are not
 * followed; proxies, ~/.netrc and cookies are not used. Certificates are verified. A connection belongs to one thread
 * at a time and is kept for the next request.
 */
#ifndef JESCOPE_CLIENT_EXCHANGE_H
#define JESCOPE_CLIENT_EXCHANGE_H

#include "client/loopback.h"
#include "client/url.h"

typedef struct Connection Connection;

typedef struct {
    const char *token_file; /* of the bearer token; NULL: none is sent */
    const char *ca_file;    /* certificates to trust instead of the system's; NULL: the system's */
} ClientAccess;

typedef struct {
    const char *method; /* "GET", "PUT", "POST" or "DELETE" */
    const char *path;   /* appended to ClientUrl.base, with its query */
    const char *type;   /* the expected content type */
    guint64 limit;      /* maximum size of the response in bytes */
    guint deadline_ms;  /* for the whole exchange */
    gboolean is_quick;  /* one of the many of a command, which share an allowance of time */
} ExchangeRequest;

/* What the quick requests to one server may take together. It recovers by a quarter of the time without one. */
#define CONNECTION_PATIENCE_MS 20000

/* Connects at the first request. URL remains owned by the caller. */
Connection *connection_new(const ClientUrl *url, const ClientAccess *access, GError **error);
void connection_free(Connection *connection);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Connection, connection_free)

/* A sentence that says whose server it is if that is another user on a loopback address, who may have the port while
 * the server that is meant does not run; to be freed, NULL: none. Known after a request. */
char *connection_note(const Connection *connection);

/* Sets another allowance for quick requests. For tests. */
void connection_limit_time(Connection *connection, guint milliseconds);

/*
 * Returns a read-only descriptor of a memory file with the body, at offset 0. -1 with TARGET_ERROR: OUTCOME_NO_AGENT
 * (no connection), OUTCOME_SILENT (deadline, or no time left for quick requests), OUTCOME_TOO_LARGE, OUTCOME_PROTOCOL
 * (not a response of jescope), or the server's own error with its message.
 */
int connection_exchange(Connection *connection, const ExchangeRequest *request, GError **error);

/* The receiver of a response without an end. Called on the thread of connection_follow(). */
typedef struct {
    gboolean (*take)(const char *bytes, gsize length, gpointer data); /* FALSE: stop */
    gboolean (*may_continue)(gpointer data);                          /* called about once a second; FALSE: stop */
    gpointer data;
} ExchangeStream;

/*
 * Performs a GET of PATH, an event stream, until it ends, STREAM stops it, or nothing has arrived for SILENCE_MS
 * (servers send a comment every 15 s). CONNECTION must not be used for anything else. Returns the status of the
 * response, of which STREAM receives nothing unless it is 200; 0: there was none.
 */
long connection_follow(Connection *connection, const char *path, guint silence_ms, const ExchangeStream *stream);

/*
 * Sends a JSON document to URL, which need not be a jescope server: as above, redirects are not followed. It is not
 * sent unencrypted to a loopback address where another user listens than SERVER_USER (Loopback.named). Only the status
 * of the response is used, which is returned; 0 with TARGET_ERROR: there was none within DEADLINE_MS.
 */
long connection_post_json(const char *url, uid_t server_user, const char *json, guint deadline_ms, GError **error);

#endif
