/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/profiling.h"

#include <limits.h>
#include <stdatomic.h>
#include <time.h>

/*
 * What a fork may see: two copies, of which `current` names the finished one. A child forked while the agent thread is
 * at work finds the state before or after a change, never half of it, and no lock is shared with the thread that forks.
 */
static Profiling published[2];
static atomic_uint current;

static void
publish(const Profiling *profiling)
{
    unsigned next = 1 - atomic_load_explicit(&current, memory_order_relaxed);
    published[next] = *profiling;
    atomic_store_explicit(&current, next, memory_order_release);
}

static uint64_t
clock_ns(clockid_t clock)
{
    struct timespec now = {0};
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t
profiling_now_ms(void)
{
    return clock_ns(CLOCK_MONOTONIC) / 1000000;
}

static bool
read_active(const Allocator *allocator)
{
    bool active = false;
    return allocator_read(allocator, "prof.active", &active, sizeof active) == 0 && active;
}

static int
exchange_active(const Allocator *allocator, bool active, bool *old)
{
    size_t size = sizeof *old;
    return allocator->mallctl("prof.active", old, &size, &active, sizeof active);
}

static void
note_active(Profiling *profiling, bool active, WireSince since)
{
    if (active != profiling->active) {
        bool known = active && since != WIRE_SINCE_UNKNOWN;
        profiling->active = active;
        profiling->since = active ? since : WIRE_SINCE_UNKNOWN;
        profiling->active_since_ns = known ? clock_ns(CLOCK_REALTIME) : 0;
    }
    publish(profiling);
}

void
profiling_init(Profiling *profiling, const Allocator *allocator, WireSince since)
{
    *profiling = (Profiling){.last_lease_id = profiling->last_lease_id};
    note_active(profiling, read_active(allocator), since);
}

void
profiling_inherit(Profiling *profiling)
{
    *profiling = published[atomic_load_explicit(&current, memory_order_acquire)];
}

void
profiling_refresh(Profiling *profiling, const Allocator *allocator)
{
    note_active(profiling, read_active(allocator), WIRE_SINCE_UNKNOWN);
}

int
profiling_set_active(Profiling *profiling, const Allocator *allocator, bool active, bool *old)
{
    bool previous = false;
    int error = exchange_active(allocator, active, &previous);
    if (error != 0) {
        return error;
    }
    if (old != NULL) {
        *old = previous;
    }
    profiling->lease = (Lease){0};
    note_active(profiling, active, WIRE_SINCE_AGENT);
    return 0;
}

void
profiling_note_reset(Profiling *profiling)
{
    profiling->reset_at_ns = clock_ns(CLOCK_REALTIME);
    publish(profiling);
}

/* A value that is not the lease's own any more was set by somebody else, and stays. */
static void
end_lease(Profiling *profiling, const Allocator *allocator)
{
    Lease lease = profiling->lease;
    if (lease.restores != lease.active && read_active(allocator) == lease.active) {
        bool old;
        exchange_active(allocator, lease.restores, &old);
    }
    /* After prof.active: a child forked in between restores once more, which changes nothing. */
    profiling->lease = (Lease){0};
    note_active(profiling, read_active(allocator), WIRE_SINCE_AGENT);
}

static WireStatus
take_lease(Profiling *profiling, const Allocator *allocator, const WireLeaseRequest *request, int *error)
{
    const Lease running = profiling->lease;
    if (running.id != 0 && (request->flags & WIRE_LEASE_REPLACE) == 0) {
        return WIRE_STATUS_BUSY;
    }
    profiling->lease = (Lease){
        .id = ++profiling->last_lease_id,
        .deadline_ms = profiling_now_ms() + request->duration_ms,
        .active = request->active != 0,
        .restores = running.id != 0 ? running.restores : read_active(allocator),
    };
    /* Before prof.active: a child forked in between must not go on sampling without an end. */
    publish(profiling);
    bool old;
    *error = exchange_active(allocator, profiling->lease.active, &old);
    if (*error != 0) {
        profiling->lease = running;
        publish(profiling);
        return WIRE_STATUS_CONTROL_FAILED;
    }
    note_active(profiling, profiling->lease.active, WIRE_SINCE_AGENT);
    return WIRE_STATUS_OK;
}

static WireStatus
renew_lease(Profiling *profiling, const Allocator *allocator, const WireLeaseRequest *request, int *error)
{
    if (request->lease_id == 0 || request->lease_id != profiling->lease.id) {
        return WIRE_STATUS_NO_LEASE;
    }
    profiling->lease.deadline_ms = profiling_now_ms() + request->duration_ms;
    publish(profiling);
    return WIRE_STATUS_OK;
}

static WireStatus
release_lease(Profiling *profiling, const Allocator *allocator, const WireLeaseRequest *request, int *error)
{
    if (request->lease_id == 0 || request->lease_id != profiling->lease.id) {
        return WIRE_STATUS_NO_LEASE;
    }
    end_lease(profiling, allocator);
    return WIRE_STATUS_OK;
}

static WireStatus (*const actions[])(Profiling *, const Allocator *, const WireLeaseRequest *, int *) = {
    [WIRE_LEASE_TAKE] = take_lease,
    [WIRE_LEASE_RENEW] = renew_lease,
    [WIRE_LEASE_RELEASE] = release_lease,
};

WireStatus
profiling_lease(Profiling *profiling, const Allocator *allocator, const WireLeaseRequest *request, int *error)
{
    return actions[request->action](profiling, allocator, request, error);
}

void
profiling_end_lease(Profiling *profiling, const Allocator *allocator)
{
    if (profiling->lease.id != 0) {
        end_lease(profiling, allocator);
    }
}

int
profiling_tick(Profiling *profiling, const Allocator *allocator)
{
    if (profiling->lease.id == 0) {
        return -1;
    }
    uint64_t now = profiling_now_ms();
    if (now >= profiling->lease.deadline_ms) {
        end_lease(profiling, allocator);
        return -1;
    }
    uint64_t left = profiling->lease.deadline_ms - now;
    return left < INT_MAX ? (int)left : INT_MAX;
}

WireLease
profiling_describe_lease(const Profiling *profiling)
{
    WireLease described = {0};
    if (profiling->lease.id != 0) {
        uint64_t now = profiling_now_ms();
        described.id = profiling->lease.id;
        described.remaining_ms = profiling->lease.deadline_ms > now ? profiling->lease.deadline_ms - now : 0;
        described.active = profiling->lease.active;
        described.restores = profiling->lease.restores;
    }
    return described;
}
