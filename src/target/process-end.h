/* SPDX-License-Identifier: Apache-2.0 */
/* How a process that is not our child has ended. */
#ifndef JESCOPE_TARGET_PROCESS_END_H
#define JESCOPE_TARGET_PROCESS_END_H

#include <glib.h>
#include <sys/types.h>

/* A pidfd of PID, readable when it has ended; -1 with errno. */
int process_end_open(pid_t pid);

/* Its status as of waitpid(2), once it has ended: from PIDFD (Linux 6.15 or later), or while its parent has not yet
 * waited for it from /proc/PID/stat, which the kernel shows its owner and root. FALSE: unknown. */
gboolean process_end_read(int pidfd, pid_t pid, int *status);

#endif
