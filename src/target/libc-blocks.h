/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JESCOPE_TARGET_LIBC_BLOCKS_H
#define JESCOPE_TARGET_LIBC_BLOCKS_H

#include "target/mappings.h"

/*
 * Sets *BYTES to the resident bytes, in the largest anonymous mappings, of large blocks that glibc's malloc mapped
 * individually (M_MMAP_THRESHOLD). Blocks are recognised by their headers (glibc's malloc/malloc.c, IS_MMAPPED),
 * sixteen bytes read from the memory of the process. FALSE, with *BYTES unchanged, if reading is not permitted or takes
 * longer than TIME_US microseconds.
 */
gboolean libc_blocks_read(pid_t pid, const Mappings *mappings, gint64 time_us, guint64 *bytes);

#endif
