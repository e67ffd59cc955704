/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that a process holds outside of its resident set, and what its children copied from it. Reading takes two
 * seconds at most; what could not be read in that time is unknown. No file is opened or looked at whose file system
 * could wait without end (FUSE, network).
 */
#ifndef JESCOPE_TARGET_HOLDINGS_H
#define JESCOPE_TARGET_HOLDINGS_H

#include <glib.h>
#include <sys/types.h>

/* Bytes, but for threads; G_MAXUINT64: it cannot be known from here. */
typedef struct {
    guint64 threads;
    guint64 page_tables; /* VmPTE of /proc/PID/status */
    guint64 swap;        /* VmSwap */
    guint64 tmpfs;       /* files in memory that it has open: tmpfs, memfd, each once */
    guint64 sockets;     /* what the kernel has allocated for the buffers of its sockets */
    guint64 pipes;       /* what waits in its pipes, in whole pages */
    guint64 children;    /* private memory that was written to, of children with the same executable */
} Holdings;

void holdings_read(pid_t pid, Holdings *holdings);

#endif
