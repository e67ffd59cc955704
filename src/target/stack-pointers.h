/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JESCOPE_TARGET_STACK_POINTERS_H
#define JESCOPE_TARGET_STACK_POINTERS_H

#include <glib.h>
#include <sys/types.h>

/* The stack pointers of the threads of process PID that wait in the kernel (others are not visible), 4096 threads at
 * most: an ascending GArray of guint64, empty if reading is not permitted. */
GArray *stack_pointers_read(pid_t pid);

#endif
