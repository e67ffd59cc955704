/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether prof.active is set, since when, and the lease that switches it back. For the thread whose turn it is,
 * except profiling_inherit(). Every call needs allocator_can_profile().
 *
 * A lease restores prof.active at its deadline by itself. Whoever else sets prof.active in between wins: an explicit
 * CTL write ends the lease, and a value that is no longer the lease's own is left alone at the end.
 */
#ifndef JESCOPE_AGENT_PROFILING_H
#define JESCOPE_AGENT_PROFILING_H

#include "agent/allocator.h"
#include "wire/wire.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    uint64_t id;          /* 0: none */
    uint64_t deadline_ms; /* profiling_now_ms() */
    bool active;
    bool restores;
} Lease;

typedef struct {
    bool active;
    WireSince since;
    uint64_t active_since_ns; /* CLOCK_REALTIME */
    uint64_t reset_at_ns;
    uint64_t last_lease_id;
    Lease lease;
} Profiling;

/* CLOCK_MONOTONIC: what deadlines are measured in. */
uint64_t profiling_now_ms(void);

/* At the agent's start. @since: how it is known since when prof.active is set, if it is. Ids of leases go on from an
 * earlier agent's in this process. */
void profiling_init(Profiling *profiling, const Allocator *allocator, WireSince since);

/* In a forked child's agent: what the parent's had come to when it forked. */
void profiling_inherit(Profiling *profiling);

/* Reads prof.active anew: the program may have set it. */
void profiling_refresh(Profiling *profiling, const Allocator *allocator);

/* An explicit write of prof.active: ends a lease. Returns mallctl's error; @old may be NULL. */
int profiling_set_active(Profiling *profiling, const Allocator *allocator, bool active, bool *old);

/* Notes a prof.reset. */
void profiling_note_reset(Profiling *profiling);

/* A lease request that wire_request_check() passed. @error is mallctl's for WIRE_STATUS_CONTROL_FAILED. */
WireStatus profiling_lease(Profiling *profiling, const Allocator *allocator, const WireLeaseRequest *request,
                           int *error);

/* Ends a lease that is running, now. */
void profiling_end_lease(Profiling *profiling, const Allocator *allocator);

/* Ends a lease whose deadline has passed; returns the milliseconds to the next deadline, or -1 if there is none. */
int profiling_tick(Profiling *profiling, const Allocator *allocator);

WireLease profiling_describe_lease(const Profiling *profiling);

#endif
