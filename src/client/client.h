/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Targets of another jescope: `jescope serve`, or a program with libjescope, anywhere. They are Targets like the others
 * (target/target.h), whose operations are requests to the server's native API (docs/api.md).
 *
 * target_pid() is 0, since the process is not on this machine, nor are its files, so that the server names functions:
 * target_dump_named().
 */
#ifndef JESCOPE_CLIENT_CLIENT_H
#define JESCOPE_CLIENT_CLIENT_H

#include "client/exchange.h"
#include "target/target.h"

#include <jansson.h>

/* Whether NAME is a URL, right or wrong: it has "://". */
gboolean client_is_url(const char *name);

/* The target that URL names (client/url.h), or the only one of its server. */
Target *client_open(const char *url, const ClientAccess *access, GError **error);

/* What the server answers to GET of BELOW ("/ledger") behind the path of TARGET, one of client_open(); new reference.
 * The answer is JSON and not looked at otherwise. NULL with TARGET_ERROR. */
json_t *client_document(Target *target, const char *below, guint deadline_ms, GError **error);

#endif
