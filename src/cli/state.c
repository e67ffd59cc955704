/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/state.h"

#include "cli/command.h"
#include "cli/duration.h"

#include "target/diagnosis.h"

#include <stdio.h>

const char *const memory_names[MEMORY_FIGURES] = {
    [MEMORY_ALLOCATED] = "allocated", [MEMORY_ACTIVE] = "active", [MEMORY_METADATA] = "metadata",
    [MEMORY_RESIDENT] = "resident",   [MEMORY_MAPPED] = "mapped", [MEMORY_RETAINED] = "retained",
};

/* A control that is not there leaves *value as it is; anything else that goes wrong is an error. */
static gboolean
read_optional(Target *target, const char *control, WireType type, guint64 *value, GError **error)
{
    ControlValue read;
    g_autoptr(GError) cause = NULL;
    if (target_read(target, control, type, &read, &cause)) {
        *value = read.value;
        return TRUE;
    }
    if (g_error_matches(cause, TARGET_ERROR, TARGET_ERROR_CONTROL))
        return TRUE;
    g_propagate_error(error, g_steal_pointer(&cause));
    return FALSE;
}

static gboolean
read_figure(Target *target, MemoryFigure figure, guint64 *bytes, GError **error)
{
    g_autofree char *control = g_strconcat("stats.", memory_names[figure], NULL);
    *bytes = MEMORY_UNKNOWN;
    return read_optional(target, control, WIRE_TYPE_SIZE, bytes, error);
}

/* Statistics are those of the last refresh. */
static gboolean
refresh(Target *target, GError **error)
{
    return target_write(target, "epoch", WIRE_TYPE_U64, 1, error);
}

gboolean
state_read_memory(Target *target, MemoryFigure figure, guint64 *bytes, GError **error)
{
    guint64 read;
    if (!refresh(target, error) || !read_figure(target, figure, &read, error))
        return FALSE;
    *bytes = read;
    return TRUE;
}

static gboolean
read_profiling(Target *target, TargetState *state, GError **error)
{
    if ((state->hello.flags & WIRE_FLAG_OPT_PROF) == 0)
        return TRUE;
    guint64 lg = 64;
    guint64 threads = 1;
    if (!read_optional(target, "prof.lg_sample", WIRE_TYPE_SIZE, &lg, error) ||
        !read_optional(target, "prof.thread_active_init", WIRE_TYPE_BOOL, &threads, error))
        return FALSE;
    state->sample_period = lg < 64 ? G_GUINT64_CONSTANT(1) << lg : 0;
    state->threads_sampled = threads != 0;
    return TRUE;
}

gboolean
state_read(Target *target, TargetState *state, GError **error)
{
    TargetState read = {0};
    if (!target_hello(target, &read.hello, error) || !refresh(target, error))
        return FALSE;
    for (int figure = 0; figure < MEMORY_FIGURES; figure++)
        if (!read_figure(target, figure, &read.memory[figure], error))
            return FALSE;
    if (!read_profiling(target, &read, error))
        return FALSE;
    *state = read;
    return TRUE;
}

gboolean
state_check_unleased(Target *target, GError **error)
{
    WireHelloReply hello;
    if (!target_hello(target, &hello, error))
        return FALSE;
    if (hello.lease.id == 0)
        return TRUE;
    g_autofree char *left = duration_format(hello.lease.remaining_ms);
    g_set_error(error, CLI_ERROR, CLI_ERROR_FAILED,
                "%s is being profiled already, for another %s; wait, or end that with 'jescope disable %d'",
                target_label(target), left, (int)target_pid(target));
    return FALSE;
}

gboolean
state_end_lease(Target *target, GError **error)
{
    WireHelloReply hello;
    if (!target_hello(target, &hello, error))
        return FALSE;
    if (hello.lease.id == 0)
        return TRUE;
    /* Somebody else may have been quicker. */
    LeaseRequest request = {.action = WIRE_LEASE_RELEASE, .id = hello.lease.id};
    WireLease lease;
    g_autoptr(GError) cause = NULL;
    if (target_lease(target, &request, &lease, &cause) || g_error_matches(cause, TARGET_ERROR, TARGET_ERROR_NO_LEASE))
        return TRUE;
    g_propagate_error(error, g_steal_pointer(&cause));
    return FALSE;
}

const char *
state_profiling_word(const TargetState *state)
{
    if ((state->hello.flags & WIRE_FLAG_PROF_ACTIVE) != 0)
        return "active";
    return (state->hello.flags & WIRE_FLAG_OPT_PROF) != 0 ? "ready" : "off";
}

static json_t *
flag_json(const TargetState *state, WireFlag flag)
{
    return json_boolean((state->hello.flags & flag) != 0);
}

/* ISO 8601 in UTC, or null for 0. */
static json_t *
time_json(guint64 ns)
{
    if (ns == 0)
        return json_null();
    g_autoptr(GDateTime) seconds = g_date_time_new_from_unix_utc((gint64)(ns / 1000000000));
    g_autofree char *text = seconds != NULL ? g_date_time_format_iso8601(seconds) : NULL;
    return text != NULL ? json_string(text) : json_null();
}

static json_t *
lease_json(const WireLease *lease)
{
    if (lease->id == 0)
        return json_null();
    return json_pack("{s:f, s:b, s:b}", "remaining_seconds", (double)lease->remaining_ms / 1000, "active",
                     lease->active, "restores", lease->restores);
}

static json_t *
profiling_json(const TargetState *state)
{
    static const char *const since[] = {
        [WIRE_SINCE_UNKNOWN] = "unknown", [WIRE_SINCE_START] = "start", [WIRE_SINCE_AGENT] = "agent"};
    const WireHelloReply *hello = &state->hello;
    gboolean active = (hello->flags & WIRE_FLAG_PROF_ACTIVE) != 0;
    g_autofree char *obstacle = diagnosis_profiling(hello);
    return json_pack(
        "{s:o, s:o, s:o, s:s?, s:o, s:o, s:o, s:b, s:o, s:s?}", "built", flag_json(state, WIRE_FLAG_CONFIG_PROF),
        "enabled", flag_json(state, WIRE_FLAG_OPT_PROF), "active", json_boolean(active), "since",
        active && hello->since < G_N_ELEMENTS(since) ? since[hello->since] : NULL, "active_since",
        time_json(hello->active_since_ns), "reset_at", time_json(hello->reset_at_ns), "sample_period",
        state->sample_period != 0 ? json_integer((json_int_t)state->sample_period) : json_null(), "new_threads_sampled",
        state->threads_sampled, "lease", lease_json(&hello->lease), "obstacle", obstacle);
}

static json_t *
memory_json(const TargetState *state)
{
    json_t *memory = json_object();
    for (int figure = 0; figure < MEMORY_FIGURES; figure++) {
        guint64 bytes = state->memory[figure];
        json_object_set_new(memory, memory_names[figure],
                            bytes == MEMORY_UNKNOWN ? json_null() : json_integer((json_int_t)bytes));
    }
    return memory;
}

json_t *
state_json(const TargetState *state, const Target *target)
{
    const WireHelloReply *hello = &state->hello;
    return json_pack("{s:i, s:s, s:i, s:s, s:s, s:{s:s, s:s, s:s, s:o, s:o}, s:o, s:o}", "pid", (int)target_pid(target),
                     "name", target_name(target), "uid", (int)hello->uid, "via", target_via_name(target_via(target)),
                     "agent_version", hello->agent_version, "jemalloc", "version", hello->jemalloc_version, "prefix",
                     hello->prefix, "found_in", hello->found_in, "serves_malloc",
                     flag_json(state, WIRE_FLAG_SERVES_MALLOC), "stats_built", flag_json(state, WIRE_FLAG_CONFIG_STATS),
                     "profiling", profiling_json(state), "memory", memory_json(state));
}

void
state_print_json(json_t *value)
{
    json_dumpf(value, stdout, JSON_INDENT(2));
    fputc('\n', stdout);
    json_decref(value);
}
