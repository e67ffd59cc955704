/* SPDX-License-Identifier: Apache-2.0 */
/* Explains why no thread of a process could be borrowed. */
#ifndef JESCOPE_TARGET_REFUSAL_H
#define JESCOPE_TARGET_REFUSAL_H

#include "target/process.h"
#include "target/safe-point.h"

/* A thread that was stopped and released. */
typedef struct {
    pid_t thread;
    SafePoint point;
} Refusal;

/* Whether both lists have the same threads, all waiting, at the same places and refused for the same reasons. */
gboolean refusals_are_same(const GArray *a, const GArray *b);

/* Sets OUTCOME_SILENT. REFUSALS is a GArray of Refusal, one per thread. UNCHANGED_MS is how long they were the same, if
 * that ended the wait, otherwise 0; WAITED_MS is the duration of the wait. */
void refusals_set(const GArray *refusals, const Process *process, const AddressSpace *space, guint unchanged_ms,
                  guint waited_ms, GError **error);

#endif
