/* SPDX-License-Identifier: Apache-2.0 */
/* The start and the end of every confined child; for this room only. */
#ifndef JESCOPE_CONFINE_CHILD_H
#define JESCOPE_CONFINE_CHILD_H

#include <gio/gio.h>
#include <sys/types.h>

/* Closes all descriptors of the calling process except the n at kept; negative ones are ignored. */
void child_keep_only(const int *kept, guint n);

/* Calls sandbox_enter(). memory limits the address space in bytes; 0: the default limit. */
gboolean child_confine(guint64 memory, GError **error);

/* Waits until the child has ended; returns its status as waitpid(2) does. */
int child_wait(pid_t pid);

#endif
