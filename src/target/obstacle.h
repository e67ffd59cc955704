/* SPDX-License-Identifier: Apache-2.0 */
/* Explains why a process cannot be attached to, and what to change. */
#ifndef JESCOPE_TARGET_OBSTACLE_H
#define JESCOPE_TARGET_OBSTACLE_H

#include "target/process.h"

/* FALSE with a TARGET_ERROR if it is visible from outside that PROCESS cannot be attached to. */
gboolean obstacle_check(const Process *process, GError **error);

/* Whether attaching to PROCESS appears permitted from outside; otherwise FALSE with a TARGET_ERROR. */
gboolean obstacle_may_attach(const Process *process, GError **error);

/* Sets the TARGET_ERROR for a PTRACE_SEIZE that failed with CODE. */
void obstacle_set_denied(const Process *process, int code, GError **error);

/* Whether a thread of this process traces THREAD: one that has ended, so that the kernel is about to detach it. */
gboolean obstacle_traced_by_us(pid_t thread);

/* Whether THREAD runs under a seccomp filter (or in strict mode): each thread has its own. */
gboolean obstacle_thread_has_filter(pid_t thread);

/* Whether a thread of PROCESS does. */
gboolean obstacle_seccomp(const Process *process);

/* Whether this process may suspend a filter (ptrace(2), PTRACE_O_SUSPEND_SECCOMP). */
gboolean obstacle_may_suspend_seccomp(void);

/* Waits two seconds at most while another jescope traces THREAD. TRUE if one did and has detached. */
gboolean obstacle_passes(pid_t thread);

#endif
