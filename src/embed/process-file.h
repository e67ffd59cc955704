/* SPDX-License-Identifier: Apache-2.0 */
/* Files of this process under /proc. Thread safe. */
#ifndef JESCOPE_EMBED_PROCESS_FILE_H
#define JESCOPE_EMBED_PROCESS_FILE_H

#include "wire/outcome.h"

/* As much of the beginning of the file as fits; *n bytes. */
Outcome process_file_read(const char *path, char *bytes, size_t size, size_t *n, Failure *failure);

/* All of it in a memory file at offset 0, the caller's to close. */
Outcome process_file_copy(const char *path, int *descriptor, Failure *failure);

/* The variable NAME of the environment the program was started with, cut to @size with the NUL; "" if it was not set.
 */
Outcome process_file_variable(const char *name, char *text, size_t size, Failure *failure);

#endif
