/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's state, on which requests act. For the thread that has the turn (turn.h). */
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
    atomic_bool leaves;      /* a LEAVE was answered: the thread is about to end, and forked children start none */
    bool is_invited;         /* started later than the program */
    bool is_settled;         /* allocator_settle_thread() was called in this thread */
    bool shares_descriptors; /* descriptors_isolate() was refused: the agent's descriptors are in the host's table */
    bool is_linked;          /* other threads call the agent, and may need to wake its thread */
    bool is_silent;          /* has no socket */
    /* Timed work of the linked library, or NULL: called in the agent thread each time it runs. Returns the milliseconds
     * until the next call, or -1. */
    int (*tick)(void);
} Guest;

/* Determines the state of profiling, once jemalloc was examined. */
void guest_learn(Guest *guest);

/* Before the first request: queries jemalloc, which creates its table of controls (144 KiB) on the first query. False
 * if it does not behave like jemalloc. */
bool guest_examine(Guest *guest);

/* Must be called before any call of jemalloc in the agent thread. Without requests, the thread never calls jemalloc. */
void guest_settle(Guest *guest);

#endif
