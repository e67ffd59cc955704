/* SPDX-License-Identifier: Apache-2.0 */
/* Why something is not possible with a process, and what to change. */
#ifndef JESCOPE_TARGET_DIAGNOSIS_H
#define JESCOPE_TARGET_DIAGNOSIS_H

#include "target/process.h"
#include "wire/wire.h"

/* Why this jemalloc cannot profile, with the way out, as one phrase; NULL if it can. */
char *diagnosis_profiling(const WireHelloReply *hello);

/* The environment variable that a jemalloc with this symbol prefix reads: "_rjem_" makes "_RJEM_MALLOC_CONF". */
char *diagnosis_conf_variable(const char *prefix);

/* The symbol prefix ("" for none) of the jemalloc in an executable or library, or NULL: it has none, or cannot be read.
 */
char *diagnosis_jemalloc_prefix(const char *path);

typedef enum {
    JEMALLOC_ABSENT,
    JEMALLOC_PRESENT,
    JEMALLOC_HIDDEN, /* its memory map is not ours to read */
} JemallocPresence;

/* Whether PROCESS has a jemalloc, judged from outside. */
JemallocPresence diagnosis_jemalloc(const Process *process);

/* Whether the agent's library is mapped in PROCESS. */
gboolean diagnosis_has_agent(const Process *process);

/* Whether a socket may come: the agent is loaded and its thread runs, or the process is so young that it is about to.
 */
gboolean diagnosis_agent_may_come(const Process *process);

/* Sets the TARGET_ERROR that says why no agent can be reached in PROCESS. */
void diagnosis_set_no_agent(const Process *process, GError **error);

#endif
