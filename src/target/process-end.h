/* SPDX-License-Identifier: Apache-2.0 */
/* Observes how a process that is not our child ends. */
#ifndef JESCOPE_TARGET_PROCESS_END_H
#define JESCOPE_TARGET_PROCESS_END_H

#include <glib.h>
#include <sys/types.h>

typedef struct ProcessEnd ProcessEnd;

/* Observes PID, a running process; NULL with errno. If the kernel's pidfds do not report an exit status, exit-events.h
 * follows it too. */
ProcessEnd *process_end_new(pid_t pid);
void process_end_free(ProcessEnd *end);

/* A pidfd owned by END, readable when the process has ended. */
int process_end_pidfd(const ProcessEnd *end);

/* Sets *STATUS, as of waitpid(2), once the process has ended: from the pidfd (Linux 6.15 or later, after its parent has
 * waited for it), from exit-events.h, or, until its parent has waited for it, from /proc/PID/stat, which requires
 * permission to trace it. FALSE if unknown, or not yet known. */
gboolean process_end_read(const ProcessEnd *end, int *status);

/* Whether pidfds of this kernel report an exit status. */
gboolean process_end_pidfd_has_status(void);

#endif
