/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JESCOPE_TARGET_LIBC_BLOCKS_H
#define JESCOPE_TARGET_LIBC_BLOCKS_H

#include "target/mappings.h"

/*
 * Resident bytes of the large blocks of glibc's malloc, each of which it maps by itself (M_MMAP_THRESHOLD), in the
 * largest anonymous mappings: they are recognised by the header of each block (glibc's malloc/malloc.c, IS_MMAPPED),
 * sixteen bytes that are read from the memory of the process. FALSE, *BYTES untouched: it may not be read, or TIME_US
 * microseconds were too short.
 */
gboolean libc_blocks_read(pid_t pid, const Mappings *mappings, gint64 time_us, guint64 *bytes);

#endif
