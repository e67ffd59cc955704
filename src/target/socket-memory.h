/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JESCOPE_TARGET_SOCKET_MEMORY_H
#define JESCOPE_TARGET_SOCKET_MEMORY_H

#include <glib.h>
#include <sys/types.h>

/* What the kernel has allocated for the buffers of the sockets with these inodes (guint32, ascending) of process PID:
 * Unix, TCP and UDP sockets, as sock_diag(7) tells. G_MAXUINT64: unknown, as of a process in another network namespace.
 */
guint64 socket_memory_read(pid_t pid, const GArray *inodes, gint64 until_us);

#endif
