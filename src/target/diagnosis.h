/* SPDX-License-Identifier: Apache-2.0 */
/* Explains why something is not possible with a process, and what to change. */
#ifndef JESCOPE_TARGET_DIAGNOSIS_H
#define JESCOPE_TARGET_DIAGNOSIS_H

#include "target/process.h"
#include "wire/wire.h"

/* The reason why this jemalloc cannot profile, with the remedy, as one phrase to be freed; NULL if it can. */
char *diagnosis_profiling(const WireHelloReply *hello);

/* The environment variable that a jemalloc with this symbol prefix reads: "_rjem_" makes "_RJEM_MALLOC_CONF". */
char *diagnosis_conf_variable(const char *prefix);

/* The symbol prefix ("" for none) of the jemalloc in an executable or library. NULL if there is no jemalloc or the file
 * cannot be read. */
char *diagnosis_jemalloc_prefix(const char *path);

typedef enum {
    JEMALLOC_ABSENT,
    JEMALLOC_PRESENT,
    JEMALLOC_HIDDEN, /* reading its memory map is not permitted */
    JEMALLOC_BURIED, /* none found, but its memory map or program file is too long to be searched completely */
} JemallocPresence;

typedef struct {
    JemallocPresence jemalloc;
    gboolean agent; /* the agent's library is loaded */
} MappedObjects;

/* The allocators in the memory of PROCESS, examined from outside. */
MappedObjects diagnosis_mapped(const Process *process);

/* Whether the environment that PID was started with, or the /etc/malloc.conf it sees, sets prof:true for jemalloc, with
 * any prefix. FALSE also if that cannot be read; compiled-in settings are not examined. */
gboolean diagnosis_prepared(pid_t pid);

/* Whether the agent's library is mapped in PROCESS. */
gboolean diagnosis_has_agent(const Process *process);

/* The thread of the agent in PROCESS, found by its name; 0 if there is none. Its root directory may differ from the
 * process's. */
pid_t diagnosis_agent_thread(const Process *process);

/* Whether a socket may still appear: the agent is loaded, and its thread runs or, in a young process, is about to
 * start. */
gboolean diagnosis_agent_may_come(const Process *process);

/* Sets OUTCOME_NO_JEMALLOC with the malloc that PROCESS uses instead. */
void diagnosis_set_no_jemalloc(const Process *process, GError **error);

/* Sets a TARGET_ERROR with the reason why no agent can be reached in PROCESS. */
void diagnosis_set_no_agent(const Process *process, GError **error);

#endif
