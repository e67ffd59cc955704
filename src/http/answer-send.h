/* SPDX-License-Identifier: Apache-2.0 */
/* Sends answers; only for the server. */
#ifndef JESCOPE_HTTP_ANSWER_SEND_H
#define JESCOPE_HTTP_ANSWER_SEND_H

#include "http/answer.h"

#include <microhttpd.h>

/* Queues ANSWER, or 304 if the client already has it; if IS_LAST, the connection is closed after it. Others may send it
 * at the same time, and are not affected. */
enum MHD_Result answer_queue(const Answer *answer, struct MHD_Connection *connection, const char *method,
                             gboolean is_last);

/* The maximum number of bytes sent; G_MAXUINT64 for a stream. */
guint64 answer_size(const Answer *answer);

/* Ends a stream, since its exchange is over. */
void answer_end(Answer *answer);

/* FAILURE as a complete HTTP response, after which the connection is closed. */
GBytes *answer_failure_response(const AnswerFailure *failure);

/* ANSWER to METHOD as a complete HTTP response, after which the connection is closed, if it has its own reason phrase,
 * which some old clients read; libmicrohttpd sends only standard ones. NULL if the standard phrase suffices. */
GBytes *answer_wire_text(const Answer *answer, const char *method);

#endif
