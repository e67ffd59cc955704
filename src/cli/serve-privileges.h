/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drops privileges of root's server before it accepts requests: all capabilities that it does not need for reaching
 * other users' processes, and gaining new ones; if it holds secrets, it cannot be dumped or traced by other processes
 * of its user.
 */
#ifndef JESCOPE_CLI_SERVE_PRIVILEGES_H
#define JESCOPE_CLI_SERVE_PRIVILEGES_H

#include <glib.h>

typedef enum {
    SERVE_REACHES_BY_PTRACE = 1 << 0, /* targets are named, and may have no agent */
    SERVE_FOLLOWS_EXITS = 1 << 3,     /* of processes, with target/exit-events.h */
    SERVE_NEEDS_NOTHING = 1 << 2,     /* another process reaches targets: no capability is kept */
    SERVE_HOLDS_SECRETS = 1 << 1,     /* tokens, or the key of a certificate */
} ServeNeeds;

/* Of the calling thread and those it starts: before there are others. */
gboolean serve_privileges_reduce(ServeNeeds needs, GError **error);

/* To be called while still root. */
gboolean serve_privileges_empty_bounding_set(GError **error);

/* Of the process, at any time. */
void serve_privileges_guard_secrets(void);

#endif
