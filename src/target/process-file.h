/* SPDX-License-Identifier: Apache-2.0 */
/* Reads files of /proc/PID, some of which may block. */
#ifndef JESCOPE_TARGET_PROCESS_FILE_H
#define JESCOPE_TARGET_PROCESS_FILE_H

#include <glib.h>
#include <sys/types.h>

/* At most LIMIT bytes of FILE in /proc/PID, NUL-terminated, to be freed; NULL with errno if it cannot be read. A limit
 * is needed since a process may declare all of its address space as its arguments or environment (PR_SET_MM_MAP of
 * prctl(2)). */
char *process_text(pid_t pid, const char *file, gsize limit, gsize *length);

/* A thread of PID that has its memory and its files: the first one, which is PID, or another one if that has ended. As
 * well as of PID, there are files of it in /proc/THREAD. */
pid_t process_thread(pid_t pid);

/* All of FD, NUL-terminated, to be freed, and closes it; FD may be -1. NULL with errno. */
char *process_read_whole(int fd);

/* Whether ERROR, an errno of reading such a file, tells of a shortage here, and so nothing of the process. */
gboolean process_is_shortage(int error);

/* Opens FILE in /proc/PID for reading, or of process_thread(); -1 with errno. The kernel generates some files from the
 * process's memory or with its memory map locked, which its user can block without limit (by a FUSE file system). If
 * the process is another user's, a child process reads at most LIMIT bytes of such a file (confine/aside.h), and the
 * descriptor is of this copy; errno is ETIMEDOUT if that takes too long. */
int process_open(pid_t pid, const char *file, gsize limit);

/* Whether *USER can delay access to the files or memory of PID without limit. FALSE in a child that may wait. */
gboolean process_may_delay(pid_t pid, uid_t *user);

/* Whether PID has our root directory and mount namespace, and so sees the same files. */
gboolean process_sees_our_files(pid_t pid);

#endif
