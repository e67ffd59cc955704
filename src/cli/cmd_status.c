/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "cli/duration.h"
#include "cli/size.h"
#include "cli/state.h"
#include "cli/via.h"

#include "target/diagnosis.h"

#include <stdio.h>

enum {
    LABEL_WIDTH = 12,
};

static gboolean as_json;

static const GOptionEntry options[] = {
    {.long_name = "json", .arg_data = &as_json, .description = "print JSON"},
    VIA_OPTION,
    {0},
};

G_GNUC_PRINTF(2, 3)
static void
print_row(const char *label, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    printf("  %-*s ", LABEL_WIDTH, label);
    vprintf(format, arguments);
    putchar('\n');
    va_end(arguments);
}

static void
print_jemalloc(const TargetState *state)
{
    const WireHelloReply *hello = &state->hello;
    print_row("jemalloc", "%s", hello->jemalloc_version);
    print_row("found in", "%s%s%s%s", hello->found_in, hello->prefix[0] != '\0' ? ", symbols prefixed with " : "",
              hello->prefix, (hello->flags & WIRE_FLAG_FROM_SYMTAB) != 0 ? " (statically linked)" : "");
    if ((hello->flags & WIRE_FLAG_SERVES_MALLOC) != 0)
        print_row("malloc", "served by this jemalloc");
    else
        print_row("malloc", "not served by this jemalloc: what the program allocates with malloc is not seen");
}

/* "2026-11-21 10:30:00 (5 min 2 s ago)". */
static char *
format_time(guint64 ns)
{
    g_autoptr(GDateTime) time = g_date_time_new_from_unix_local((gint64)(ns / 1000000000));
    g_autofree char *text = time != NULL ? g_date_time_format(time, "%F %T") : g_strdup("?");
    gint64 ago_ms = g_get_real_time() / 1000 - (gint64)(ns / 1000000);
    g_autofree char *ago = duration_format((guint64)MAX(ago_ms, 0));
    return g_strdup_printf("%s (%s ago)", text, ago);
}

static void
print_activity(const WireHelloReply *hello)
{
    g_autofree char *since = format_time(hello->active_since_ns);
    if ((hello->flags & WIRE_FLAG_PROF_ACTIVE) == 0)
        print_row("profiling", "ready, not active; switch it on with 'jescope enable'");
    else if (hello->since == WIRE_SINCE_START)
        print_row("profiling", "active since the process started");
    else if (hello->active_since_ns != 0)
        print_row("profiling", "active since %s; what was allocated before is not seen", since);
    else
        print_row("profiling", "active; since when is not known");
}

static void
print_lease(const WireLease *lease)
{
    if (lease->id == 0)
        return;
    g_autofree char *left = duration_format(lease->remaining_ms);
    print_row("lease", "for another %s, then back to %s", left, lease->restores ? "active" : "not active");
}

static void
print_profiling(const TargetState *state)
{
    const WireHelloReply *hello = &state->hello;
    g_autofree char *obstacle = diagnosis_profiling(hello);
    if (obstacle != NULL) {
        print_row("profiling", "not possible: %s", obstacle);
        return;
    }
    print_activity(hello);
    g_autofree char *period = size_format(state->sample_period);
    if (state->sample_period != 0)
        print_row("sampling", "every %s", period);
    if (!state->threads_sampled)
        print_row("threads", "new ones are not sampled: prof_thread_active_init:false is set");
    if (hello->reset_at_ns != 0) {
        g_autofree char *reset = format_time(hello->reset_at_ns);
        print_row("reset", "%s", reset);
    }
    print_lease(&hello->lease);
}

static void
print_memory(const TargetState *state)
{
    if ((state->hello.flags & WIRE_FLAG_CONFIG_STATS) == 0) {
        print_row("memory", "unknown: this jemalloc was built without statistics (--enable-stats)");
        return;
    }
    for (int figure = 0; figure < MEMORY_FIGURES; figure++) {
        g_autofree char *bytes = size_format(state->memory[figure]);
        if (state->memory[figure] != MEMORY_UNKNOWN)
            print_row(memory_names[figure], "%s", bytes);
    }
}

static int
run(char **operands, GError **error)
{
    g_autoptr(Target) target = via_open(operands[0], error);
    TargetState state;
    if (target == NULL || !state_read(target, &state, error))
        return STATUS_FAILED;
    if (as_json) {
        state_print_json(state_json(&state, target));
        return STATUS_DONE;
    }
    puts(target_label(target));
    print_row("reached by", "%s", target_via_name(target_via(target)));
    print_jemalloc(&state);
    print_profiling(&state);
    print_memory(&state);
    return STATUS_DONE;
}

const Command cmd_status = {
    .name = "status",
    .synopsis = "TARGET",
    .summary = "show how a target's jemalloc is set up and what it holds",
    .description =
        "Shows which jemalloc TARGET uses and whether it serves malloc, whether profiling is possible and active "
        "and since when, the sampling period, a running lease, how much memory it holds, and how it is reached: "
        "through its "
        "agent or by attaching to it. Where something is "
        "not possible it says why and what to change.",
    .options = options,
    .operand = OPERAND_TARGET,
    .operands_min = 1,
    .operands_max = 1,
    .run = run,
};
