/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JESCOPE_TARGET_SOCKET_MEMORY_H
#define JESCOPE_TARGET_SOCKET_MEMORY_H

#include <glib.h>
#include <sys/types.h>

/* The bytes that the kernel has allocated for the buffers of process PID's Unix, TCP and UDP sockets with these inodes
 * (guint32, ascending), from sock_diag(7). G_MAXUINT64 if unknown, as for a process in another network namespace. */
guint64 socket_memory_read(pid_t pid, const GArray *inodes, gint64 until_us);

#endif
