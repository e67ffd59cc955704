/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The active sampler, whether and since when it is on, and the lease that reverts it. For the thread that has the turn,
 * except profiling_inherit(). Every call needs a sampler: profiling_sampler() is not WIRE_SAMPLER_AUTO.
 *
 * The lease ends at its deadline by itself; an explicit CTL write of prof.active ends it at once (wire/lease.h).
 */
#ifndef JESCOPE_AGENT_PROFILING_H
#define JESCOPE_AGENT_PROFILING_H

#include "agent/allocator.h"
#include "wire/lease.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    WireSampler chosen;           /* AUTO: depends on what jemalloc supports */
    WireSampler chosen_before;    /* what the end of the lease restores */
    WireSamplerObstacle obstacle; /* of jescope's sampler */
    bool active;
    WireSince since;
    uint64_t active_since_ns; /* CLOCK_REALTIME */
    uint64_t reset_at_ns;
    uint64_t last_lease_id;
    Lease lease;
} Profiling;

/* CLOCK_MONOTONIC, used for deadlines. */
uint64_t profiling_now_ms(void);

/* The sampler in use; AUTO: jemalloc cannot profile, and jescope's sampler cannot be used. */
WireSampler profiling_sampler(const Profiling *profiling, const Allocator *allocator);

/* Switches to another sampler: ends a lease and jescope's sampler. False if it cannot be used. */
bool profiling_choose(Profiling *profiling, const Allocator *allocator, WireSampler sampler);

/* Ends jescope's sampler when the agent ends. */
void profiling_leave(Profiling *profiling, const Allocator *allocator);

/* Called when the agent starts. SINCE: the source of the time since which prof.active is set, if it is. Lease ids
 * continue those of an earlier agent in this process. */
void profiling_init(Profiling *profiling, const Allocator *allocator, WireSince since);

/* In a forked child: takes over the parent's state at the time of the fork. */
void profiling_inherit(Profiling *profiling);

/* Rereads prof.active, which the program may have set. */
void profiling_refresh(Profiling *profiling, const Allocator *allocator);

/* An explicit write of prof.active: ends a lease. Returns mallctl's error; OLD may be NULL. */
int profiling_set_active(Profiling *profiling, const Allocator *allocator, bool active, bool *old);

/* Discards the samples, and sets the period 2^*LG unless LG is NULL. Returns mallctl's error. */
int profiling_reset(Profiling *profiling, const Allocator *allocator, const size_t *lg);

/* Executes a lease request that passed wire_request_check(). ERROR is mallctl's for WIRE_STATUS_CONTROL_FAILED. */
WireStatus profiling_lease(Profiling *profiling, const Allocator *allocator, const WireLeaseRequest *request,
                           int *error);

/* Ends a running lease immediately. */
void profiling_end_lease(Profiling *profiling, const Allocator *allocator);

/* Ends a lease whose deadline has passed; returns the milliseconds to the next deadline, or -1 if there is none. */
int profiling_tick(Profiling *profiling, const Allocator *allocator);

WireLease profiling_describe_lease(const Profiling *profiling);

#endif
