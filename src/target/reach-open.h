/* SPDX-License-Identifier: Apache-2.0 */
/* Opens files about the memory of a process, as long as it has the rights with which it was found. */
#ifndef JESCOPE_TARGET_REACH_OPEN_H
#define JESCOPE_TARGET_REACH_OPEN_H

#include "target/reach.h"

/* Opens a file of the process FOUND read-only, like process_open(). It shows the memory of the program that the process
 * executes now: -1 with EPERM if the process has changed since it was found (process_change_check()). */
int reach_open(const Process *found, ReachFile file);

/* The contents of the file, to be freed, or NULL. */
char *reach_read(const Process *found, ReachFile file);

#endif
