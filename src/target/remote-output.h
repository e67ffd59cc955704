/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Captures the output of jemalloc in a stopped thread, without writing to a file system or injecting code: jescope
 * traces the thread's system calls while jemalloc runs. For a dump, it replaces the opening of the file by
 * memfd_create(); jemalloc writes to that and closes it. For statistics, it reads the text that jemalloc writes to
 * stderr and skips the call.
 */
#ifndef JESCOPE_TARGET_REMOTE_OUTPUT_H
#define JESCOPE_TARGET_REMOTE_OUTPUT_H

#include "target/loan-files.h"
#include "target/remote-jemalloc.h"
#include "target/shared-output.h"
#include "target/tracee.h"

typedef struct {
    const Process *process;
    const char *letters; /* of statistics */
    guint64 limit;       /* maximum size in bytes */
    OutputPlan plan;     /* who is charged for a dump */
    SharedOutput shared; /* of a dump; its descriptor is initially -1 */
    int descriptor;      /* out: a memfd to read from; the caller closes it. Initially -1 */
    int failure;         /* out: an errno */
    GError *refused;     /* why the output was rejected; NULL once reported */
    Tracee *tracee;      /* in which it is captured */
    LoanFiles files;     /* that a dump has opened in the stopped thread */
    guint64 name;        /* address of the file name that jemalloc is given */
    gboolean opening;    /* the file is being opened */
    gint64 file;         /* its descriptor in the process */
} RemoteOutput;

/* Run in the attached TRACEE. FALSE with ERROR set. */
gboolean remote_output_dump(Tracee *tracee, const RemoteJemalloc *jemalloc, RemoteOutput *output, GError **error);
gboolean remote_output_stats(Tracee *tracee, const RemoteJemalloc *jemalloc, RemoteOutput *output, GError **error);

/* After detaching: sets the descriptor to a memory file that no other process has. */
gboolean remote_output_finish(RemoteOutput *output, GError **error);

/* Frees what was captured. */
void remote_output_discard(RemoteOutput *output);

#endif
