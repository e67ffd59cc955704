/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A response. It is immutable once made, and may answer many requests, which share its body. Creation and references
 * are thread-safe; sending is done by the server.
 */
#ifndef JESCOPE_HTTP_ANSWER_H
#define JESCOPE_HTTP_ANSWER_H

#include "http/gzip.h"

#include "routes/message.h"

#include <glib.h>

typedef struct Answer Answer;

typedef enum {
    ANSWER_PLAIN,
    ANSWER_GZIP, /* where it pays */
    ANSWER_N_CODINGS,
} AnswerCoding;

/* Takes BODY. CONTENT_TYPE may be NULL for none. */
Answer *answer_new(unsigned status, const char *content_type, GBytes *body, AnswerCoding coding);

/* What went wrong. */
typedef struct {
    unsigned status;
    const char *code;    /* one word for programs: "not-found" */
    const char *message; /* a sentence for people, without a full stop */
    const char *hint;    /* the remedy, likewise; NULL: none */
} AnswerFailure;

/* {"error":{"code":...,"message":...,"hint":...}} */
Answer *answer_new_failure(const AnswerFailure *failure);

/* Takes the descriptor of ROUTE; the rest is copied. WISH (may be NULL) is for packing it. */
Answer *answer_new_route(RouteReply *route, AnswerCoding coding, const GzipWish *wish);

/* A stream, for one exchange. READ fills BYTES with at most SIZE bytes and returns their number; 0: none now, after
 * exchange_pause(); negative: the end. It runs on the server's thread, as does FREE, which is called before the
 * exchange is freed. */
typedef struct {
    gssize (*read)(gpointer data, char *bytes, gsize size);
    void (*free)(gpointer data);
    gpointer data;
} AnswerStream;

Answer *answer_new_stream(const char *content_type, const AnswerStream *source);

/* Adds a header; only before it is handed out. */
void answer_add_header(Answer *answer, const char *name, const char *value);

/* The same in place of the one that every answer has (Cache-Control, and Content-Security-Policy of a document). */
void answer_set_header(Answer *answer, const char *name, const char *value);

Answer *answer_ref(Answer *answer);
void answer_unref(Answer *answer);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Answer, answer_unref)

unsigned answer_status(const Answer *answer);

/* Whether IF_NONE_MATCH (a header; NULL: none) names ETAG, RFC 9110 section 13.1.2. */
gboolean answer_etag_matches(const char *etag, const char *if_none_match);

#endif
