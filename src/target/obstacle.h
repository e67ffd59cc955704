/* SPDX-License-Identifier: Apache-2.0 */
/* Why a process cannot be attached to, and what to change. */
#ifndef JESCOPE_TARGET_OBSTACLE_H
#define JESCOPE_TARGET_OBSTACLE_H

#include "target/process.h"

/* FALSE with a TARGET_ERROR if it is clear from outside that it cannot be. */
gboolean obstacle_check(const Process *process, GError **error);

/* Whether it looks from outside as if we may; FALSE with a TARGET_ERROR. */
gboolean obstacle_may_attach(const Process *process, GError **error);

/* Sets the TARGET_ERROR for a PTRACE_SEIZE that failed with CODE. */
void obstacle_set_denied(const Process *process, int code, GError **error);

/* Whether a thread of ours traces THREAD: one that has ended and whose tracees the kernel is about to let go. */
gboolean obstacle_traced_by_us(pid_t thread);

/* Whether a seccomp filter is in force in it (or strict mode). */
gboolean obstacle_seccomp(const Process *process);

/* Whether we may suspend it (ptrace(2), PTRACE_O_SUSPEND_SECCOMP). */
gboolean obstacle_may_suspend_seccomp(void);

/* Whether another jescope traced the thread, and has ended that since we began to wait for it. */
gboolean obstacle_passes(pid_t thread);

#endif
