/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a jemalloc that cannot profile would answer to the controls of the profiler. It is not asked, since before 5.3.0
 * some of those calls crash; but dialects promise its answers, which depend on its version. Pure and thread safe.
 */
#ifndef JESCOPE_ROUTES_UNPROFILED_H
#define JESCOPE_ROUTES_UNPROFILED_H

#include "wire/wire.h"

#include <stdbool.h>

/* Whether this jemalloc cannot profile: it was built or started without. What is below is about such a one alone. */
bool unprofiled_applies(const WireHelloReply *hello);

/* mallctl's return value for writing prof.active: 0 without effect, or an errno value. */
int unprofiled_write_active(const WireHelloReply *hello, bool active);

/* The same for prof.dump. */
int unprofiled_dump(const WireHelloReply *hello);

/* The same for reading prof.active or prof.thread_active_init (then: false). */
int unprofiled_read(const WireHelloReply *hello);

#endif
