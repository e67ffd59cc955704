/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work on untrusted data, in a child without privileges (sandbox.h). The child is a fork and has what the caller has
 * read and opened so far; it requests further files from the parent (opener.h), and writes its result to a descriptor.
 */
#ifndef JESCOPE_CONFINE_CONFINED_H
#define JESCOPE_CONFINE_CONFINED_H

#include <gio/gio.h>

/* In the child: writes to out, which is its stdout as well, returns an exit status, or fails. The caller gets its
 * stderr, and no other change. */
typedef int ConfinedWork(gpointer data, GOutputStream *out, GError **error);

typedef struct {
    ConfinedWork *work;
    gpointer data;
    const int *keep; /* descriptors above 2 that the child needs, n_keep of them, or -1; it has no others */
    guint n_keep;
    guint64 memory; /* bytes of address space, the caller's included; 0: as sandbox_enter() has it */
} Confined;

enum { CONFINED_MAX_WORDS = 64 * 1024 };

typedef struct {
    int output;  /* a memory file with the output, also of failed work; -1: it was not started */
    char *words; /* its stderr, up to CONFINED_MAX_WORDS bytes, not sanitized; free */
} ConfinedResult;

/*
 * Runs the work, serves its requests, and returns its status. -1 if the work failed or the child died; errors are those
 * of the work, or G_IO_ERROR with the cause of death. The caller must have one thread.
 */
int confined_run(const Confined *confined, ConfinedResult *result, GError **error);

#endif
