/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bringing the agent into a process that runs: dlopen() of a copy in a memory file that the process makes, which works
 * across mount, pid and user namespaces and leaves no descriptor and no file; then a call of the function that begins
 * (wire/enter.h). docs/attach.md tells the rest.
 */
#ifndef JESCOPE_TARGET_INJECTION_H
#define JESCOPE_TARGET_INJECTION_H

#include "target/process.h"
#include "target/target.h"

/* Afterwards the agent in FILE is in PROCESS and about to listen; it may have been there before. TARGET_ERROR_NO_AGENT
 * with the reason where it cannot be. */
gboolean injection_run(const Process *process, const char *file, TargetAttachFlags flags, GError **error);

#endif
