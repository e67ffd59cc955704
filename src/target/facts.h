/* SPDX-License-Identifier: Apache-2.0 */
/* What tells a person which process it is. It hardly changes, so it is read once for each program of a process. */
#ifndef JESCOPE_TARGET_FACTS_H
#define JESCOPE_TARGET_FACTS_H

#include "target/process.h"

/* Fit for terminals; "": unknown. Never changes; counted by references, from any thread. */
typedef struct {
    char *user;      /* the name of its effective user */
    char *arguments; /* as process_arguments(), at most 4 KiB */
    char *group;     /* its control group: "/system.slice/redis.service" */
} ProcessFacts;

/* Waits for a process of another user no longer than aside_run(). */
ProcessFacts *process_facts_new(const Process *process);
ProcessFacts *process_facts_ref(ProcessFacts *facts);
void process_facts_unref(ProcessFacts *facts);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ProcessFacts, process_facts_unref)

#endif
