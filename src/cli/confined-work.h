/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the parts of commands that read untrusted data in a child without privileges (confine/confined.h). */
#ifndef JESCOPE_CLI_CONFINED_WORK_H
#define JESCOPE_CLI_CONFINED_WORK_H

#include "confine/confined.h"

/* confined_run() with progress under the name DOING; then prints the child's stderr and errors, sanitized for a
 * terminal. *OUTPUT is as in ConfinedResult. */
int confined_work_run(const Confined *confined, const char *doing, int *output, GError **error);

/* The same for a command whose work prints on stdout: copies its output to stdout. Returns the exit status. */
int confined_work_print(const Confined *confined, const char *doing, GError **error);

/* Address space for the statistics of one file of any size. */
#define CONFINED_WORK_STATISTICS ((guint64)4 << 30)

#endif
