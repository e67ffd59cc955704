/* SPDX-License-Identifier: Apache-2.0 */
/* Files of /proc/PID, and whether to read them may take long. */
#ifndef JESCOPE_TARGET_PROCESS_FILE_H
#define JESCOPE_TARGET_PROCESS_FILE_H

#include <glib.h>
#include <sys/types.h>

/* At most LIMIT bytes of FILE in /proc/PID, with a NUL behind them, to be freed; NULL if it cannot be read. A process
 * chooses how long its arguments and its environment are: it may say that they are all of its address space
 * (PR_SET_MM_MAP of prctl(2)). */
char *process_text(pid_t pid, const char *file, gsize limit, gsize *length);

/* FILE in /proc/PID opened for reading, -1 with errno. Some are made from the process's memory or with its memory map
 * locked, and to read these its user can delay without end (by file systems of its own, FUSE): where a process is of
 * another user than the calling root, a child process reads at most LIMIT bytes of them (confine/aside.h), and the
 * descriptor is of a copy; errno is ETIMEDOUT if that takes too long. */
int process_open(pid_t pid, const char *file, gsize limit);

/* Whether to look at its files or its memory may take as long as *USER likes. FALSE in a child that may wait. */
gboolean process_may_delay(pid_t pid, uid_t *user);

/* Whether it sees the files that we see: its root directory and its mount namespace are ours. */
gboolean process_sees_our_files(pid_t pid);

#endif
