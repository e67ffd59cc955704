/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Output of jemalloc in a stopped thread. Nothing is written to a file system, no code is injected: jescope follows the
 * thread's system calls while jemalloc runs. For a dump, it replaces the opening of the file by memfd_create();
 * jemalloc writes to that and closes it. For statistics, it reads the text that jemalloc writes to stderr and skips the
 * call.
 */
#ifndef JESCOPE_TARGET_REMOTE_OUTPUT_H
#define JESCOPE_TARGET_REMOTE_OUTPUT_H

#include "target/output-pages.h"
#include "target/remote-jemalloc.h"
#include "target/tracee.h"

typedef struct {
    const Process *process;
    const char *letters; /* of statistics */
    guint64 limit;       /* bytes that it may write */
    OutputPlan plan;     /* who pays for a dump */
    OutputPages pages;   /* of a dump, once there is a descriptor */
    int descriptor;      /* out: a memfd to read from; the caller closes it. Initially -1 */
    int failure;         /* out: an errno */
    GError *refused;     /* why its memory file was not taken; NULL once it is over */
    pid_t thread;        /* that is stopped */
    guint64 name;        /* address of the file name that jemalloc is given */
    gboolean opening;    /* it is being opened */
} RemoteOutput;

/* In the attached TRACEE. */
gboolean remote_output_dump(Tracee *tracee, const RemoteJemalloc *jemalloc, RemoteOutput *output, GError **error);
gboolean remote_output_stats(Tracee *tracee, const RemoteJemalloc *jemalloc, RemoteOutput *output, GError **error);

/* Once detached: the descriptor becomes a read-only one of our own, of a sealed file, at offset 0. */
gboolean remote_output_finish(RemoteOutput *output, GError **error);

#endif
