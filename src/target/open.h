/* SPDX-License-Identifier: Apache-2.0 */
/* From what the user typed to a process. */
#ifndef JESCOPE_TARGET_OPEN_H
#define JESCOPE_TARGET_OPEN_H

#include "target/process.h"
#include "target/target.h"

/* The process that target_open() would open for NAME, a pid or a process's name; whether it can be reached is not
 * looked at. */
gboolean open_find_process(const char *name, Process *process, GError **error);

/* target_open_via() for a process that was found by ADDRESS before: OUTCOME_GONE if it is not the same any more.
 */
Target *target_open_process(const Process *process, const char *address, TargetVia via, GError **error);

#endif
