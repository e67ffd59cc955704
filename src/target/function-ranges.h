/* SPDX-License-Identifier: Apache-2.0 */
/* Where the code of a statically linked jemalloc lies in an executable, by the symbols of its .symtab. */
#ifndef JESCOPE_TARGET_FUNCTION_RANGES_H
#define JESCOPE_TARGET_FUNCTION_RANGES_H

#include <glib.h>

typedef struct {
    guint64 start;
    guint64 end;
} FunctionRange;

/* A file, or one in memory if BYTES is not NULL. */
typedef struct {
    int descriptor;
    const guint8 *bytes;
    guint64 size;
} FunctionFile;

/* FALSE if its size cannot be told. DESCRIPTOR stays the caller's. */
gboolean function_file_init(FunctionFile *file, int descriptor);

/*
 * The ranges, as linked, that hold jemalloc's functions (and perhaps a little more: small gaps between them are filled)
 * and those of fork() and its kin: a GArray of FunctionRange, sorted; empty if the file has no .symtab. PREFIX is that
 * of its public functions. *JEMALLOC says how many of jemalloc's functions there are.
 *
 * Jemalloc's are known by their names, PREFIX and "je_" before them, and by the source file that a local one is of
 * (STT_FILE). Every count and offset of the file is checked; only what lies within is read.
 */
GArray *function_ranges_read(const FunctionFile *file, const char *prefix, guint *jemalloc);

#endif
