/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JESCOPE_TARGET_STACK_POINTERS_H
#define JESCOPE_TARGET_STACK_POINTERS_H

#include <glib.h>
#include <sys/types.h>

/* Where the stacks of the threads of process PID are: a GArray of guint64, ascending, of those threads that wait in the
 * kernel (of others, it is not visible). Empty if it may not be read. Of at most 4096 threads. */
GArray *stack_pointers_read(pid_t pid);

#endif
