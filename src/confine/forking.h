/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Children of a process that has sockets of other users. A child inherits them all, and who closes the last reference
 * to one may wait for as long as its user likes. So one child begins after the other, each of which closes them before
 * the next begins, and a child that is to close the last references ends while no other one begins.
 */
#ifndef JESCOPE_CONFINE_FORKING_H
#define JESCOPE_CONFINE_FORKING_H

#include <glib.h>
#include <sys/types.h>

enum { FORKING_BELOW = 64 }; /* the child may use any descriptor below it before it has begun */

/* fork(), except that the caller returns once the child has called forking_child_began(), or has ended. Thread-safe. */
pid_t forking_fork(void);

/* In the child: closes the descriptors from FIRST to LAST, but not that of forking_child_began(). FALSE: the kernel
 * cannot. */
gboolean forking_close(guint first, guint last);

/* In the child: it has closed what it does not need. */
void forking_child_began(void);

/* No child begins in between but by forking_fork_locked(), which is forking_fork() then; it has no such lock. */
void forking_lock(void);
pid_t forking_fork_locked(void);
void forking_unlock(void);

#endif
