/* SPDX-License-Identifier: Apache-2.0 */
/* Common functions of the pprof dialect. */
#ifndef JESCOPE_ROUTES_PPROF_REPLY_H
#define JESCOPE_ROUTES_PPROF_REPLY_H

#include "routes/routes.h"

/* Replies with one sentence, and the header that makes `go tool pprof` show it. */
void pprof_refuse(RouteReply *reply, unsigned status, const char *why);
void pprof_failure(RouteReply *reply, Outcome result, const Failure *failure);

#endif
