/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the process that an operand of the command line names. */
#ifndef JESCOPE_TARGET_OPEN_H
#define JESCOPE_TARGET_OPEN_H

#include "target/process.h"
#include "target/target.h"

/* Sets *PROCESS to the process that target_open() would open for NAME, a pid or a process name, without checking
 * whether it can be reached. */
gboolean open_find_process(const char *name, Process *process, GError **error);

/* Like target_open_via(), for a process that was found by ADDRESS before: OUTCOME_GONE if it is no longer the same. */
Target *target_open_process(const Process *process, const char *address, TargetVia via, GError **error);

#endif
