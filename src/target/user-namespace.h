/* SPDX-License-Identifier: Apache-2.0 */
/* User namespaces: who is responsible for what is in one. */
#ifndef JESCOPE_TARGET_USER_NAMESPACE_H
#define JESCOPE_TARGET_USER_NAMESPACE_H

#include <glib.h>
#include <sys/types.h>

/* Identifies who has made the user namespace of PID; of nested ones, the outermost one inside ours. Each user has a
 * number, but each namespace that root has made has its own, since root makes those of containers. Returns 0 if the
 * namespace is ours. Where it cannot be seen, which is so for users other than root, the owner of the process is
 * assumed. Does not block. Thread-safe. */
guint64 user_namespace_maker(pid_t pid);

#endif
