/* SPDX-License-Identifier: Apache-2.0 */
/* The open files of a process that hold memory: files of tmpfs and memfd, pipes, and sockets. */
#ifndef JESCOPE_TARGET_OPEN_FILES_H
#define JESCOPE_TARGET_OPEN_FILES_H

#include <glib.h>
#include <sys/types.h>

typedef struct {
    guint64 tmpfs; /* bytes of pages; each file once */
    guint64
        pipes; /* bytes of pages of what waits in pipes, each once; G_MAXUINT64: unknown (they are another user's) */
    GArray *sockets; /* of guint32: their inodes, ascending */
} OpenFiles;

/* FALSE, nothing to clear: they may not be read, are more than 65536, or the time UNTIL_US (CLOCK_MONOTONIC) is over.
 */
gboolean open_files_read(pid_t pid, gint64 until_us, OpenFiles *files);
void open_files_clear(OpenFiles *files);

#endif
