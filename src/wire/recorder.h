/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state machine of a recording: profiling is switched on by a lease until the time is over, then the earlier state
 * is restored. The service, the library and `jescope record` drive it, each with its own controls and clock
 * (milliseconds, monotonic). libc only, allocates nothing, holds no state of its own.
 */
#ifndef JESCOPE_WIRE_RECORDER_H
#define JESCOPE_WIRE_RECORDER_H

#include "wire/outcome.h"
#include "wire/sampler-choice.h"

enum {
    RECORDER_LEASE_MS = 10000, /* profiling stays on for at most this long after jescope was killed */
    RECORDER_RENEW_MS = 2500,
    RECORDER_EXTEND_MS = 5000, /* by which a recording that cannot be ended is extended, as in Mesos */
};

#define RECORDER_WITHOUT_END UINT64_MAX

typedef struct {
    uint64_t lease; /* 0: it runs without one, since another client has switched profiling on permanently */
    uint64_t began_ms, ends_ms;
    uint64_t renewed_ms; /* when a renewal was last attempted */
    uint8_t period;      /* as WireLeaseRequest.period */
    WireSampler sampler;
    bool yields;     /* the lease is WIRE_LEASE_YIELDS */
    bool in_process; /* the lease ends with the process that drives it: it covers the whole time, without renewal */
} Recorder;

/* The functions of RouteHostOps with these names. */
typedef struct {
    Outcome (*hello)(void *data, WireHelloReply *hello, Failure *failure);
    Outcome (*lease)(void *data, const WireLeaseRequest *request, WireLease *lease, Failure *failure);
    Outcome (*write)(void *data, const char *control, WireType type, uint64_t value, Failure *failure);
    void *data;
} RecorderControls;

/* The state of a recording, and what its driver does next. Where noted, FAILURE is filled. */
typedef enum {
    RECORDER_RUNS,      /* calls again after recorder_due_ms() */
    RECORDER_EXTENDED,  /* likewise: it could not be ended, for the reason in FAILURE, and continues for a while */
    RECORDER_IS_OVER,   /* takes the dump; if FAILURE is filled, profiling could not be switched off */
    RECORDER_DROPPED,   /* takes no dump: another client switched profiling off (FAILURE) */
    RECORDER_FAILED,    /* the target has ended, or refuses (FAILURE) */
    RECORDER_UNREACHED, /* nothing has changed: the target cannot be reached now (FAILURE) */
} RecorderStep;

typedef enum {
    RECORDER_END_OR_EXTEND, /* the time is over */
    RECORDER_END_NOW,       /* there will be no further attempt */
} RecorderEnd;

/* Whether a recording may start: no client has switched profiling on, for a time or permanently, except by a lease that
 * yields. */
bool recorder_may_start(const WireHelloReply *hello);

/* Whether the target supports CHOICE; sets the memory of jescope's own sampler, for the next time it is switched on. */
Outcome recorder_choose(const SamplerChoice *choice, const RecorderControls *controls, Failure *failure);

/* Starts a recording of DURATION_MS at NOW_MS. The caller has set period, sampler (after recorder_choose()), yields and
 * in_process of *RECORDER. */
Outcome recorder_start(Recorder *recorder, uint64_t now_ms, uint64_t duration_ms, const RecorderControls *controls,
                       Failure *failure);

/* The request by which the lease is taken, renewed or released at NOW_MS. */
WireLeaseRequest recorder_request(const Recorder *recorder, WireLeaseAction action, uint64_t now_ms);

uint64_t recorder_left_ms(const Recorder *recorder, uint64_t now_ms);

/* Time until the recording ends or its lease must be renewed. */
uint64_t recorder_due_ms(const Recorder *recorder, uint64_t now_ms);

/* Renews the lease if there is one. Without it, the recording continues as long as profiling is on. */
RecorderStep recorder_renew(Recorder *recorder, uint64_t now_ms, const RecorderControls *controls, Failure *failure);

/* Whether it is still running; as recorder_renew(), but the lease stays as it is. */
RecorderStep recorder_look(Recorder *recorder, const RecorderControls *controls, Failure *failure);

/* Ends the recording: switches profiling off again, unless another client has switched it on for a time meanwhile. */
RecorderStep recorder_end(Recorder *recorder, uint64_t now_ms, RecorderEnd how, const RecorderControls *controls,
                          Failure *failure);

#endif
