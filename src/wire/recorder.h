/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine of a recording: profiling is on by a lease until the time is over, and what was on before comes back. The
 * service, the library and `jescope record` drive it, each with controls and a clock (milliseconds, monotonic) of its
 * own. libc only, allocates nothing, holds no state of its own.
 */
#ifndef JESCOPE_WIRE_RECORDER_H
#define JESCOPE_WIRE_RECORDER_H

#include "wire/outcome.h"
#include "wire/sampler-choice.h"

enum {
    RECORDER_LEASE_MS = 10000, /* profiling is on for no longer than this after a jescope that was killed */
    RECORDER_RENEW_MS = 2500,
    RECORDER_EXTEND_MS = 5000, /* when a recording cannot be ended; as Mesos does */
};

#define RECORDER_WITHOUT_END UINT64_MAX

typedef struct {
    uint64_t lease; /* 0: it goes on without one, since another client has switched profiling on permanently */
    uint64_t began_ms, ends_ms;
    uint64_t renewed_ms; /* when that was last tried */
    uint8_t period;      /* as WireLeaseRequest.period */
    WireSampler sampler;
    bool yields;     /* the lease is WIRE_LEASE_YIELDS */
    bool in_process; /* the lease ends with the process that drives it: it is of the whole time, never renewed */
} Recorder;

/* The functions of RouteHostOps with these names. */
typedef struct {
    Outcome (*hello)(void *data, WireHelloReply *hello, Failure *failure);
    Outcome (*lease)(void *data, const WireLeaseRequest *request, WireLease *lease, Failure *failure);
    Outcome (*write)(void *data, const char *control, WireType type, uint64_t value, Failure *failure);
    void *data;
} RecorderControls;

/* Of a recording, and what its driver does then. FAILURE is filled where it says so. */
typedef enum {
    RECORDER_RUNS,      /* asks again after recorder_due_ms() */
    RECORDER_EXTENDED,  /* likewise: it could not be ended for the reason in FAILURE, and goes on for a while */
    RECORDER_IS_OVER,   /* takes the dump; a sentence in FAILURE: profiling could not be switched off */
    RECORDER_DROPPED,   /* takes none: another client switched profiling off (FAILURE) */
    RECORDER_FAILED,    /* the target has ended, or refuses (FAILURE) */
    RECORDER_UNREACHED, /* nothing has changed: the target cannot be asked now (FAILURE) */
} RecorderStep;

typedef enum {
    RECORDER_END_OR_EXTEND, /* the time is over */
    RECORDER_END_NOW,       /* there is no other try */
} RecorderEnd;

/* Whether no client has switched profiling on, for a time or permanently (then it is not ours to switch off), but for
 * one that yields. */
bool recorder_may_start(const WireHelloReply *hello);

/* Whether the target can be asked for CHOICE; gives jescope's own sampler its memory, which it has until it was on and
 * off again. */
Outcome recorder_choose(const SamplerChoice *choice, const RecorderControls *controls, Failure *failure);

/* Begins at NOW_MS what ends DURATION_MS later. Of *RECORDER, period, sampler (after recorder_choose()), yields and
 * in_process are set before. */
Outcome recorder_start(Recorder *recorder, uint64_t now_ms, uint64_t duration_ms, const RecorderControls *controls,
                       Failure *failure);

/* The request by which the lease is taken, renewed or released at NOW_MS. */
WireLeaseRequest recorder_request(const Recorder *recorder, WireLeaseAction action, uint64_t now_ms);

uint64_t recorder_left_ms(const Recorder *recorder, uint64_t now_ms);

/* Until its end, or until the lease must be renewed. */
uint64_t recorder_due_ms(const Recorder *recorder, uint64_t now_ms);

/* Renews the lease where it has one. Without it, the recording goes on as long as profiling is on. */
RecorderStep recorder_renew(Recorder *recorder, uint64_t now_ms, const RecorderControls *controls, Failure *failure);

/* Whether it is still running; as recorder_renew(), but the lease stays as it is. */
RecorderStep recorder_look(Recorder *recorder, const RecorderControls *controls, Failure *failure);

/* Ends it: profiling is switched off again, but for what another client has switched on for a time meanwhile. */
RecorderStep recorder_end(Recorder *recorder, uint64_t now_ms, RecorderEnd how, const RecorderControls *controls,
                          Failure *failure);

#endif
