/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state machine of a lease: prof.active, and optionally the sampling period, is set for a time and restored at its
 * end. The agent runs it with the controls of its own process, target/ptrace.c with those of a stopped thread; the
 * caller passes controls and time. libc only, allocates nothing, holds no state of its own.
 *
 * A change made in between wins: at the end, a value that is no longer the one the lease set is left alone.
 */
#ifndef JESCOPE_WIRE_LEASE_H
#define JESCOPE_WIRE_LEASE_H

#include "wire/wire.h"

#include <stdbool.h>

typedef struct {
    uint64_t id;          /* 0: none */
    uint64_t deadline_ms; /* of the caller's clock */
    bool active;
    bool restores;
    bool yields;
    uint8_t period;          /* as WireLeaseRequest.period; 0: the lease leaves the period alone */
    uint8_t restores_period; /* likewise */
} Lease;

/* Each function returns 0, or an error, which the caller below returns. A period is at least 1; writing one discards
 * the samples. */
typedef struct {
    int (*read_active)(void *data, bool *active);
    int (*write_active)(void *data, bool active);
    int (*read_period)(void *data, uint8_t *period);
    int (*write_period)(void *data, uint8_t period);
    void *data;
} LeaseControls;

/* Plans the lease that REQUEST (a TAKE) asks for: what to set and what to restore; the caller sets its id. RUNNING is
 * the lease that it replaces, whose values to restore it takes over; id 0: there is none. Changes no control. */
int lease_plan(Lease *lease, const Lease *running, const WireLeaseRequest *request, uint64_t now_ms,
               const LeaseControls *controls);

/* Sets what is not set already. After an error both controls are restored as far as possible. */
int lease_begin(const Lease *lease, const LeaseControls *controls);

/* Restores the values that the lease has set and nothing has changed since; tries both controls, also after an
 * error. */
int lease_end(const Lease *lease, const LeaseControls *controls);

/* Whether ID, of a RENEW or RELEASE, is the id of this lease. */
bool lease_is(const Lease *lease, uint64_t id);

/* 0: no lease is running, or it has expired. */
uint64_t lease_left_ms(const Lease *lease, uint64_t now_ms);

WireLease lease_describe(const Lease *lease, uint64_t now_ms);

#endif
