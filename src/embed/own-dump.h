/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dumps to the place that the program was configured with: a new file PREFIX.PID.N.mN.heap (opt.prof_prefix),
 * jemalloc's default name. Such names are predictable, so an existing file or link is neither overwritten nor followed.
 * Allocates nothing.
 */
#ifndef JESCOPE_EMBED_OWN_DUMP_H
#define JESCOPE_EMBED_OWN_DUMP_H

#include <stdbool.h>
#include <stddef.h>

/* The file, opened for writing, the caller's to close; its name is in PATH. -1 with errno. */
int own_dump_create(const char *prefix, char *path, size_t size);

/* Copies DUMP, a memory file, to such a file. */
bool own_dump_store(const char *prefix, int dump);

#endif
