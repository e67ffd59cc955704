/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/profiling.h"

#include "agent/sampler.h"

#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <time.h>

/*
 * State for forked children: two copies, of which `current` is the consistent one. A child forked while the agent
 * thread is working sees the state before or after a change, and no lock is shared with the forking thread.
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

WireSampler
profiling_sampler(const Profiling *profiling, const Allocator *allocator)
{
    if (profiling->chosen != WIRE_SAMPLER_AUTO)
        return profiling->chosen;
    if (allocator_can_profile(allocator))
        return WIRE_SAMPLER_JEMALLOC;
    return profiling->obstacle == WIRE_SAMPLER_READY ? WIRE_SAMPLER_JESCOPE : WIRE_SAMPLER_AUTO;
}

static bool
samples_itself(const Profiling *profiling, const Allocator *allocator)
{
    return profiling_sampler(profiling, allocator) == WIRE_SAMPLER_JESCOPE;
}

static bool
read_active(const Profiling *profiling, const Allocator *allocator)
{
    bool active = false;
    if (samples_itself(profiling, allocator))
        return sampler_is_active();
    return allocator_read(allocator, "prof.active", &active, sizeof(active)) == 0 && active;
}

static int
exchange_active(Profiling *profiling, const Allocator *allocator, bool active, bool *old)
{
    size_t size = sizeof(*old);
    if (!samples_itself(profiling, allocator))
        return allocator->mallctl("prof.active", old, &size, &active, sizeof(active));
    *old = sampler_is_active();
    const int error = active ? sampler_begin(allocator) : sampler_end(allocator);
    if (error == ENOTSUP)
        profiling->obstacle = WIRE_SAMPLER_NO_ENDS;
    return error;
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
    *profiling = (Profiling){.last_lease_id = profiling->last_lease_id, .obstacle = sampler_obstacle(allocator)};
    if (profiling_sampler(profiling, allocator) != WIRE_SAMPLER_AUTO)
        note_active(profiling, read_active(profiling, allocator), since);
    else
        publish(profiling);
}

void
profiling_inherit(Profiling *profiling)
{
    *profiling = published[atomic_load_explicit(&current, memory_order_acquire)];
}

void
profiling_refresh(Profiling *profiling, const Allocator *allocator)
{
    note_active(profiling, read_active(profiling, allocator), WIRE_SINCE_UNKNOWN);
}

int
profiling_set_active(Profiling *profiling, const Allocator *allocator, bool active, bool *old)
{
    bool previous = false;
    int error = exchange_active(profiling, allocator, active, &previous);
    if (error != 0)
        return error;
    if (old != NULL)
        *old = previous;
    profiling->lease = (Lease){0};
    if (!active && profiling->chosen != WIRE_SAMPLER_AUTO) {
        profiling->chosen = WIRE_SAMPLER_AUTO;
        active = profiling_sampler(profiling, allocator) != WIRE_SAMPLER_AUTO && read_active(profiling, allocator);
    }
    note_active(profiling, active, WIRE_SINCE_AGENT);
    return 0;
}

int
profiling_reset(Profiling *profiling, const Allocator *allocator, const size_t *lg)
{
    size_t value = lg != NULL ? *lg : sampler_lg();
    int error;
    if (samples_itself(profiling, allocator))
        error = value < WIRE_LEASE_PERIOD_MAX ? sampler_reset((unsigned)value) : EINVAL;
    else
        error =
            allocator->mallctl("prof.reset", NULL, NULL, lg != NULL ? &value : NULL, lg != NULL ? sizeof(value) : 0);
    if (error == 0) {
        sampler_forget();
        profiling->reset_at_ns = clock_ns(CLOCK_REALTIME);
        publish(profiling);
    }
    return error;
}

/* ---- the controls of a lease ---- */

typedef struct {
    Profiling *profiling;
    const Allocator *allocator;
} Owner;

/* Reports off if the query fails. */
static int
read_active_for(void *data, bool *active)
{
    const Owner *owner = data;
    *active = read_active(owner->profiling, owner->allocator);
    return 0;
}

static int
write_active_for(void *data, bool active)
{
    const Owner *owner = data;
    bool old;
    return exchange_active(owner->profiling, owner->allocator, active, &old);
}

static int
read_period_for(void *data, uint8_t *period)
{
    const Owner *owner = data;
    size_t lg = sampler_lg();
    int error = 0;
    if (!samples_itself(owner->profiling, owner->allocator))
        error = allocator_read(owner->allocator, "prof.lg_sample", &lg, sizeof(lg));
    if (error != 0 || lg >= WIRE_LEASE_PERIOD_MAX)
        return ENOENT;
    *period = (uint8_t)(lg + 1);
    return 0;
}

/* prof.reset is the only way to another period. */
static int
write_period_for(void *data, uint8_t period)
{
    const Owner *owner = data;
    const size_t lg = (size_t)period - 1;
    /* At the end of a lease, the samples of jescope's sampler are kept for its dump. */
    return samples_itself(owner->profiling, owner->allocator)
               ? sampler_reset((unsigned)lg)
               : profiling_reset(owner->profiling, owner->allocator, &lg);
}

static LeaseControls
controls_for(Owner *owner)
{
    return (LeaseControls){read_active_for, write_active_for, read_period_for, write_period_for, owner};
}

/* ---- the life cycle ---- */

void
profiling_end_lease(Profiling *profiling, const Allocator *allocator)
{
    Owner owner = {profiling, allocator};
    const LeaseControls controls = controls_for(&owner);
    if (profiling->lease.id == 0)
        return;
    lease_end(&profiling->lease, &controls);
    /* After both: a child forked in between restores once more, which changes nothing. */
    profiling->lease = (Lease){0};
    profiling->chosen = profiling->chosen_before;
    note_active(profiling, read_active(profiling, allocator), WIRE_SINCE_AGENT);
}

bool
profiling_choose(Profiling *profiling, const Allocator *allocator, WireSampler sampler)
{
    const bool usable =
        sampler == WIRE_SAMPLER_JEMALLOC ? allocator_can_profile(allocator) : profiling->obstacle == WIRE_SAMPLER_READY;
    if (sampler != WIRE_SAMPLER_AUTO && !usable)
        return false;
    if (sampler == profiling->chosen)
        return true;
    profiling_end_lease(profiling, allocator);
    sampler_end(allocator);
    profiling->chosen = profiling->chosen_before = sampler;
    note_active(profiling, read_active(profiling, allocator), WIRE_SINCE_UNKNOWN);
    return true;
}

void
profiling_leave(Profiling *profiling, const Allocator *allocator)
{
    profiling_end_lease(profiling, allocator);
    sampler_end(allocator);
    sampler_forget();
    profiling->chosen = WIRE_SAMPLER_AUTO;
}

/* Sets the sampler that the lease is for; the previous one is restored at its end. */
static bool
choose_for_lease(Profiling *profiling, const Allocator *allocator, uint32_t flags)
{
    const WireSampler before = profiling->lease.id != 0 ? profiling->chosen_before : profiling->chosen;
    const WireSampler wanted = (flags & WIRE_LEASE_JESCOPE) != 0    ? WIRE_SAMPLER_JESCOPE
                               : (flags & WIRE_LEASE_JEMALLOC) != 0 ? WIRE_SAMPLER_JEMALLOC
                                                                    : before;
    if (!profiling_choose(profiling, allocator, wanted))
        return false;
    profiling->chosen_before = before;
    return true;
}

static WireStatus
take_lease(Profiling *profiling, const Allocator *allocator, const WireLeaseRequest *request, int *error)
{
    Owner owner = {profiling, allocator};
    const LeaseControls controls = controls_for(&owner);
    Lease planned;
    if (profiling->lease.id != 0 && !profiling->lease.yields && (request->flags & WIRE_LEASE_REPLACE) == 0)
        return WIRE_STATUS_BUSY;
    if (!choose_for_lease(profiling, allocator, request->flags))
        return WIRE_STATUS_PROF_DISABLED;
    const Lease running = profiling->lease;
    *error = lease_plan(&planned, &running, request, profiling_now_ms(), &controls);
    if (*error != 0) {
        profiling->chosen = running.id == 0 ? profiling->chosen_before : profiling->chosen;
        return WIRE_STATUS_CONTROL_FAILED;
    }
    planned.id = ++profiling->last_lease_id;
    profiling->lease = planned;
    /* Before prof.active: a child forked in between must not continue sampling indefinitely. */
    publish(profiling);
    *error = lease_begin(&planned, &controls);
    if (*error != 0) {
        profiling->lease = running;
        profiling->chosen = running.id == 0 ? profiling->chosen_before : profiling->chosen;
        publish(profiling);
        return WIRE_STATUS_CONTROL_FAILED;
    }
    note_active(profiling, planned.active, WIRE_SINCE_AGENT);
    return WIRE_STATUS_OK;
}

WireStatus
profiling_lease(Profiling *profiling, const Allocator *allocator, const WireLeaseRequest *request, int *error)
{
    if (request->action == WIRE_LEASE_TAKE)
        return take_lease(profiling, allocator, request, error);
    if (!lease_is(&profiling->lease, request->lease_id))
        return WIRE_STATUS_NO_LEASE;
    if (request->action == WIRE_LEASE_RELEASE) {
        profiling_end_lease(profiling, allocator);
    } else {
        profiling->lease.deadline_ms = profiling_now_ms() + request->duration_ms;
        publish(profiling);
    }
    return WIRE_STATUS_OK;
}

int
profiling_tick(Profiling *profiling, const Allocator *allocator)
{
    if (profiling->lease.id == 0)
        return -1;
    uint64_t left = lease_left_ms(&profiling->lease, profiling_now_ms());
    if (left == 0) {
        profiling_end_lease(profiling, allocator);
        return -1;
    }
    return left < INT_MAX ? (int)left : INT_MAX;
}

WireLease
profiling_describe_lease(const Profiling *profiling)
{
    return lease_describe(&profiling->lease, profiling_now_ms());
}
