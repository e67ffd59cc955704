/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drops privileges of root's server before it accepts requests: all capabilities except those for reaching other users'
 * processes, and the right to gain new ones; if it holds secrets, other processes of its user cannot dump or trace it.
 */
#ifndef JESCOPE_CLI_SERVE_PRIVILEGES_H
#define JESCOPE_CLI_SERVE_PRIVILEGES_H

#include <glib.h>

typedef enum {
    SERVE_REACHES_BY_PTRACE = 1 << 0, /* targets are named, and may lack an agent */
    SERVE_FOLLOWS_EXITS = 1 << 3,     /* exits of processes, by target/exit-events.h */
    SERVE_NEEDS_NOTHING = 1 << 2,     /* another process reaches the targets: no capability is kept */
    SERVE_HOLDS_SECRETS = 1 << 1,     /* tokens, or the key of a certificate */
} ServeNeeds;

/* For the calling thread and those it creates: must be called before there are others. */
gboolean serve_privileges_reduce(ServeNeeds needs, GError **error);

/* Must be called while still root. */
gboolean serve_privileges_empty_bounding_set(GError **error);

/* For the process; may be called at any time. */
void serve_privileges_guard_secrets(void);

#endif
