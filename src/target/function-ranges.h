/* SPDX-License-Identifier: Apache-2.0 */
/* Locates the code of a statically linked jemalloc in an executable by the symbols of its .symtab. */
#ifndef JESCOPE_TARGET_FUNCTION_RANGES_H
#define JESCOPE_TARGET_FUNCTION_RANGES_H

#include "jemalloc/elf-symbols.h"

#include <glib.h>

typedef struct {
    guint64 start;
    guint64 end;
} FunctionRange;

/*
 * The ranges, as linked, of jemalloc's functions (with small gaps between them) and of fork() and similar: a sorted
 * GArray of FunctionRange, empty if the file has no .symtab. PREFIX is that of the public functions. *JEMALLOC is the
 * number of jemalloc's functions that were found.
 *
 * jemalloc's functions are recognised by their names, with PREFIX or "je_", and local ones by their source file
 * (STT_FILE). Every count and offset in the file is checked.
 */
GArray *function_ranges_read(const ElfFile *file, const char *prefix, guint *jemalloc);

#endif
