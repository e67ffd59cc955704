/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/lease.h"

int
lease_plan(Lease *lease, const Lease *running, const WireLeaseRequest *request, uint64_t now_ms,
           const LeaseControls *controls)
{
    const bool follows = running->id != 0;
    const uint8_t inherited = follows ? running->period : 0;
    int error = 0;
    *lease = (Lease){
        .deadline_ms = now_ms + request->duration_ms,
        .active = request->active != 0,
        .restores = running->restores,
        .yields = (request->flags & WIRE_LEASE_YIELDS) != 0,
        .period = request->period != 0 ? (uint8_t)request->period : inherited,
        .restores_period = inherited != 0 ? running->restores_period : 0,
    };
    if (!follows)
        error = controls->read_active(controls->data, &lease->restores);
    if (error == 0 && lease->period != 0 && inherited == 0)
        error = controls->read_period(controls->data, &lease->restores_period);
    return error;
}

/* The period is read first: writing it discards the samples. */
static int
change_period(const LeaseControls *controls, uint8_t from, uint8_t to)
{
    uint8_t now;
    if (to == 0 || from == to)
        return 0;
    int error = controls->read_period(controls->data, &now);
    if (error != 0 || now == to || (from != 0 && now != from))
        return error;
    return controls->write_period(controls->data, to);
}

int
lease_begin(const Lease *lease, const LeaseControls *controls)
{
    bool before;
    int error = controls->read_active(controls->data, &before);
    const bool turns_off = before && !lease->active;
    if (error == 0 && turns_off)
        error = controls->write_active(controls->data, false);
    if (error != 0)
        return error;
    /* The period changes while sampling is off, so that no object is sampled with the wrong one. */
    error = change_period(controls, 0, lease->period);
    if (error != 0 && turns_off)
        controls->write_active(controls->data, true);
    if (error != 0 || before || !lease->active)
        return error;
    error = controls->write_active(controls->data, true);
    if (error != 0)
        change_period(controls, lease->period, lease->restores_period);
    return error;
}

int
lease_end(const Lease *lease, const LeaseControls *controls)
{
    bool now = lease->active;
    int error = 0;
    if (lease->restores != lease->active)
        error = controls->read_active(controls->data, &now);
    const bool switches = error == 0 && lease->restores != lease->active && now == lease->active;
    if (switches && !lease->restores)
        error = controls->write_active(controls->data, false);
    int other = change_period(controls, lease->period, lease->restores_period);
    if (switches && lease->restores)
        error = controls->write_active(controls->data, true);
    return error != 0 ? error : other;
}

bool
lease_is(const Lease *lease, uint64_t id)
{
    return id != 0 && lease->id == id;
}

uint64_t
lease_left_ms(const Lease *lease, uint64_t now_ms)
{
    return lease->id != 0 && lease->deadline_ms > now_ms ? lease->deadline_ms - now_ms : 0;
}

WireLease
lease_describe(const Lease *lease, uint64_t now_ms)
{
    return lease->id == 0 ? (WireLease){0}
                          : (WireLease){.id = lease->id,
                                        .remaining_ms = lease_left_ms(lease, now_ms),
                                        .active = lease->active,
                                        .restores = lease->restores,
                                        .yields = lease->yields,
                                        .period = lease->restores_period};
}
