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

/* Afterwards the agent in FILE is in PROCESS and about to listen; it may have been there before. OUTCOME_NO_AGENT
 * with the reason where it cannot be. */
gboolean injection_run(const Process *process, const char *file, TargetAttachFlags flags, GError **error);

#endif
