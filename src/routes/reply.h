/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes replies. A body grows within the reply and, once it is too long for that, in a memfd. Text is formatted by
 * vsnprintf() with strings and integers only, for which it allocates nothing.
 */
#ifndef JESCOPE_ROUTES_REPLY_H
#define JESCOPE_ROUTES_REPLY_H

#include "routes/routes.h"

#define REPLY_TEXT  "text/plain"
#define REPLY_UTF8  "text/plain; charset=utf-8"
#define REPLY_JSON  "application/json"
#define REPLY_BYTES "application/octet-stream"

/* Resets headers and body, and closes the descriptor. CONTENT_TYPE is a literal, or NULL. */
void reply_begin(RouteReply *reply, unsigned status, const char *content_type);

/* Appends to the body. Out of memory, the reply becomes a 500 with an explanation. */
void reply_add(RouteReply *reply, const char *bytes, size_t n);
void reply_print(RouteReply *reply, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A complete reply of one short text. */
void reply_text(RouteReply *reply, unsigned status, const char *content_type, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* A complete reply with the body in DESCRIPTOR, a memfd that the reply then owns. */
void reply_file(RouteReply *reply, const char *content_type, int descriptor);

/* Removes the body from the reply and returns it as a memfd at offset 0, owned by the caller. -1: out of memory. */
int reply_take_body(RouteReply *reply);

/* Adds a header. Characters invalid in headers are replaced; a header that does not fit is omitted. */
void reply_header(RouteReply *reply, const char *name, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Adds Retry-After, if the status is that of OUTCOME_CROWDED. */
void reply_add_retry(RouteReply *reply);

/* The text of a failure in a dialect: jemalloc's error by its usual name, else the failure's sentence. */
const char *reply_failure_text(Outcome result, const Failure *failure);

#endif
