/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a library that keeps no bound itself while it talks to another machine: in a child process with the caller's
 * rights, which is killed once it takes too long, and whose files have a limit.
 */
#ifndef JESCOPE_CONFINE_SUBPROCESS_H
#define JESCOPE_CONFINE_SUBPROCESS_H

#include "confine/channel.h"

typedef struct {
    /* Called in the child: fills ANSWER, whose buffer belongs to the caller. Changes to memory that is not shared stay
     * in the child. It must take no lock of this process but that of malloc(). */
    void (*work)(gpointer data, ChannelMessage *answer);
    /* Called in the caller, several times a second; FALSE: the child is killed. */
    gboolean (*may_go_on)(gpointer data);
    gpointer data;
    guint64 file_max; /* bytes of one file; writing more fails with EFBIG */
} Subprocess;

/* The child keeps the standard descriptors only. FALSE, without descriptors in ANSWER: it was killed, ended without an
 * answer, or could not be started. */
gboolean subprocess_run(const Subprocess *subprocess, ChannelMessage *answer);

#endif
