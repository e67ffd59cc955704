/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What jemalloc writes, out of a stopped thread. Nothing is written to any file system, no code is injected: we look at
 * the thread's system calls while jemalloc runs, and
 *   for a dump, where jemalloc opens its file, memfd_create() is called instead; jemalloc writes to that and closes it;
 *   for statistics, what it prints on stderr is taken over and never written.
 */
#ifndef JESCOPE_TARGET_REMOTE_OUTPUT_H
#define JESCOPE_TARGET_REMOTE_OUTPUT_H

#include "target/remote-jemalloc.h"
#include "target/tracee.h"

typedef struct {
    const Process *process;
    const char *letters; /* of statistics */
    int descriptor;      /* out: a memfd of ours to read from; the caller's to close. -1 at the beginning */
    int failure;         /* out: an errno */
    pid_t thread;        /* that is stopped */
    guint64 name;        /* address of the file name that jemalloc is given */
    gboolean opening;    /* it is being opened */
} RemoteOutput;

/* In the attached TRACEE. */
gboolean remote_output_dump(Tracee *tracee, const RemoteJemalloc *jemalloc, RemoteOutput *output, GError **error);
gboolean remote_output_stats(Tracee *tracee, const RemoteJemalloc *jemalloc, RemoteOutput *output, GError **error);

/* Once detached: seals it, puts the offset to 0. */
gboolean remote_output_finish(RemoteOutput *output, GError **error);

#endif
