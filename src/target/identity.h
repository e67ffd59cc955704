/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The identity of a process beyond its name, which any process may choose: its user, systemd unit and executable. A
 * restarted service has the same identity; an impostor of another user has not, nor has one in a container, whose root
 * chooses users and paths.
 */
#ifndef JESCOPE_TARGET_IDENTITY_H
#define JESCOPE_TARGET_IDENTITY_H

#include "target/process.h"

typedef struct {
    uid_t user;         /* effective */
    char *unit;         /* "redis-server.service"; "": none */
    char *program;      /* the path of its executable file; "": unreadable */
    gboolean contained; /* its root directory is not ours, as far as it can be seen */
} Identity;

/* The identity of PROCESS, as far as known. */
Identity *identity_new(const Process *process);
/* An identity outside of containers. */
Identity *identity_of(uid_t user, const char *unit, const char *program);
void identity_free(Identity *identity);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Identity, identity_free)

/* Whether LATER is a restart of EARLIER: it has the same user and either the same unit (a service may change its root
 * directory after its start) or the same executable file, with both or neither in a container. */
gboolean identity_continues(const Identity *earlier, const Identity *later);

#endif
