/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks the head of a request as RFC 9112 requires. libmicrohttpd 0.9 reads heads more leniently than a proxy in front
 * of it may: it takes the first of several Content-Length, ignores one before a Transfer-Encoding, takes a blank before
 * the colon and a continued line for part of the name. If two parties disagree about the end of a request, the second
 * answers a request that the first never saw. Such a request is refused and its connection closed.
 *
 * Some faults cannot be seen, since libmicrohttpd 0.9 overwrites the ends of lines and colons with NULs: a NUL that was
 * sent in the place of the CR before an LF, and "\n\0\0\n" or "\r\n:\n" in the place of "\r\n\r\n". It also skips lines
 * before the request that begin with a NUL.
 */
#ifndef JESCOPE_HTTP_HEAD_H
#define JESCOPE_HTTP_HEAD_H

#include <glib.h>
#include <microhttpd.h>

/* The request line, as libmicrohttpd's access handler and URI callback got it. */
typedef struct {
    const char *method;
    const char *target;
    const char *version;
} HeadLine;

/* NULL: the head is unambiguous. Else the error, a phrase. */
const char *head_fault(struct MHD_Connection *mhd, const HeadLine *line);

/* Whether the headers read so far include a Content-Length that is not a number below 2^64. */
gboolean head_has_bad_length(struct MHD_Connection *mhd);

/* The value of MHD_OPTION_STRICT_FOR_CLIENT: what libmicrohttpd 0.9 refuses by itself, it refuses with two heads in one
 * answer or with none. */
int head_strictness(void);

#endif
