/* SPDX-License-Identifier: Apache-2.0 */
#include "routes/native.h"

#include "routes/choice.h"
#include "routes/native-parameters.h"
#include "routes/native-recording.h"
#include "routes/native-reply.h"
#include "routes/path.h"
#include "routes/status.h"
#include "routes/unprofiled.h"

/* False: the reply says why. */
static bool
ask(const RouteHost *host, WireHelloReply *hello, RouteReply *reply)
{
    Failure failure = {0};
    Outcome result = host->ops->hello(host->data, hello, &failure);
    if (result != OUTCOME_DONE)
        native_failure(reply, result, &failure);
    return result == OUTCOME_DONE;
}

/* The state of the profiler in the jemalloc of HELLO. */
static void
read_profiling(const RouteHost *host, const WireHelloReply *hello, RouteStatus *status)
{
    Failure failure;
    WireCtlReply lg, threads;
    status_set_hello(status, hello);
    if (unprofiled_applies(hello))
        return;
    if (host->ops->read(host->data, "prof.lg_sample", WIRE_TYPE_SIZE, &lg, &failure) == OUTCOME_DONE && lg.value < 64)
        status->sample_bytes = UINT64_C(1) << lg.value;
    if (host->ops->read(host->data, "prof.thread_active_init", WIRE_TYPE_BOOL, &threads, &failure) == OUTCOME_DONE)
        status->threads_sampled = threads.value != 0;
}

static void
native_status(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    WireHelloReply hello;
    RouteStatus status;
    if (!ask(host, &hello, reply))
        return;
    status_init(&status);
    if (host->ops->status != NULL)
        host->ops->status(host->data, &status);
    read_profiling(host, &hello, &status);
    status.is_recording = native_find_running(host, &status.recording);
    status_reply(reply, &status);
}

static void
native_profiling(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    WireHelloReply hello;
    RouteStatus status;
    Json json;
    if (!ask(host, &hello, reply))
        return;
    status_init(&status);
    read_profiling(host, &hello, &status);
    native_begin(&json, reply, 200);
    status_add_profiling(&json, &status);
    native_end(&json);
}

/* Replies with the present state, or the error. */
static void
tell(const RouteHost *host, const RouteRequest *request, Outcome result, const Failure *failure, RouteReply *reply)
{
    if (result == OUTCOME_DONE)
        native_profiling(host, request, reply);
    else
        native_failure(reply, result, failure);
}

/* PERIOD as WireLeaseRequest.period. prof.reset discards the samples, so it is used only if needed. */
static Outcome
set_period(const RouteHost *host, uint32_t period, Failure *failure)
{
    WireCtlReply lg;
    Outcome result = host->ops->read(host->data, "prof.lg_sample", WIRE_TYPE_SIZE, &lg, failure);
    if (result != OUTCOME_DONE || lg.value + 1 == period)
        return result;
    return host->ops->write(host->data, "prof.reset", WIRE_TYPE_SIZE, period - 1, failure);
}

static Outcome
switch_permanently(const RouteHost *host, const WireLeaseRequest *wanted, const SamplerChoice *choice, Failure *failure)
{
    Outcome result = wanted->active ? choice_make(host, choice, failure) : OUTCOME_DONE;
    if (result == OUTCOME_DONE && wanted->period != 0)
        result = set_period(host, wanted->period, failure);
    return result == OUTCOME_DONE ? host->ops->write(host->data, "prof.active", WIRE_TYPE_BOOL, wanted->active, failure)
                                  : result;
}

static Outcome
switch_for_a_time(const RouteHost *host, const WireLeaseRequest *wanted, const SamplerChoice *choice, Failure *failure)
{
    WireLease lease;
    const Outcome result = choice_prepare(host, choice, failure);
    return result == OUTCOME_DONE ? host->ops->lease(host->data, wanted, &lease, failure) : result;
}

static void
native_profiling_set(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    Failure failure = {0};
    WireLeaseRequest wanted = {.action = WIRE_LEASE_TAKE};
    SamplerChoice choice;
    uint64_t active = 0;
    if (!native_read(request, NATIVE_BOOLEAN | NATIVE_NEEDED, "active", &active, reply) ||
        !native_for(request, 0, &wanted.duration_ms, reply) || !native_period(request, &wanted.period, reply) ||
        !native_choice(host, request, &choice, reply))
        return;
    wanted.active = active != 0;
    wanted.flags = sampler_choice_flags(choice.sampler);
    Outcome result =
        (wanted.duration_ms == 0 ? switch_permanently : switch_for_a_time)(host, &wanted, &choice, &failure);
    tell(host, request, result, &failure, reply);
}

/* False: the path does not name a lease, and the reply is the error. */
static bool
lease_id(const RouteRequest *request, uint64_t *id, RouteReply *reply)
{
    enum { LEASE_COMPONENT = 6 };
    if (path_number(request->path, LEASE_COMPONENT, id))
        return true;
    native_error(reply, 404, &(NativeError){"not_found", "GET .../profiling has the lease that runs, with its id"},
                 "the id of a lease is a number");
    return false;
}

static void
native_lease_renew(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    WireLeaseRequest renew = {.action = WIRE_LEASE_RENEW};
    Failure failure = {0};
    WireLease lease;
    if (lease_id(request, &renew.lease_id, reply) && native_for(request, NATIVE_NEEDED, &renew.duration_ms, reply)) {
        Outcome result = host->ops->lease(host->data, &renew, &lease, &failure);
        tell(host, request, result, &failure, reply);
    }
}

static void
native_lease_release(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    WireLeaseRequest release = {.action = WIRE_LEASE_RELEASE};
    Failure failure = {0};
    WireLease lease;
    if (lease_id(request, &release.lease_id, reply)) {
        Outcome result = host->ops->lease(host->data, &release, &lease, &failure);
        tell(host, request, result, &failure, reply);
    }
}

static void
native_reset(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    Failure failure = {0};
    uint32_t period;
    if (!native_period(request, &period, reply))
        return;
    Outcome result = period != 0 ? host->ops->write(host->data, "prof.reset", WIRE_TYPE_SIZE, period - 1, &failure)
                                 : host->ops->write(host->data, "prof.reset", WIRE_TYPE_NONE, 0, &failure);
    tell(host, request, result, &failure, reply);
}

static const RouteParameter profiling_parameters[] = {
    {"active", "boolean", "whether to sample"},
    {"for", "duration", "duration of the lease; if omitted, the change is permanent"},
    {"duration", "duration", "same as 'for'"},
    {"sample", "size",
     "sampling period, rounded to a power of two; setting it discards the samples, as does the end of the lease, which "
     "restores the earlier one"},
    CHOICE_SAMPLER_ROW,
    NATIVE_SAMPLER_MEMORY_ROW,
    {0},
};

static const RouteParameter renew_parameters[] = {
    {"for", "duration", "duration of the lease from now on"},
    {"duration", "duration", "same as 'for'"},
    {0},
};

static const RouteParameter reset_parameters[] = {
    {"sample", "size", "average number of bytes between samples from now on, rounded to a power of two"},
    {0},
};

static const Route rows[] = {
    {ROUTE_DIALECT_NATIVE, "GET|HEAD", NATIVE_PATH, "target details and state", .answer = native_status},
    {ROUTE_DIALECT_NATIVE, "GET|HEAD", NATIVE_PATH "/profiling",
     "profiling state, since when it samples, and the current lease", .answer = native_profiling},
    {ROUTE_DIALECT_NATIVE, "PUT|POST", NATIVE_PATH "/profiling",
     "switch sampling on or off, for a limited time or permanently", .parameters = profiling_parameters,
     .role = ROUTE_ROLE_CONTROL, .answer = native_profiling_set},
    {ROUTE_DIALECT_NATIVE, "PUT|POST", NATIVE_PATH "/profiling/leases/{lease}", "renew a lease",
     .parameters = renew_parameters, .role = ROUTE_ROLE_CONTROL, .answer = native_lease_renew},
    {ROUTE_DIALECT_NATIVE, "DELETE", NATIVE_PATH "/profiling/leases/{lease}", "end a lease now",
     .role = ROUTE_ROLE_CONTROL, .answer = native_lease_release},
    {ROUTE_DIALECT_NATIVE, "POST", NATIVE_PATH "/reset", "discard all samples, and optionally set the sampling period",
     .parameters = reset_parameters, .role = ROUTE_ROLE_CONTROL, .answer = native_reset},
};

const RouteTable native_profiling_routes = {rows, sizeof(rows) / sizeof(rows[0])};
