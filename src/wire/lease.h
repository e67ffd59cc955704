/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine of a lease: prof.active, and perhaps the sampling period, set for a time and restored at its end. The
 * agent drives it with the controls of its own process, target/ptrace.c with those of a stopped thread: controls and
 * time are handed in. libc only, allocates nothing, holds no state of its own.
 *
 * A change made in between wins: a value that is no longer the lease's own is left alone at the end.
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
    uint8_t period;          /* as WireLeaseRequest.period; 0: it leaves the period alone */
    uint8_t restores_period; /* likewise */
} Lease;

/* Each returns 0, or an error that the function below returns. A period is at least 1; writing one discards the
 * samples. */
typedef struct {
    int (*read_active)(void *data, bool *active);
    int (*write_active)(void *data, bool active);
    int (*read_period)(void *data, uint8_t *period);
    int (*write_period)(void *data, uint8_t period);
    void *data;
} LeaseControls;

/* What the lease that REQUEST (a TAKE) asks for is to set and restore; its id is 0 yet. RUNNING is the one it replaces,
 * whose debts it takes over; without one its id is 0. Changes no control. */
int lease_plan(Lease *lease, const Lease *running, const WireLeaseRequest *request, uint64_t now_ms,
               const LeaseControls *controls);

/* Sets what is not set already. After an error both controls are as they were, if that can be had. */
int lease_begin(const Lease *lease, const LeaseControls *controls);

/* Restores what is the lease's own still; tries both controls, also after an error. */
int lease_end(const Lease *lease, const LeaseControls *controls);

/* Whether a RENEW or RELEASE of ID is about this lease. */
bool lease_is(const Lease *lease, uint64_t id);

/* 0: none is running, or it has expired. */
uint64_t lease_left_ms(const Lease *lease, uint64_t now_ms);

WireLease lease_describe(const Lease *lease, uint64_t now_ms);

#endif
