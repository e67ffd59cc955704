/* SPDX-License-Identifier: Apache-2.0 */
/* The sending side of answers, for the server alone. */
#ifndef JESCOPE_HTTP_ANSWER_SEND_H
#define JESCOPE_HTTP_ANSWER_SEND_H

#include "http/answer.h"

#include <microhttpd.h>

/* Queues REPLY, or 304 if the client has it already. */
enum MHD_Result answer_queue(Answer *answer, struct MHD_Connection *connection, const char *method);

/* The maximum number of bytes sent; G_MAXUINT64 for a stream. */
guint64 answer_size(const Answer *answer);

/* The exchange is over: a stream ends. */
void answer_end(Answer *answer);

/* FAILURE as a whole HTTP response. The connection ends after it. */
GBytes *answer_last_words(const AnswerFailure *failure);

/* Some clients of old read the words behind the status, and libmicrohttpd has none but its own. NULL: those will do.
 * Otherwise ANSWER to METHOD as a whole HTTP response. The connection ends after it. */
GBytes *answer_wire_text(const Answer *answer, const char *method);

#endif
