/* SPDX-License-Identifier: Apache-2.0 */
/* From what the user typed to a process. */
#ifndef JESCOPE_TARGET_OPEN_H
#define JESCOPE_TARGET_OPEN_H

#include "target/process.h"

/* The process that target_open() would open for NAME, a pid or a process's name; whether it can be reached is not
 * looked at. */
gboolean open_find_process(const char *name, Process *process, GError **error);

#endif
