/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that a process holds outside of its resident set, and the private copies of its children. Reading takes two
 * seconds at most; values not read by then are unknown. Files whose file system could block without limit (FUSE,
 * network) are not accessed.
 */
#ifndef JESCOPE_TARGET_HOLDINGS_H
#define JESCOPE_TARGET_HOLDINGS_H

#include "target/process.h"

#include <glib.h>

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

/* Of the process FOUND. Children count that have no other rights (process-change.h). */
void holdings_read(const Process *found, Holdings *holdings);

#endif
