/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A response. It is immutable after its creation and may be sent for many requests, which share its body. Creation and
 * reference counting are thread-safe; only the server sends it.
 */
#ifndef JESCOPE_HTTP_ANSWER_H
#define JESCOPE_HTTP_ANSWER_H

#include "http/gzip.h"

#include "routes/message.h"

#include <glib.h>

typedef struct Answer Answer;

typedef enum {
    ANSWER_PLAIN,
    ANSWER_GZIP, /* if that pays (gzip_pays()) */
    ANSWER_N_CODINGS,
} AnswerCoding;

/* Takes ownership of BODY. CONTENT_TYPE may be NULL for none. */
Answer *answer_new(unsigned status, const char *content_type, GBytes *body, AnswerCoding coding);

/* The description of an error. */
typedef struct {
    unsigned status;
    const char *code;    /* identifies the error for programs: "not-found" */
    const char *message; /* a sentence for people, without a full stop */
    const char *hint;    /* the remedy, in the same form; NULL: none */
} AnswerFailure;

/* {"error":{"code":...,"message":...,"hint":...}} */
Answer *answer_new_failure(const AnswerFailure *failure);

/* Takes the descriptor of ROUTE; the rest is copied. WISH (may be NULL) can cancel its compression. */
Answer *answer_new_route(RouteReply *route, AnswerCoding coding, const GzipWish *wish);

/* The source of a stream, for one exchange. READ stores at most SIZE bytes and returns their number; 0, after
 * exchange_pause(), if none are available; a negative number at the end. READ and FREE run on the server's thread; FREE
 * is called before the exchange is freed. */
typedef struct {
    gssize (*read)(gpointer data, char *bytes, gsize size);
    void (*free)(gpointer data);
    gpointer data;
} AnswerStream;

Answer *answer_new_stream(const char *content_type, const AnswerStream *source);

/* Adds a header; only before ANSWER is sent or shared. */
void answer_add_header(Answer *answer, const char *name, const char *value);

/* The same, but replaces a header that every answer has (Cache-Control, and Content-Security-Policy of a document). */
void answer_set_header(Answer *answer, const char *name, const char *value);

Answer *answer_ref(Answer *answer);
void answer_unref(Answer *answer);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Answer, answer_unref)

unsigned answer_status(const Answer *answer);

/* Whether IF_NONE_MATCH (a header; NULL: none) matches ETAG, RFC 9110 section 13.1.2. */
gboolean answer_etag_matches(const char *etag, const char *if_none_match);

#endif
