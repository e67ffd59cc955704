/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Targets of another jescope: `jescope serve`, or a program with libjescope, on any machine. They are Targets like the
 * others (target/target.h), whose operations are requests to the server's native API (docs/api.md).
 *
 * target_pid() is 0: neither the process nor its files are on this machine, so the server resolves function names:
 * target_dump_named().
 */
#ifndef JESCOPE_CLIENT_CLIENT_H
#define JESCOPE_CLIENT_CLIENT_H

#include "client/exchange.h"
#include "target/target.h"

#include <jansson.h>

/* Whether NAME is a URL, valid or not: it contains "://". */
gboolean client_is_url(const char *name);

/* The target that URL names (client/url.h), or the only one of its server. */
Target *client_open(const char *url, const ClientAccess *access, GError **error);

/* The server's answer to GET of BELOW ("/ledger") after the path of TARGET, which client_open() returned; new
 * reference. The answer is JSON and otherwise unchecked. NULL with TARGET_ERROR. */
json_t *client_document(Target *target, const char *below, guint deadline_ms, GError **error);

#endif
