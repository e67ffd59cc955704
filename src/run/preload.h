/* SPDX-License-Identifier: Apache-2.0 */
/* The libraries that `run` brings into a program. */
#ifndef JESCOPE_RUN_PRELOAD_H
#define JESCOPE_RUN_PRELOAD_H

#include "run/program.h"

/* The agent that belongs to this jescope: $JESCOPE_AGENT, else the one of the build tree or the installation this
 * program is part of. G_SPAWN_ERROR if missing. */
char *preload_find_agent(GError **error);

/* The value of LD_PRELOAD for PROGRAM: what USER has set (or NULL), then AGENT, then jemalloc unless PROGRAM brings its
 * own. G_SPAWN_ERROR if a library is missing or has a path that LD_PRELOAD cannot hold. */
char *preload_list(const Program *program, const char *user, const char *agent, GError **error);

#endif
