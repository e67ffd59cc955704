/* SPDX-License-Identifier: Apache-2.0 */
/* What the agent knows: the state that requests act on. The agent thread's own. */
#ifndef JESCOPE_AGENT_GUEST_H
#define JESCOPE_AGENT_GUEST_H

#include "agent/allocator.h"
#include "agent/process.h"
#include "agent/profiling.h"

#include <stdatomic.h>

typedef struct {
    Allocator allocator;
    Profiling profiling;
    ProcessIdentity process;
    uint32_t n_clients;
    atomic_bool leaves;      /* LEAVE was answered: the thread is about to end, and no forked child starts one */
    bool is_settled;         /* allocator_settle_thread() was called in this thread */
    bool shares_descriptors; /* with the host: descriptors_isolate() was refused */
} Guest;

#endif
