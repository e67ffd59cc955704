/* SPDX-License-Identifier: Apache-2.0 */
/* How a process that is not our child ends. */
#ifndef JESCOPE_TARGET_PROCESS_END_H
#define JESCOPE_TARGET_PROCESS_END_H

#include <glib.h>
#include <sys/types.h>

typedef struct ProcessEnd ProcessEnd;

/* Of PID, which runs; NULL with errno. Where the kernel's pidfds do not tell an exit status, its exit is also followed
 * by exit-events.h. */
ProcessEnd *process_end_new(pid_t pid);
void process_end_free(ProcessEnd *end);

/* A pidfd, readable when the process has ended; END's. */
int process_end_pidfd(const ProcessEnd *end);

/* The status as of waitpid(2), once the process has ended: from the pidfd (Linux 6.15 or later, when its parent has
 * waited for it), from exit-events.h, or while its parent has not yet waited for it from /proc/PID/stat, which the
 * kernel shows those who may trace it. FALSE: unknown, or not yet known. */
gboolean process_end_read(const ProcessEnd *end, int *status);

/* Whether pidfds of this kernel tell an exit status. */
gboolean process_end_is_told_by_pidfd(void);

#endif
