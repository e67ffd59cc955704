/* SPDX-License-Identifier: Apache-2.0 */
/* The code of a statically linked jemalloc in an executable, by the symbols of its .symtab. */
#ifndef JESCOPE_TARGET_FUNCTION_RANGES_H
#define JESCOPE_TARGET_FUNCTION_RANGES_H

#include "jemalloc/elf-symbols.h"

#include <glib.h>

typedef struct {
    guint64 start;
    guint64 end;
} FunctionRange;

/*
 * The ranges, as linked, that hold jemalloc's functions (and small gaps between them), and those of fork() and similar:
 * a GArray of FunctionRange, sorted; empty if the file has no .symtab. PREFIX is that of its public functions.
 * *JEMALLOC says how many of jemalloc's functions there are.
 *
 * Jemalloc's are known by their names, PREFIX and "je_" before them, and by the source file that a local one is of
 * (STT_FILE). Every count and offset of the file is checked.
 */
GArray *function_ranges_read(const ElfFile *file, const char *prefix, guint *jemalloc);

#endif
