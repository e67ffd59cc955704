/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fix for the ends of the program's threads, in place for the life of the process. Changing the hooks makes jemalloc
 * mark all threads for recomputing their state (tsd_force_recompute()); a thread's next call of jemalloc removes its
 * mark. The destructor of jemalloc's per-thread data (tsd_cleanup(), 5.2.0 to 5.3.1) does not handle a marked thread:
 * it stays in jemalloc's list of threads although its memory is freed. So a function of the agent runs before that
 * destructor and makes such a call. docs/decisions/0016-a-sampler-of-our-own.md.
 */
#ifndef JESCOPE_AGENT_SAMPLER_ENDS_H
#define JESCOPE_AGENT_SAMPLER_ENDS_H

#include "agent/allocator.h"

#include <stdbool.h>

/* Must be called before hooks are installed; later calls have no effect. False if jemalloc's destructor could not be
 * identified with certainty in the C library's table: then nothing was changed. */
bool sampler_ends_guard(const Allocator *allocator);

#endif
