/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory files (memfd_create(2)), and their content kept without a descriptor, since the program may close all of its
 * descriptors, and the agent's thread has a descriptor table of its own.
 */
#ifndef JESCOPE_EMBED_MEMORY_FILE_H
#define JESCOPE_EMBED_MEMORY_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* The content of a memory file, mapped read-only and not inherited by forked children. bytes NULL: empty. */
typedef struct {
    const char *bytes;
    size_t size;
} Mapped;

/* Creates an empty memory file, close-on-exec; -1 with errno. */
int memory_file_make(void);

/* Maps the content of DESCRIPTOR, which is always closed. False with errno. */
bool memory_file_keep(int descriptor, Mapped *mapped);

void memory_file_drop(Mapped *mapped);

/* Creates a memory file with the same content, at offset 0; -1 with errno. */
int memory_file_copy(const Mapped *mapped);

#endif
