/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The results of the profiler's controls in a jemalloc that cannot profile, if jescope's sampler does not replace it.
 * jemalloc is not called, since before 5.3.0 some of these calls crash; but dialects promise its results, which depend
 * on its version. Pure and thread safe.
 */
#ifndef JESCOPE_ROUTES_UNPROFILED_H
#define JESCOPE_ROUTES_UNPROFILED_H

#include "wire/wire.h"

#include <stdbool.h>
#include <stddef.h>

/* Whether this program cannot be profiled: its jemalloc was built or started without profiling, and jescope's sampler
 * cannot be used. All functions below except the next one require this. */
bool unprofiled_applies(const WireHelloReply *hello);

/* Why jemalloc's own profiler cannot be used, as one phrase. */
void unprofiled_reason(const WireHelloReply *hello, char *text, size_t size);

/* Why the program cannot be profiled, and the remedy, as one phrase. */
void unprofiled_describe(const WireHelloReply *hello, char *text, size_t size);

/* mallctl's return value for writing prof.active: 0 without effect, or an errno value. */
int unprofiled_write_active(const WireHelloReply *hello, bool active);

/* The same for prof.dump. */
int unprofiled_dump(const WireHelloReply *hello);

/* The same for reading prof.active or prof.thread_active_init (then: false). */
int unprofiled_read(const WireHelloReply *hello);

#endif
