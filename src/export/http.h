/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP requests of sinks to one destination, with libcurl. As in client/exchange.h the server is not trusted: answers
 * are bounded in bytes and time; redirects are not followed, since they would send the token and profiles to another
 * host; proxies, ~/.netrc and cookies are not used; certificates are verified, TLS is 1.2 or later. An Http is used by
 * one thread at a time and keeps its connection open.
 */
#ifndef JESCOPE_EXPORT_HTTP_H
#define JESCOPE_EXPORT_HTTP_H

#include "export/sink.h"

typedef struct Http Http;

typedef struct {
    const char *method;         /* "PUT", "POST" or "GET" */
    const char *url;            /* the full URL */
    const char *const *headers; /* "Name: value", NULL at the end; or NULL */
    gconstpointer body;
    gsize length;
    guint64 limit;     /* maximum bytes of the answer to read; 0: HTTP_ANSWER_MAX */
    guint deadline_ms; /* for the whole exchange; 0: HTTP_DEADLINE_MS */
} HttpRequest;

enum {
    HTTP_ANSWER_MAX = 64 * 1024,
    HTTP_DEADLINE_MS = 60 * 1000,
};

typedef struct {
    long status;
    guint retry_after_s; /* from Retry-After, 0: none */
    GString *body;       /* up to the limit */
    gboolean cut;        /* the answer was longer */
} HttpAnswer;

void http_answer_clear(HttpAnswer *answer);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(HttpAnswer, http_answer_clear)

typedef enum {
    HTTP_BEARER, /* the token is sent as "Authorization: Bearer" */
    HTTP_BASIC,  /* the line "USER PASSWORD" of the token file, as "Authorization: Basic" */
    HTTP_SIGNED, /* requests are signed with AWS SigV4, for the service "s3" */
} HttpCredentials;

/* Reads the files of destination->access. REGION is for HTTP_SIGNED. The setting "tenant" of the URL, where the sink
 * permits it, becomes the header X-Scope-OrgID. */
Http *http_new(const Destination *destination, HttpCredentials credentials, const char *region, GError **error);
void http_free(Http *http);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Http, http_free)

/* FALSE with EXPORT_ERROR_UNREACHED if there is no answer. */
gboolean http_send(Http *http, const HttpRequest *request, HttpAnswer *answer, GError **error);

/* Maps the status of ANSWER to an outcome: 2xx is success; 400, 413 and 422 refuse the content. All others are to be
 * retried: 429 and 5xx may pass, and the operator may correct a token, path or redirect. reply->doubtful is set if the
 * content may be the cause. */
ExportOutcome http_outcome(const Http *http, const HttpAnswer *answer, ExportReply *reply, GError **error);

/* http_send() and http_outcome(), for sinks that ignore the content of the answer. */
ExportOutcome http_deliver(Http *http, const HttpRequest *request, ExportReply *reply, GError **error);

#endif
