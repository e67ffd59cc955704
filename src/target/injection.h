/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads the agent into a running process: dlopen() of a copy in a memory file that the process creates, which works
 * across mount, pid and user namespaces and leaves no descriptor or file; then a call of its entry function
 * (wire/enter.h). docs/attach.md has the details.
 */
#ifndef JESCOPE_TARGET_INJECTION_H
#define JESCOPE_TARGET_INJECTION_H

#include "target/process.h"
#include "target/target.h"

/* Loads the agent in FILE into PROCESS unless it is there, and starts it; it is then about to listen. FALSE with
 * OUTCOME_NO_AGENT and the reason if that is not possible. */
gboolean injection_run(const Process *process, const char *file, TargetAttachFlags flags, GError **error);

#endif
