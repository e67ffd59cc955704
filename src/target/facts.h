/* SPDX-License-Identifier: Apache-2.0 */
/* Facts by which a person recognises a process. They hardly change, so they are read once per program of a process. */
#ifndef JESCOPE_TARGET_FACTS_H
#define JESCOPE_TARGET_FACTS_H

#include "target/process.h"

/* Texts are safe for terminals; "": unknown. Immutable and reference-counted, for any thread. */
typedef struct {
    char *user;      /* the name of its effective user */
    char *arguments; /* as process_arguments(), at most 4 KiB */
    char *group;     /* its control group: "/system.slice/redis.service" */
} ProcessFacts;

/* Reads the facts of PROCESS. Waits for a process of another user no longer than aside_run(). */
ProcessFacts *process_facts_new(const Process *process);
/* The same for PROCESSES (of const Process), in their order. Waits for all of other users together for 9 s at most; of
 * those that are left over, the arguments are unknown. */
GPtrArray *process_facts_list(const GPtrArray *processes);
ProcessFacts *process_facts_ref(ProcessFacts *facts);
void process_facts_unref(ProcessFacts *facts);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ProcessFacts, process_facts_unref)

#endif
