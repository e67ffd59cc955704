/* SPDX-License-Identifier: Apache-2.0 */
#include "routes/native.h"

#include "routes/native-parameters.h"
#include "routes/native-recording.h"
#include "routes/native-reply.h"
#include "routes/path.h"
#include "routes/reply.h"
#include "routes/unprofiled.h"
#include "routes/values.h"

#include <string.h>

enum { NS_PER_MS = 1000000 };

static void
add_lease(Json *json, const WireLease *lease)
{
    if (lease->id == 0) {
        json_put_null(json, "lease");
        return;
    }
    json_begin_object(json, "lease");
    json_number(json, "id", lease->id);
    json_seconds(json, "remaining_seconds", lease->remaining_ms);
    json_boolean(json, "active", lease->active != 0);
    json_boolean(json, "restores", lease->restores != 0);
    json_end(json);
}

static void
add_period(const RouteHost *host, Json *json)
{
    RouteFailure failure;
    RouteValue lg;
    if (host->ops->read(host->data, "prof.lg_sample", WIRE_TYPE_SIZE, &lg, &failure) == ROUTE_DONE && lg.value < 64) {
        json_number(json, "sample_bytes", UINT64_C(1) << lg.value);
    } else {
        json_put_null(json, "sample_bytes");
    }
}

static void
add_profiling(const RouteHost *host, const WireHelloReply *hello, Json *json)
{
    static const char *const since[] = {
        [WIRE_SINCE_UNKNOWN] = "unknown", [WIRE_SINCE_START] = "start", [WIRE_SINCE_AGENT] = "agent"};
    bool active = (hello->flags & WIRE_FLAG_PROF_ACTIVE) != 0;
    bool available = !unprofiled_applies(hello);
    json_boolean(json, "available", available);
    json_boolean(json, "active", active);
    if (active && hello->since <= WIRE_SINCE_AGENT) {
        json_text(json, "since", since[hello->since]);
    } else {
        json_put_null(json, "since");
    }
    native_time(json, "active_since", hello->active_since_ns / NS_PER_MS);
    native_time(json, "reset_at", hello->reset_at_ns / NS_PER_MS);
    if (available) {
        add_period(host, json);
    } else {
        json_put_null(json, "sample_bytes");
    }
    add_lease(json, &hello->lease);
}

/* False: the reply says why. */
static bool
ask(const RouteHost *host, WireHelloReply *hello, RouteReply *reply)
{
    RouteFailure failure = {0};
    RouteResult result = host->ops->hello(host->data, hello, &failure);
    if (result != ROUTE_DONE) {
        native_failure(reply, result, &failure);
    }
    return result == ROUTE_DONE;
}

static void
add_jemalloc(Json *json, const WireHelloReply *hello)
{
    json_begin_object(json, "jemalloc");
    json_text(json, "version", hello->jemalloc_version);
    json_text(json, "prefix", hello->prefix);
    json_text(json, "found_in", hello->found_in);
    json_boolean(json, "serves_malloc", (hello->flags & WIRE_FLAG_SERVES_MALLOC) != 0);
    json_boolean(json, "config_prof", (hello->flags & WIRE_FLAG_CONFIG_PROF) != 0);
    json_boolean(json, "config_stats", (hello->flags & WIRE_FLAG_CONFIG_STATS) != 0);
    json_boolean(json, "opt_prof", (hello->flags & WIRE_FLAG_OPT_PROF) != 0);
    json_end(json);
}

void
native_status(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    WireHelloReply hello;
    RouteRecording running;
    Json json;
    if (!ask(host, &hello, reply)) {
        return;
    }
    native_begin(&json, reply, 200);
    json_text(&json, "name", hello.name);
    json_signed(&json, "pid", hello.pid);
    json_number(&json, "uid", hello.uid);
    json_begin_object(&json, "agent");
    json_text(&json, "version", hello.agent_version);
    json_number(&json, "clients", hello.agent_clients);
    json_end(&json);
    add_jemalloc(&json, &hello);
    json_begin_object(&json, "profiling");
    add_profiling(host, &hello, &json);
    json_end(&json);
    if (native_find_running(host, &running)) {
        json_begin_object(&json, "recording");
        native_add_recording(&json, &running);
        json_end(&json);
    } else {
        json_put_null(&json, "recording");
    }
    native_end(&json);
}

void
native_profiling(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    WireHelloReply hello;
    Json json;
    if (!ask(host, &hello, reply)) {
        return;
    }
    native_begin(&json, reply, 200);
    add_profiling(host, &hello, &json);
    native_end(&json);
}

/* Tells how it is now, or why it is not as it should be. */
static void
tell(const RouteHost *host, const RouteRequest *request, RouteResult result, const RouteFailure *failure,
     RouteReply *reply)
{
    if (result == ROUTE_DONE) {
        native_profiling(host, request, reply);
    } else {
        native_failure(reply, result, failure);
    }
}

void
native_profiling_set(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    RouteFailure failure = {0};
    WireLease lease;
    RouteResult result;
    uint64_t ms = 0;
    bool active = false;
    if (!native_boolean(request, "active", NATIVE_NEEDED, &active, reply) ||
        !native_duration(request, "for", NATIVE_OPTIONAL, &ms, reply)) {
        return;
    }
    if (ms == 0) {
        result = host->ops->write(host->data, "prof.active", WIRE_TYPE_BOOL, active, &failure);
    } else {
        const WireLeaseRequest take = {.action = WIRE_LEASE_TAKE, .duration_ms = ms, .active = active};
        result = host->ops->lease(host->data, &take, &lease, &failure);
    }
    tell(host, request, result, &failure, reply);
}

/* False: the path names no lease, and the reply says so. */
static bool
lease_id(const RouteRequest *request, uint64_t *id, RouteReply *reply)
{
    enum { LEASE_COMPONENT = 6 };
    if (path_number(request->path, LEASE_COMPONENT, id)) {
        return true;
    }
    native_error(reply, 404, &(NativeError){"not_found", "GET .../profiling has the lease that runs, with its id"},
                 "the id of a lease is a number");
    return false;
}

void
native_lease_renew(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    WireLeaseRequest renew = {.action = WIRE_LEASE_RENEW};
    RouteFailure failure = {0};
    WireLease lease;
    if (lease_id(request, &renew.lease_id, reply) &&
        native_duration(request, "for", NATIVE_NEEDED, &renew.duration_ms, reply)) {
        RouteResult result = host->ops->lease(host->data, &renew, &lease, &failure);
        tell(host, request, result, &failure, reply);
    }
}

void
native_lease_release(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    WireLeaseRequest release = {.action = WIRE_LEASE_RELEASE};
    RouteFailure failure = {0};
    WireLease lease;
    if (lease_id(request, &release.lease_id, reply)) {
        RouteResult result = host->ops->lease(host->data, &release, &lease, &failure);
        tell(host, request, result, &failure, reply);
    }
}

void
native_reset(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    RouteFailure failure = {0};
    uint64_t bytes = 0;
    if (!native_size(request, "sample", NATIVE_OPTIONAL, &bytes, reply)) {
        return;
    }
    unsigned lg = bytes != 0 ? value_log2_rounded(bytes) : 0;
    RouteResult result =
        host->ops->write(host->data, "prof.reset", bytes != 0 ? WIRE_TYPE_SIZE : WIRE_TYPE_NONE, lg, &failure);
    tell(host, request, result, &failure, reply);
}
