/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system calls that a called function may make while the process's seccomp filter is suspended. The function may
 * not be jemalloc's: a sandboxed process could replace it with code that its filter forbids.
 */
#ifndef JESCOPE_TARGET_HARMLESS_CALLS_H
#define JESCOPE_TARGET_HARMLESS_CALLS_H

#include "target/traced.h"

/* TRUE of what jemalloc and the C library need for statistics, controls and dumps: memory that is not executable, open
 * descriptors, locks, signal masks, clocks. Opens nothing and makes no process, thread or socket. */
gboolean harmless_call(const TraceeSystemCall *call);

#endif
