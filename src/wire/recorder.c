/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/recorder.h"

static uint64_t
earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

bool
recorder_may_start(const WireHelloReply *hello)
{
    if (hello->lease.id != 0)
        return hello->lease.yields && !hello->lease.restores;
    return (hello->flags & WIRE_FLAG_PROF_ACTIVE) == 0;
}

uint64_t
recorder_left_ms(const Recorder *recorder, uint64_t now_ms)
{
    return recorder->ends_ms > now_ms ? recorder->ends_ms - now_ms : 0;
}

uint64_t
recorder_due_ms(const Recorder *recorder, uint64_t now_ms)
{
    const uint64_t left = recorder_left_ms(recorder, now_ms);
    const uint64_t due = recorder->renewed_ms + RECORDER_RENEW_MS;
    if (recorder->lease == 0 || recorder->in_process)
        return left;
    return earlier(left, due > now_ms ? due - now_ms : 0);
}

WireLeaseRequest
recorder_request(const Recorder *recorder, WireLeaseAction action, uint64_t now_ms)
{
    const uint64_t left = recorder_left_ms(recorder, now_ms);
    /* A margin for the time that the dump takes to begin, so that the recording ends before its lease expires. */
    const uint64_t short_ms = earlier(left, RECORDER_LEASE_MS - RECORDER_RENEW_MS) + RECORDER_RENEW_MS;
    return (WireLeaseRequest){
        .action = action,
        .flags = (recorder->yields ? (uint32_t)WIRE_LEASE_YIELDS : 0) | sampler_choice_flags(recorder->sampler),
        .lease_id = recorder->lease,
        .duration_ms = recorder->in_process ? left : short_ms,
        .active = 1,
        .period = recorder->period,
    };
}

Outcome
recorder_choose(const SamplerChoice *choice, const RecorderControls *controls, Failure *failure)
{
    WireHelloReply hello;
    if (choice->sampler == WIRE_SAMPLER_AUTO && choice->memory == 0)
        return OUTCOME_DONE;
    Outcome result = controls->hello(controls->data, &hello, failure);
    if (result == OUTCOME_DONE)
        result = sampler_choice_check(choice, &hello, failure);
    if (result == OUTCOME_DONE && choice->memory != 0)
        result = controls->write(controls->data, WIRE_SAMPLER_MEMORY_CONTROL, WIRE_TYPE_SIZE, choice->memory, failure);
    return result;
}

Outcome
recorder_start(Recorder *recorder, uint64_t now_ms, uint64_t duration_ms, const RecorderControls *controls,
               Failure *failure)
{
    WireLease lease;
    recorder->lease = 0;
    recorder->began_ms = recorder->renewed_ms = now_ms;
    recorder->ends_ms = duration_ms == RECORDER_WITHOUT_END ? RECORDER_WITHOUT_END : now_ms + duration_ms;
    const WireLeaseRequest request = recorder_request(recorder, WIRE_LEASE_TAKE, now_ms);
    Outcome result = controls->lease(controls->data, &request, &lease, failure);
    if (result == OUTCOME_DONE)
        recorder->lease = lease.id;
    return result;
}

static RecorderStep
drop(Failure *failure)
{
    failure_set(failure, OUTCOME_DONE, "another client switched profiling off meanwhile");
    return RECORDER_DROPPED;
}

RecorderStep
recorder_look(Recorder *recorder, const RecorderControls *controls, Failure *failure)
{
    WireHelloReply hello;
    if (controls->hello(controls->data, &hello, failure) != OUTCOME_DONE ||
        (recorder->lease != 0 && hello.lease.id == recorder->lease))
        return RECORDER_RUNS;
    if ((hello.flags & WIRE_FLAG_PROF_ACTIVE) == 0)
        return drop(failure);
    recorder->lease = 0;
    return RECORDER_RUNS;
}

RecorderStep
recorder_renew(Recorder *recorder, uint64_t now_ms, const RecorderControls *controls, Failure *failure)
{
    const WireLeaseRequest request = recorder_request(recorder, WIRE_LEASE_RENEW, now_ms);
    WireLease lease;
    if (recorder->lease == 0 || recorder->in_process)
        return RECORDER_RUNS;
    recorder->renewed_ms = now_ms;
    switch (controls->lease(controls->data, &request, &lease, failure)) {
    case OUTCOME_NOT_FOUND:
        return recorder_look(recorder, controls, failure);
    case OUTCOME_GONE:
        return RECORDER_FAILED;
    default:
        return RECORDER_RUNS;
    }
}

/* Restores the state before the recording: off. A lease that another client has taken meanwhile continues and ends by
 * itself. */
static Outcome
restore(const Recorder *recorder, uint64_t now_ms, const RecorderControls *controls, Failure *failure)
{
    const WireLeaseRequest release = recorder_request(recorder, WIRE_LEASE_RELEASE, now_ms);
    WireLease none;
    WireHelloReply hello;
    if (recorder->lease != 0)
        controls->lease(controls->data, &release, &none, failure);
    Outcome result = controls->hello(controls->data, &hello, failure);
    if (result == OUTCOME_DONE && (hello.flags & WIRE_FLAG_PROF_ACTIVE) != 0 && hello.lease.id == 0)
        result = controls->write(controls->data, "prof.active", WIRE_TYPE_BOOL, 0, failure);
    return result;
}

static RecorderStep
extend(Recorder *recorder, uint64_t now_ms)
{
    recorder->ends_ms = now_ms + RECORDER_EXTEND_MS;
    return RECORDER_EXTENDED;
}

RecorderStep
recorder_end(Recorder *recorder, uint64_t now_ms, RecorderEnd how, const RecorderControls *controls, Failure *failure)
{
    WireHelloReply hello;
    Outcome result = controls->hello(controls->data, &hello, failure);
    if (result != OUTCOME_DONE && !outcome_is_unreachable(result))
        return RECORDER_FAILED;
    if (result != OUTCOME_DONE)
        return how == RECORDER_END_OR_EXTEND ? extend(recorder, now_ms) : RECORDER_UNREACHED;
    result = restore(recorder, now_ms, controls, failure);
    if ((hello.flags & WIRE_FLAG_PROF_ACTIVE) == 0)
        return drop(failure);
    if (result != OUTCOME_DONE && how == RECORDER_END_OR_EXTEND)
        return extend(recorder, now_ms);
    if (result == OUTCOME_DONE)
        *failure = (Failure){0};
    return RECORDER_IS_OVER;
}
