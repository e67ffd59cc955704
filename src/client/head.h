/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the head of an HTTP answer may be, for each user of libcurl: libcurl keeps all of it in memory, and decompresses
 * as many times as it says, whether that was asked for or not (Transfer-Encoding, before libcurl 8.7). Streams that are
 * compressed several times can expand without end before a byte of them arrives, and meanwhile libcurl looks at no
 * deadline and calls nothing.
 */
#ifndef JESCOPE_CLIENT_HEAD_H
#define JESCOPE_CLIENT_HEAD_H

#include <glib.h>

enum {
    HEAD_MAX = 64 * 1024,
    HEAD_CODINGS_MAX = 1,
};

/* The head of an answer so far, at first all zero. */
typedef struct {
    gsize bytes;
    guint codings; /* compressions that it names */
} Head;

/* Takes the next line, of N bytes, as CURLOPT_HEADERFUNCTION gets it; FALSE: the answer is not to be received. */
gboolean head_take(Head *head, const char *line, gsize n);

gboolean head_is_too_large(const Head *head);
gboolean head_is_coded_again(const Head *head);

#endif
