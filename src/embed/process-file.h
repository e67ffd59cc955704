/* SPDX-License-Identifier: Apache-2.0 */
/* Reads files of this process under /proc. Thread-safe. */
#ifndef JESCOPE_EMBED_PROCESS_FILE_H
#define JESCOPE_EMBED_PROCESS_FILE_H

#include "wire/outcome.h"

/* Reads at most SIZE bytes from the beginning of the file; *n receives their number. */
Outcome process_file_read(const char *path, char *bytes, size_t size, size_t *n, Failure *failure);

/* Copies the file to a memory file, at offset 0, which the caller closes. */
Outcome process_file_copy(const char *path, int *descriptor, Failure *failure);

/* Copies the variable NAME of the program's initial environment, truncated to SIZE bytes including the NUL; "" if it
 * was not set. */
Outcome process_file_variable(const char *name, char *text, size_t size, Failure *failure);

#endif
