/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ends of the program's threads, for as long as the process lives. A change of the hooks has jemalloc mark all
 * threads to compute their state again (tsd_force_recompute()), and the next call of jemalloc in a thread removes its
 * mark. The destructor by which jemalloc forgets a thread (tsd_cleanup(), 5.2.0 to 5.3.1) has no case for a thread with
 * a mark: it stays in jemalloc's list of threads although its memory is gone. So a function of ours is put before that
 * destructor, and makes such a call. docs/decisions/0016-a-sampler-of-our-own.md.
 */
#ifndef JESCOPE_AGENT_SAMPLER_ENDS_H
#define JESCOPE_AGENT_SAMPLER_ENDS_H

#include "agent/allocator.h"

#include <stdbool.h>

/* Before hooks are installed; no effect if it was done already. False if jemalloc's destructor was not found in the C
 * library's table beyond doubt: then nothing was changed. */
bool sampler_ends_guard(const Allocator *allocator);

#endif
