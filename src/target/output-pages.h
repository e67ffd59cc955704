/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pages of a memory file that a target writes to. The kernel charges a page to the memory control group of the
 * process that touches it first, so this process allocates the pages (fallocate(2)) before the target reaches them: a
 * dump is charged to jescope. jemalloc opens the file with O_TRUNC, which frees what was allocated until then; so the
 * file is looked at every OUTPUT_PAGES_EVERY_US, and the pages are allocated again. The target never waits but for the
 * lock of the file, during one step. What it writes where there is no page yet is charged to itself: that is bounded,
 * and a dump beyond the bound is stopped. docs/decisions/0015-who-pays-for-a-dump.md.
 */
#ifndef JESCOPE_TARGET_OUTPUT_PAGES_H
#define JESCOPE_TARGET_OUTPUT_PAGES_H

#include <glib.h>

/* The most that this process allocates for one file: a hostile target could have it allocate without end. */
#define OUTPUT_PAGES_MOST  (G_GUINT64_CONSTANT(256) << 20)
#define OUTPUT_PAGES_FIRST (G_GUINT64_CONSTANT(8) << 20) /* where the target cannot bear much */

/* In which jemalloc writes some 100 KiB of a dump. */
enum { OUTPUT_PAGES_EVERY_US = 500 };

/* What this process may pay, and what the target can bear; bytes. */
typedef struct {
    guint64 most;    /* that this process allocates for one file */
    guint64 first;   /* that it allocates before the target writes */
    guint64 allowed; /* that may be charged to the target before it is stopped; G_MAXUINT64: any */
} OutputPlan;

/* For a target whose control groups have no limit. */
extern const OutputPlan output_plan_default;

typedef struct {
    OutputPlan plan;
    int fd;            /* the memory file; the caller's */
    guint64 reach;     /* bytes from the beginning for which there are pages */
    guint64 overtaken; /* bytes that the target wrote where there were none */
} OutputPages;

/* Allocates the first pages of FD. */
void output_pages_begin(OutputPages *pages, int fd, const OutputPlan *plan);

/* Allocates the pages that the target reaches next. To be called every OUTPUT_PAGES_EVERY_US until it has written, or
 * whenever it is stopped. FALSE with OUTCOME_NO_HEADROOM if LABEL, the target, has to bear more than it may: then it
 * can write no more. */
gboolean output_pages_advance(OutputPages *pages, const char *label, GError **error);

/* Frees the pages behind the end of the file. The target writes no more. */
void output_pages_end(OutputPages *pages);

#endif
