/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that a process holds outside of its resident set, and the private copies of its children. Reading takes two
 * seconds at most; values not read by then are unknown. Files whose file system could block without limit (FUSE,
 * network) are not accessed.
 */
#ifndef JESCOPE_TARGET_HOLDINGS_H
#define JESCOPE_TARGET_HOLDINGS_H

#include <glib.h>
#include <sys/types.h>

/* In bytes, except threads; G_MAXUINT64: unknown. */
typedef struct {
    guint64 threads;
    guint64 page_tables; /* VmPTE of /proc/PID/status */
    guint64 swap;        /* VmSwap */
    guint64 tmpfs;       /* open files in memory (tmpfs, memfd), each once */
    guint64 sockets;     /* buffers of its sockets, as allocated by the kernel */
    guint64 pipes;       /* unread data in its pipes, in whole pages */
    guint64 children;    /* private memory written to by children with the same executable */
} Holdings;

void holdings_read(pid_t pid, Holdings *holdings);

#endif
