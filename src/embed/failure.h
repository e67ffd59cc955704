/* SPDX-License-Identifier: Apache-2.0 */
/* Failures common to several of the library's functions, and their conversion for callers. Thread-safe; errno is
 * preserved. */
#ifndef JESCOPE_EMBED_FAILURE_H
#define JESCOPE_EMBED_FAILURE_H

#include "agent/allocator.h"
#include "wire/outcome.h"

#include <jescope.h>

/* Returns the JescopeCode of OUTCOME. Unless JESCOPE_OK, fills *ERROR, if ERROR is not NULL, from FAILURE. */
int failure_publish(Outcome outcome, const Failure *failure, JescopeError *error);

Outcome failure_set_no_jemalloc(Failure *failure);

/* Sets FAILURE to why ALLOCATOR cannot profile, and what to change. */
Outcome failure_set_no_profiling(Failure *failure, const Allocator *allocator, WireSamplerObstacle obstacle);

/* REMAINING_MS is as for outcome_describe_busy(). */
Outcome failure_set_busy(Failure *failure, uint64_t remaining_ms);

#endif
