/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files in memory (memfd_create(2)), and their content kept without a descriptor: the program may close all it has, and
 * the agent's thread has a table of its own.
 */
#ifndef JESCOPE_EMBED_MEMORY_FILE_H
#define JESCOPE_EMBED_MEMORY_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* The content of a memory file: mapped read-only, and not inherited by a forked child. NULL: nothing. */
typedef struct {
    const char *bytes;
    size_t size;
} Mapped;

/* A new, empty one, CLOEXEC; -1 with errno. */
int memory_file_make(void);

/* Maps the content of @descriptor, which is always closed. False with errno. */
bool memory_file_keep(int descriptor, Mapped *mapped);

void memory_file_drop(Mapped *mapped);

/* A new one with the same content, at offset 0; -1 with errno. */
int memory_file_copy(const Mapped *mapped);

#endif
