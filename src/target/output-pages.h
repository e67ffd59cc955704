/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocates the pages of a memory file to which a target writes. The kernel charges a page to the memory control group
 * of the process that touches it first, so this process allocates pages (fallocate(2)) before the target reaches them,
 * and a dump is charged to jescope. jemalloc opens the file with O_TRUNC, which frees the pages; so the file is checked
 * every OUTPUT_PAGES_EVERY_US, and the pages are allocated again. The target waits only for the lock of the file,
 * during one step. Pages that it reaches first are charged to itself, up to a limit at which the dump is stopped.
 * docs/decisions/0015-who-pays-for-a-dump.md.
 */
#ifndef JESCOPE_TARGET_OUTPUT_PAGES_H
#define JESCOPE_TARGET_OUTPUT_PAGES_H

#include <glib.h>
#include <sys/types.h>

/* Default maximum of bytes that this process allocates for one file, which a hostile target could make grow without
 * limit. */
#define OUTPUT_PAGES_MOST  (G_GUINT64_CONSTANT(256) << 20)
#define OUTPUT_PAGES_FIRST (G_GUINT64_CONSTANT(8) << 20) /* for a target with a limit */

/* In this time, jemalloc writes some 100 KiB of a dump. */
enum { OUTPUT_PAGES_EVERY_US = 500 };

/* How many bytes may be charged to this process and to the target. */
typedef struct {
    guint64 most;    /* allocated by this process for one file, at most */
    guint64 first;   /* allocated before the target writes */
    guint64 allowed; /* charged to the target before the dump is stopped; G_MAXUINT64: unlimited */
} OutputPlan;

/* For a target whose control groups have no limit. */
extern const OutputPlan output_plan_default;

typedef struct {
    OutputPlan plan;
    int fd;            /* the memory file; the caller's */
    guint64 reach;     /* end of the allocated pages, in bytes from the beginning */
    guint64 overtaken; /* bytes that the target wrote to pages not yet allocated */
    gboolean stopped;  /* these were more than is allowed, and the target can write no more */
} OutputPages;

/* Initializes PAGES and allocates the first pages of FD. All functions wait for the lock of the file, without a limit
 * (shared-output.h), and may be called after a fork() of a process with threads. */
void output_pages_begin(OutputPages *pages, int fd, const OutputPlan *plan);

/* Allocates the pages that the target reaches next. To be called every OUTPUT_PAGES_EVERY_US until the target has
 * finished, or whenever it is stopped. */
void output_pages_advance(OutputPages *pages);

/* Frees the pages beyond the end of the file. The target must have finished. */
void output_pages_end(OutputPages *pages);

#endif
