/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel tells about this process under /proc. Thread safe. */
#ifndef JESCOPE_EMBED_PROCESS_FILE_H
#define JESCOPE_EMBED_PROCESS_FILE_H

#include <jescope.h>

/* As much of the beginning of the file as fits; *n bytes. */
int process_file_read(const char *path, char *bytes, size_t size, size_t *n, JescopeError *error);

/* All of it in a memory file at offset 0, the caller's to close. */
int process_file_copy(const char *path, int *descriptor, JescopeError *error);

/* The variable NAME of the environment the program was started with, cut to @size with the NUL; "" if it was not set.
 */
int process_file_variable(const char *name, char *text, size_t size, JescopeError *error);

#endif
