/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts programs ready for profiling: program.h inspects a program, run_environment() prepares its environment,
 * supervise.h runs it, and server.h serves it meanwhile. Errors of this directory are G_SPAWN_ERROR. Not thread-safe.
 */
#ifndef JESCOPE_RUN_RUN_H
#define JESCOPE_RUN_RUN_H

#include "run/program.h"

enum { RUN_LG_SAMPLE_DEFAULT = 19 }; /* 512 KiB, jemalloc's default */

/* The environment for PROGRAM, to be freed. It preloads the agent and, if necessary, jemalloc, and sets jemalloc's
 * options: profiling possible but off, then the user's, then ASKED. NULL with ERROR if PROGRAM would crash, this would
 * have no effect, or a library is missing. */
char **run_environment(const Program *program, const char *asked, GError **error);

/* Why the agent cannot be preloaded into PROGRAM, or NULL. */
const char *run_obstacle(const Program *program);

/* Whether prof:true may be set. In a statically linked program jemalloc's unwinder is not complete, and its
 * initialization crashes the program (glibc; jemalloc 5.3.0 as packaged by Debian). */
gboolean run_can_prepare(const Program *program);

#endif
