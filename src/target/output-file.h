/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory file that a target writes a dump or statistics to. The target holds a descriptor of it for as long as it
 * likes, and may be hostile: it may write without end, write nothing but a size, go on writing, or move the offset that
 * both descriptors share. Nothing is read before output_file_take().
 */
#ifndef JESCOPE_TARGET_OUTPUT_FILE_H
#define JESCOPE_TARGET_OUTPUT_FILE_H

#include <glib.h>

/* Who writes, for messages, and the bytes that it may write. */
typedef struct {
    const char *label;
    guint64 limit;
} OutputWriter;

/* An empty one, to be sent to a target; -1 on error (OUTCOME_SYSTEM). */
int output_file_new(GError **error);

/* FALSE, with OUTCOME_TOO_LARGE, once FD holds more than WRITER may write. To be called while it writes. */
gboolean output_file_check_size(int fd, const OutputWriter *writer, GError **error);

/* Takes over FD, to which WRITER says it has written BYTES bytes: seals it against every change, checks that they are
 * there, and returns a read-only descriptor of our own, whose offset WRITER cannot move. -1 on error; FD is closed in
 * any case. */
int output_file_take(int fd, guint64 bytes, const OutputWriter *writer, GError **error);

/* Takes over FD, which is of no use any more: what was written is freed, and its writer can write no more. */
void output_file_discard(int fd);

#endif
