/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jescope's own sampler: what jemalloc's profiler does, by hooks that every jemalloc from 5.2.0 to 5.3.1 takes
 * (experimental.hooks.install), however it was built and started. One per process.
 * docs/decisions/0016-a-sampler-of-our-own.md argues why its hooks may run in any thread of the program at any moment.
 *
 * For the thread that has the turn (turn.h), but for the hooks, which jemalloc calls.
 */
#ifndef JESCOPE_AGENT_SAMPLER_H
#define JESCOPE_AGENT_SAMPLER_H

#include "agent/allocator.h"

#include <stdbool.h>
#include <stdint.h>

enum { SAMPLER_LG_DEFAULT = 19 };

/* Whether it could be switched on, or why not. Asks jemalloc. */
WireSamplerObstacle sampler_obstacle(const Allocator *allocator);

bool sampler_is_active(void);

/* Begins to sample, with nothing known; no effect if it does already. Returns mallctl's error: EAGAIN if other hooks
 * have every place there is; or ENOMEM. */
int sampler_begin(const Allocator *allocator);

/* Removes the hooks. What was sampled stays for dumps, as it is now, for ten seconds. */
int sampler_end(const Allocator *allocator);

/* Gives the memory back, unless it is active. */
void sampler_forget(void);

/* Does so when the ten seconds are over; returns the milliseconds until then, or -1. */
int sampler_tick(void);

/* Whether a dump has something to say: it is active, or was within these seconds. */
bool sampler_has_data(void);

/* The memory that it uses at most, in bytes: now if it is active, else from its next begin on. */
size_t sampler_memory(void);

typedef enum {
    SAMPLER_ONCE, /* until it has begun and ended */
    SAMPLER_FROM_NOW_ON,
} SamplerHold;

/* A power of two from 1 MiB to 1 GiB. EINVAL: another size; EBUSY: the sampler is active. */
int sampler_set_memory(size_t bytes, SamplerHold hold);

/* The period that was asked for, 2^this; the one in use may be larger. */
unsigned sampler_lg(void);

/* The period 2^LG from now on; if it is active, what is known is discarded. EINVAL: there is no such period. */
int sampler_reset(unsigned lg);

WireSamplerFigures sampler_figures(void);

/* Writes what is known as a dump (docs/formats.md). Returns 0 or an errno value of WRITE. */
typedef int (*SamplerWrite)(void *data, const char *bytes, size_t n);
int sampler_dump(const Allocator *allocator, SamplerWrite write, void *data);

#endif
