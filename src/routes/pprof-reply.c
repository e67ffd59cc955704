/* SPDX-License-Identifier: Apache-2.0 */
#include "routes/pprof-reply.h"

#include "routes/reply.h"

void
pprof_refuse(RouteReply *reply, unsigned status, const char *why)
{
    reply_text(reply, status, REPLY_UTF8, "%s\n", why);
    reply_header(reply, "X-Go-Pprof", "1");
}

void
pprof_failure(RouteReply *reply, Outcome result, const Failure *failure)
{
    pprof_refuse(reply, outcome_row(result)->http, reply_failure_text(result, failure));
    reply_add_retry(reply);
}
