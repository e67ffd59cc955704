/* SPDX-License-Identifier: Apache-2.0 */
#include "routes/status.h"

#include "routes/json.h"
#include "routes/native-recording.h"
#include "routes/native-reply.h"
#include "routes/unprofiled.h"

#include <stdio.h>
#include <string.h>

enum {
    NS_PER_MS = 1000000,
    DIGITS_MAX = 18, /* of a number that surely fits in 64 bits */
};

static const char *const figure_names[STATUS_FIGURES] = {
    [STATUS_HELD] = "held",           [STATUS_ALLOCATED] = "allocated",
    [STATUS_ACTIVE] = "active",       [STATUS_METADATA] = "metadata",
    [STATUS_RESIDENT] = "resident",   [STATUS_MAPPED] = "mapped",
    [STATUS_RETAINED] = "retained",   [STATUS_RSS] = "rss",
    [STATUS_ANONYMOUS] = "anonymous", [STATUS_OUTSIDE] = "outside",
};

const char *
status_figure_name(StatusFigure figure)
{
    return figure_names[figure];
}

void
status_init(RouteStatus *status)
{
    memset(status, 0, sizeof(*status));
    status->threads_sampled = -1;
    for (size_t i = 0; i < STATUS_FIGURES; i++)
        status->figures[i] = STATUS_UNKNOWN;
}

void
status_set_hello(RouteStatus *status, const WireHelloReply *hello)
{
    status->hello = *hello;
    status->has_hello = true;
    if (status->pid != 0)
        return;
    status->pid = hello->pid;
    status->uid = hello->uid;
    status->name = status->hello.name;
    if (hello->start_time != 0)
        snprintf(status->unique, sizeof(status->unique), "%d.%llu", (int)hello->pid,
                 (unsigned long long)hello->start_time);
}

/* Parses the decimal number at *TEXT, and advances *TEXT behind it. False if there are no digits, or too many. */
static bool
take_digits(const char **text, uint64_t *number)
{
    const char *begin = *text;
    *number = 0;
    for (; **text >= '0' && **text <= '9' && *text - begin < DIGITS_MAX; ++*text)
        *number = *number * 10 + (uint64_t)(**text - '0');
    return *text > begin;
}

bool
status_parse_unique(const char *text, int64_t *pid, uint64_t *start_ticks)
{
    uint64_t number;
    if (!take_digits(&text, &number) || *text++ != '.' || !take_digits(&text, start_ticks) || *text != '\0')
        return false;
    *pid = (int64_t)number;
    return true;
}

static void
add_text(Json *json, const char *name, const char *text)
{
    if (text != NULL && text[0] != '\0')
        json_text(json, name, text);
    else
        json_put_null(json, name);
}

/* UNKNOWN is the number that becomes null. */
static void
add_number(Json *json, const char *name, uint64_t number, uint64_t unknown)
{
    if (number != unknown)
        json_number(json, name, number);
    else
        json_put_null(json, name);
}

static void
add_lease(Json *json, const WireLease *lease)
{
    if (lease->id == 0) {
        json_put_null(json, "lease");
        return;
    }
    bool sets_period = lease->period != 0 && lease->period <= WIRE_LEASE_PERIOD_MAX;
    json_begin_object(json, "lease");
    json_number(json, "id", lease->id);
    json_seconds(json, "remaining_seconds", lease->remaining_ms);
    json_boolean(json, "active", lease->active != 0);
    json_boolean(json, "restores", lease->restores != 0);
    add_number(json, "restores_sample_bytes", sets_period ? UINT64_C(1) << (lease->period - 1) : 0, 0);
    json_end(json);
}

/* The sampler; for jescope's own the reason, and the state of its recording. */
static void
add_sampler(Json *json, const WireHelloReply *hello)
{
    char reason[FAILURE_WHY_MAX];
    const WireSamplerFigures *figures = &hello->sampler;
    if ((hello->flags & WIRE_FLAG_SAMPLER_SERVES) == 0) {
        add_text(json, "sampler", unprofiled_applies(hello) ? "" : "jemalloc");
        json_put_null(json, "sampler_reason");
        json_put_null(json, "sampler_figures");
        return;
    }
    unprofiled_reason(hello, reason, sizeof(reason));
    json_text(json, "sampler", "jescope");
    json_text(json, "sampler_reason", reason);
    json_begin_object(json, "sampler_figures");
    json_number(json, "period_bytes", figures->lg < 64 ? UINT64_C(1) << figures->lg : 0);
    json_number(json, "doublings", figures->doublings);
    json_number(json, "lost", figures->lost);
    json_number(json, "lost_bytes", figures->lost_bytes);
    json_number(json, "without_stack", figures->without_stack);
    json_end(json);
}

void
status_add_profiling(Json *json, const RouteStatus *status)
{
    static const char *const since[] = {
        [WIRE_SINCE_UNKNOWN] = "unknown", [WIRE_SINCE_START] = "start", [WIRE_SINCE_AGENT] = "agent"};
    const WireHelloReply *hello = &status->hello;
    char obstacle[FAILURE_WHY_MAX] = "";
    bool active = (hello->flags & WIRE_FLAG_PROF_ACTIVE) != 0;
    bool available = !unprofiled_applies(hello);
    if (!available)
        unprofiled_describe(hello, obstacle, sizeof(obstacle));
    json_boolean(json, "available", available);
    add_text(json, "obstacle", obstacle);
    add_sampler(json, hello);
    json_boolean(json, "active", active);
    add_text(json, "since", active && hello->since <= WIRE_SINCE_AGENT ? since[hello->since] : NULL);
    native_time(json, "active_since", hello->active_since_ns / NS_PER_MS);
    native_time(json, "reset_at", hello->reset_at_ns / NS_PER_MS);
    add_number(json, "sample_bytes", available ? status->sample_bytes : 0, 0);
    if (available && status->threads_sampled >= 0)
        json_boolean(json, "new_threads_sampled", status->threads_sampled != 0);
    else
        json_put_null(json, "new_threads_sampled");
    add_lease(json, &hello->lease);
}

static void
add_jemalloc(Json *json, const WireHelloReply *hello)
{
    json_text(json, "version", hello->jemalloc_version);
    json_text(json, "prefix", hello->prefix);
    json_text(json, "found_in", hello->found_in);
    json_boolean(json, "serves_malloc", (hello->flags & WIRE_FLAG_SERVES_MALLOC) != 0);
    json_boolean(json, "config_prof", (hello->flags & WIRE_FLAG_CONFIG_PROF) != 0);
    json_boolean(json, "config_stats", (hello->flags & WIRE_FLAG_CONFIG_STATS) != 0);
    json_boolean(json, "opt_prof", (hello->flags & WIRE_FLAG_OPT_PROF) != 0);
}

static void
add_hello(Json *json, const RouteStatus *status)
{
    static const char *const names[] = {"agent", "jemalloc", "profiling"};
    for (size_t i = 0; !status->has_hello && i < sizeof(names) / sizeof(names[0]); i++)
        json_put_null(json, names[i]);
    if (!status->has_hello)
        return;
    json_begin_object(json, "agent");
    json_text(json, "version", status->hello.agent_version);
    json_number(json, "clients", status->hello.agent_clients);
    json_end(json);
    json_begin_object(json, "jemalloc");
    add_jemalloc(json, &status->hello);
    json_end(json);
    json_begin_object(json, "profiling");
    status_add_profiling(json, status);
    json_end(json);
}

static void
add_sample(Json *json, const RouteStatus *status)
{
    if (status->sampled_ms == 0) {
        json_put_null(json, "sample");
        return;
    }
    json_begin_object(json, "sample");
    json_seconds(json, "time", status->sampled_ms);
    for (size_t i = 0; i < STATUS_FIGURES; i++)
        add_number(json, figure_names[i], status->figures[i], STATUS_UNKNOWN);
    json_end(json);
}

void
status_add(Json *json, const RouteStatus *status)
{
    char id[32];
    snprintf(id, sizeof(id), "%lld", (long long)status->pid);
    json_text(json, "id", id);
    add_text(json, "unique", status->unique);
    json_signed(json, "pid", status->pid);
    json_text(json, "name", status->name);
    json_number(json, "uid", status->uid);
    add_text(json, "user", status->user);
    add_text(json, "arguments", status->arguments);
    add_text(json, "control_group", status->control_group);
    add_text(json, "series", status->series);
    add_text(json, "state", status->state);
    add_text(json, "reach", status->reach);
    native_time(json, "started", status->started_ms);
    add_text(json, "trouble", status->trouble);
    native_time(json, "left_alone", status->left_alone_ms);
    add_text(json, "url", status->url);
    add_hello(json, status);
    if (status->is_recording) {
        json_begin_object(json, "recording");
        native_add_recording(json, &status->recording);
        json_end(json);
    } else {
        json_put_null(json, "recording");
    }
    add_sample(json, status);
    add_text(json, "notice", status->notice);
}

void
status_reply(RouteReply *reply, const RouteStatus *status)
{
    Json json;
    native_begin(&json, reply, 200);
    status_add(&json, status);
    native_end(&json);
}
