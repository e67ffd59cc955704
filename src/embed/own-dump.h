/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes dumps to the program's configured path: a new file PREFIX.PID.N.mN.heap (opt.prof_prefix), jemalloc's default
 * name. Such names are predictable, so existing files are not overwritten and links are not followed. Allocates no
 * memory.
 */
#ifndef JESCOPE_EMBED_OWN_DUMP_H
#define JESCOPE_EMBED_OWN_DUMP_H

#include <stdbool.h>
#include <stddef.h>

/* Creates the file and opens it for writing; the caller closes it. PATH receives its name. -1 with errno. */
int own_dump_create(const char *prefix, char *path, size_t size);

/* Copies DUMP, a memory file, to a new such file. */
bool own_dump_store(const char *prefix, int dump);

#endif
