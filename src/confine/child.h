/* SPDX-License-Identifier: Apache-2.0 */
/* The beginning and the end of every confined child; for this room. */
#ifndef JESCOPE_CONFINE_CHILD_H
#define JESCOPE_CONFINE_CHILD_H

#include <gio/gio.h>
#include <sys/types.h>

/* Makes the calling child end with its parent; ends it immediately if the parent has ended. */
void child_bind(pid_t parent);

/* Closes all descriptors of the calling process but the n at kept, of which those below 0 do not count. */
void child_keep_only(const int *kept, guint n);

/* sandbox_enter(). Of memory 0 the address space is limited as there. */
gboolean child_confine(guint64 memory, GError **error);

/* Waits until it has ended; returns what waitpid(2) says. */
int child_wait(pid_t pid);

#endif
