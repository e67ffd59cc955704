/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work on untrusted data, in a child without privileges (sandbox.h). The child is a fork and has what the caller has
 * read and opened so far; it requests further files from the parent (opener.h), and writes its result to a descriptor.
 */
#ifndef JESCOPE_CONFINE_CONFINED_H
#define JESCOPE_CONFINE_CONFINED_H

#include <gio/gio.h>

/* Runs in the child: writes to out, which is its stdout as well, and returns an exit status, or fails. The caller gets
 * its stderr; nothing else changes in the caller. */
typedef int ConfinedWork(gpointer data, GOutputStream *out, GError **error);

typedef struct {
    ConfinedWork *work;
    gpointer data;
    const int *keep; /* n_keep descriptors above 2 (or -1) that the child needs; it has no others */
    guint n_keep;
    guint64 memory; /* bytes of address space, including the caller's; 0: the default of sandbox_enter() */
    guint seconds;  /* of processor time; 0: likewise */
} Confined;

enum { CONFINED_MAX_WORDS = 64 * 1024 };

typedef struct {
    int output;  /* a memory file with the output, also of failed work; -1: the child was not started */
    char *words; /* its stderr, up to CONFINED_MAX_WORDS bytes, not sanitized; free */
} ConfinedResult;

/*
 * Runs the work, serves its requests, and returns its status. -1 if the work failed or the child died; the error is
 * that of the work, or G_IO_ERROR with the cause of death. The caller must have only one thread.
 */
int confined_run(const Confined *confined, ConfinedResult *result, GError **error);

#endif
