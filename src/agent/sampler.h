/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jescope's own sampler: does the work of jemalloc's profiler, by hooks that every jemalloc from 5.2.0 to 5.3.1 accepts
 * (experimental.hooks.install), however it was built and started. One per process.
 * docs/decisions/0016-a-sampler-of-our-own.md argues why its hooks may run in any thread of the program at any moment.
 *
 * For the thread that has the turn (turn.h), except the hooks, which jemalloc calls.
 */
#ifndef JESCOPE_AGENT_SAMPLER_H
#define JESCOPE_AGENT_SAMPLER_H

#include "agent/allocator.h"

#include <stdbool.h>
#include <stdint.h>

enum { SAMPLER_LG_DEFAULT = 19 };

/* Whether it can be switched on, or why not. Queries jemalloc. */
WireSamplerObstacle sampler_obstacle(const Allocator *allocator);

bool sampler_is_active(void);

/* Starts sampling, without samples; no effect if it is active. Returns mallctl's error: EAGAIN if other hooks occupy
 * all places; or ENOMEM; or ENOTSUP if the ends of threads cannot be followed (sampler-ends.h). */
int sampler_begin(const Allocator *allocator);

/* Removes the hooks. The samples are kept unchanged for dumps for ten seconds. */
int sampler_end(const Allocator *allocator);

/* Releases the memory unless the sampler is active. */
void sampler_forget(void);

/* Calls sampler_forget() when the ten seconds are over; returns the milliseconds until then, or -1. */
int sampler_tick(void);

/* Whether there are samples to dump: it is active, or was within the last ten seconds. */
bool sampler_has_data(void);

/* Its maximum memory in bytes: the present one if it is active, else that of the next recording. */
size_t sampler_memory(void);

typedef enum {
    SAMPLER_ONCE, /* for the next recording only */
    SAMPLER_FROM_NOW_ON,
} SamplerHold;

/* Sets the memory, a power of two from 1 MiB to 1 GiB. EINVAL: another size; EBUSY: the sampler is active. */
int sampler_set_memory(size_t bytes, SamplerHold hold);

/* The binary logarithm of the requested period; the period in use may be larger. */
unsigned sampler_lg(void);

/* Sets the period 2^LG; if the sampler is active, its samples are discarded. EINVAL: invalid period. */
int sampler_reset(unsigned lg);

WireSamplerFigures sampler_figures(void);

/* Writes the samples as a dump (docs/formats.md). Returns 0 or the errno value of WRITE. */
typedef int (*SamplerWrite)(void *data, const char *bytes, size_t n);
int sampler_dump(const Allocator *allocator, SamplerWrite write, void *data);

#endif
