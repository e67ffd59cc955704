/* SPDX-License-Identifier: Apache-2.0 */
/* What the agent knows: the state that requests act on. For the thread whose turn it is (turn.h). */
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
    bool is_invited;         /* came later than the program */
    bool is_settled;         /* allocator_settle_thread() was called in this thread */
    bool shares_descriptors; /* with the host: descriptors_isolate() was refused */
    bool is_linked;          /* other threads call in, and may want to wake the agent thread */
    bool is_silent;          /* has no socket */
    /* NULL: none. What the linked library has to do in time: in the agent thread, on each of its turns. Returns the
     * milliseconds until it has to be called again, or -1. */
    int (*tick)(void);
} Guest;

/* Once jemalloc has been examined: how profiling stands. */
void guest_learn(Guest *guest);

/* Before the first request: asks jemalloc what the first look left unasked, since it lays out its table of controls
 * (144 KiB) for whoever asks first. False if it does not answer as jemalloc does. */
bool guest_examine(Guest *guest);

/* Before anything in the agent thread that calls jemalloc. Until somebody asks, jemalloc does not even know of it. */
void guest_settle(Guest *guest);

#endif
