/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory file to which a target writes a dump or statistics. A hostile target may keep its descriptor, write
 * without limit, set a size without writing, continue to write, or move the offset that both descriptors share. Nothing
 * is read before output_file_take().
 */
#ifndef JESCOPE_TARGET_OUTPUT_FILE_H
#define JESCOPE_TARGET_OUTPUT_FILE_H

#include <glib.h>
#include <sys/types.h>

/* The writer's name for messages, and the maximum number of bytes that it may write. */
typedef struct {
    const char *label;
    guint64 limit;
} OutputWriter;

/* A new empty memory file, to be sent to a target; -1 on error (OUTCOME_SYSTEM). */
int output_file_new(GError **error);

/* FALSE with OUTCOME_TOO_LARGE if FD exceeds WRITER's limit. To be called while the target writes. */
gboolean output_file_check_size(int fd, const OutputWriter *writer, GError **error);

/* Takes ownership of FD, to which WRITER reports to have written BYTES bytes: checks its size, and moves its content to
 * a new memory file, which is returned. WRITER keeps an empty file: the pages were allocated by this process, and would
 * otherwise stay charged to it for as long as WRITER likes. USER, who answers for WRITER, has no more pages allocated
 * if this fails (output_pages_distrust()). -1 on error; FD is closed in any case. */
int output_file_take(int fd, guint64 bytes, const OutputWriter *writer, uid_t user, GError **error);

/* FALSE unless FD has BYTES bytes, as WRITER reports, no holes, and no more than WRITER's limit. */
gboolean output_file_check(int fd, guint64 bytes, const OutputWriter *writer, GError **error);

/* Takes ownership of FD, a file that no other process has: seals it against changes and returns a separate read-only
 * descriptor at offset 0; FD itself if it is read-only, or -1. -1 on error; FD is closed then. */
int output_file_seal(int fd, const char *label, GError **error);

/* Takes ownership of FD, frees its contents and closes it; its writer can write no more. FALSE if the writer has sealed
 * it, so that it is freed when the writer closes it. */
gboolean output_file_discard(int fd);

#endif
