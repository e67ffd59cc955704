/* SPDX-License-Identifier: Apache-2.0 */
/* Copies bytes between descriptors that are files, memory files or blocking pipes. Thread-safe. */
#ifndef JESCOPE_WIRE_TRANSFER_H
#define JESCOPE_WIRE_TRANSFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Writes all N bytes at the offset of TO; false with errno. */
bool transfer_write(int to, const void *bytes, size_t n);

/* Writes the whole content of FROM, whatever its offset, at the offset of TO; false with errno: EFBIG if it exceeds MAX
 * bytes. */
bool transfer_copy(int from, int to, uint64_t max);

#endif
