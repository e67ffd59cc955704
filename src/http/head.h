/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks the head of a request as RFC 9112 requires. libmicrohttpd 0.9 may parse heads more leniently than a proxy in
 * front of it: it uses the first of several Content-Length, ignores one before a Transfer-Encoding, and treats a blank
 * before the colon and a continuation line as part of the name. If the two disagree about the end of a request, the
 * server answers a request that the proxy never saw. Such a request is refused and its connection closed.
 *
 * Some errors are invisible, since libmicrohttpd 0.9 overwrites line ends and colons with NULs: a NUL sent in place of
 * the CR before an LF, and "\n\0\0\n" or "\r\n:\n" in place of "\r\n\r\n". It also skips lines before the request that
 * begin with a NUL.
 */
#ifndef JESCOPE_HTTP_HEAD_H
#define JESCOPE_HTTP_HEAD_H

#include <glib.h>
#include <microhttpd.h>

/* The request line as passed to libmicrohttpd's access handler and URI callback. */
typedef struct {
    const char *method;
    const char *target;
    const char *version;
} HeadLine;

/* NULL if the head is unambiguous; otherwise the error, as a phrase. */
const char *head_fault(struct MHD_Connection *mhd, const HeadLine *line);

/* Whether the headers read so far include a Content-Length that is not a number below 2^64. */
gboolean head_has_bad_length(struct MHD_Connection *mhd);

/* The value of MHD_OPTION_STRICT_FOR_CLIENT. It must be lenient with libmicrohttpd 0.9, which sends its own refusals
 * with two heads or with none. */
int head_strictness(void);

#endif
