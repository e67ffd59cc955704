/* SPDX-License-Identifier: Apache-2.0 */
/* The libraries that `run` preloads into a program. */
#ifndef JESCOPE_RUN_PRELOAD_H
#define JESCOPE_RUN_PRELOAD_H

#include "run/program.h"

/* The path of the agent: $JESCOPE_AGENT, otherwise the one of the build tree or installation that contains this
 * program. NULL with G_SPAWN_ERROR if missing. */
char *preload_find_agent(GError **error);

/* The value of LD_PRELOAD for PROGRAM: USER, the user's value (or NULL), then AGENT, then jemalloc unless PROGRAM has
 * its own. NULL with G_SPAWN_ERROR if a library is missing or its path cannot be used in LD_PRELOAD. */
char *preload_list(const Program *program, const char *user, const char *agent, GError **error);

#endif
