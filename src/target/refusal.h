/* SPDX-License-Identifier: Apache-2.0 */
/* Why no thread of a process could be borrowed, in words. */
#ifndef JESCOPE_TARGET_REFUSAL_H
#define JESCOPE_TARGET_REFUSAL_H

#include "target/process.h"
#include "target/safe-point.h"

/* A thread that was stopped and let go. */
typedef struct {
    pid_t thread;
    SafePoint point;
} Refusal;

/* Whether both lists name the same threads, all of which wait, at the same places, for the same reasons. */
gboolean refusals_are_same(const GArray *a, const GArray *b);

/* Sets OUTCOME_SILENT. REFUSALS: a GArray of Refusal, one per thread. UNCHANGED_MS: how long they have been the same,
 * if that ended the wait; else 0. WAITED_MS: the duration of the wait. */
void refusals_set(const GArray *refusals, const Process *process, const AddressSpace *space, guint unchanged_ms,
                  guint waited_ms, GError **error);

#endif
