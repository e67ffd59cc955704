/* SPDX-License-Identifier: Apache-2.0 */
/* The open files of a process that hold memory: files of tmpfs and memfd, pipes, and sockets. */
#ifndef JESCOPE_TARGET_OPEN_FILES_H
#define JESCOPE_TARGET_OPEN_FILES_H

#include <glib.h>
#include <sys/types.h>

typedef struct {
    guint64 tmpfs; /* bytes of pages; each file once */
    guint64 pipes; /* bytes of pages of unread data in pipes, each once; G_MAXUINT64: unknown (another user's pipes) */
    GArray *sockets; /* of guint32: inodes, ascending */
} OpenFiles;

/* Reads the open files of PID until UNTIL_US (CLOCK_MONOTONIC) at the latest. FALSE, with nothing to clear, if that is
 * too short, reading is not permitted, or there are more than 65536 files. */
gboolean open_files_read(pid_t pid, gint64 until_us, OpenFiles *files);
void open_files_clear(OpenFiles *files);

#endif
