/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the pprof dialect share. */
#ifndef JESCOPE_ROUTES_PPROF_REPLY_H
#define JESCOPE_ROUTES_PPROF_REPLY_H

#include "routes/routes.h"

/* One sentence, with the header that makes `go tool pprof` show it. */
void pprof_refuse(RouteReply *reply, unsigned status, const char *why);
void pprof_failure(RouteReply *reply, RouteResult result, const RouteFailure *failure);

#endif
