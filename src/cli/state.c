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

/* What is read beside the memory figures, where the profiler may be touched. */
enum {
    COLUMN_PERIOD = MEMORY_FIGURES,
    COLUMN_THREADS,
    COLUMNS,
};

/* Names and types as WireSampleRequest.names wants them, for FIGURES and, if PROFILING, what is above. */
static GString *
names_for(const MemoryFigure *figures, guint n, gboolean profiling)
{
    GString *names = g_string_new(NULL);
    for (guint i = 0; i < n; i++) {
        g_string_append_printf(names, "%dstats.%s", WIRE_TYPE_SIZE, memory_names[figures[i]]);
        g_string_append_c(names, '\0');
    }
    if (profiling) {
        g_string_append_printf(names, "%dprof.lg_sample", WIRE_TYPE_SIZE);
        g_string_append_c(names, '\0');
        g_string_append_printf(names, "%dprof.thread_active_init", WIRE_TYPE_BOOL);
        g_string_append_c(names, '\0');
    }
    return names;
}

/* *VALUE stays as it is if the jemalloc does not have the control. */
static void
take_column(const guint64 *row, guint column, guint64 *value)
{
    if ((row[0] >> column & 1) != 0)
        *value = row[1 + column];
}

/* Everything in one exchange, of one moment. */
static gboolean
read_numbers(Target *target, TargetState *state, GError **error)
{
    static const MemoryFigure figures[MEMORY_FIGURES] = {MEMORY_ALLOCATED, MEMORY_ACTIVE, MEMORY_METADATA,
                                                         MEMORY_RESIDENT,  MEMORY_MAPPED, MEMORY_RETAINED};
    const gboolean profiling = (state->hello.flags & WIRE_FLAG_OPT_PROF) != 0;
    guint64 row[1 + COLUMNS] = {0};
    guint64 lg = 64;
    guint64 threads = 1;
    g_autoptr(GString) names = names_for(figures, MEMORY_FIGURES, profiling);
    SampleRequest request = {
        .names = names->str, .n = profiling ? COLUMNS : MEMORY_FIGURES, .count = 1, .refresh = TRUE};
    if (!target_sample(target, &request, row, NULL, error))
        return FALSE;
    for (guint i = 0; i < MEMORY_FIGURES; i++) {
        state->memory[figures[i]] = MEMORY_UNKNOWN;
        take_column(row, i, &state->memory[figures[i]]);
    }
    take_column(row, COLUMN_PERIOD, &lg);
    take_column(row, COLUMN_THREADS, &threads);
    state->sample_period = lg < 64 ? G_GUINT64_CONSTANT(1) << lg : 0;
    state->threads_sampled = profiling && threads != 0;
    return TRUE;
}

gboolean
state_read_memory(Target *target, MemoryFigure figure, guint64 *bytes, GError **error)
{
    guint64 row[2] = {0};
    g_autoptr(GString) names = names_for(&figure, 1, FALSE);
    SampleRequest request = {.names = names->str, .n = 1, .count = 1, .refresh = TRUE};
    if (!target_sample(target, &request, row, NULL, error))
        return FALSE;
    *bytes = MEMORY_UNKNOWN;
    take_column(row, 0, bytes);
    return TRUE;
}

gboolean
state_read(Target *target, TargetState *state, GError **error)
{
    TargetState read = {0};
    if (!target_hello(target, &read.hello, error) || !read_numbers(target, &read, error))
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
