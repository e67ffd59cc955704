/* SPDX-License-Identifier: Apache-2.0 */
/* Processes of another user in a user namespace, each with as many groups as the kernel allows: it takes milliseconds
 * to print them (/proc/PID/status). */
#ifndef JESCOPE_TESTS_ENCLOSED_H
#define JESCOPE_TESTS_ENCLOSED_H

#include <glib.h>
#include <sys/types.h>

/* Starts N of them. Returns the first one, for enclosed_end(), or 0 with *OBSTACLE. */
pid_t enclosed_start(guint n, const char **obstacle);
void enclosed_end(pid_t first);

#endif
