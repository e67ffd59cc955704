/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system calls that a called function may make while the process's seccomp filter is suspended. They are restricted
 * because a sandboxed process could replace jemalloc's function with its own, to bypass the filter.
 */
#ifndef JESCOPE_TARGET_HARMLESS_CALLS_H
#define JESCOPE_TARGET_HARMLESS_CALLS_H

#include "target/traced.h"

/* TRUE for calls that jemalloc and the C library need for statistics, controls and dumps: non-executable memory, open
 * descriptors, locks, signal masks, clocks. None of them opens a file or creates a process, thread or socket. */
gboolean harmless_call(const TraceeSystemCall *call);

#endif
