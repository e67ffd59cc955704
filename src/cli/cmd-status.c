/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "cli/document.h"
#include "cli/duration.h"
#include "cli/size.h"
#include "cli/state.h"
#include "cli/via.h"

#include "routes/unprofiled.h"
#include "stats/ledger-write.h"
#include "stats/readable.h"
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
print_jemalloc(const RouteStatus *status)
{
    const WireHelloReply *hello = &status->hello;
    print_row("jemalloc", "%s", hello->jemalloc_version);
    print_row("found in", "%s%s%s%s", hello->found_in, hello->prefix[0] != '\0' ? ", symbols prefixed with " : "",
              hello->prefix, (hello->flags & WIRE_FLAG_FROM_SYMTAB) != 0 ? " (statically linked)" : "");
    if ((hello->flags & WIRE_FLAG_SERVES_MALLOC) != 0)
        print_row("malloc", "served by this jemalloc");
    else
        print_row("malloc", "not served by this jemalloc: the program's allocations with malloc are not visible");
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

/* Whether a process without an agent has sampled from its start on. */
static gboolean
started_active(Target *target)
{
    WireCtlReply on;
    return target_read(target, "opt.prof_active", WIRE_TYPE_BOOL, &on, NULL) && on.value != 0;
}

static void
print_activity(Target *target, const WireHelloReply *hello)
{
    g_autofree char *since = format_time(hello->active_since_ns);
    if ((hello->flags & WIRE_FLAG_PROF_ACTIVE) == 0)
        print_row("profiling", "ready, not active; switch it on with 'jescope enable'");
    else if (hello->since == WIRE_SINCE_START)
        print_row("profiling", "active since the process started");
    else if (hello->active_since_ns != 0)
        print_row("profiling", "active since %s; earlier allocations are not included", since);
    else if (started_active(target))
        print_row("profiling", "active, probably since the process started (prof_active:true)");
    else
        print_row("profiling", "active; start time unknown");
}

static void
print_lease(const WireLease *lease)
{
    if (lease->id == 0)
        return;
    g_autofree char *left = duration_format(lease->remaining_ms);
    print_row("lease", "for another %s, then back to %s", left, lease->restores ? "active" : "not active");
}

/* Only for jescope's own sampler, which replaces jemalloc's profiler. */
static void
print_sampler(const WireHelloReply *hello)
{
    char reason[FAILURE_WHY_MAX];
    const WireSamplerFigures *figures = &hello->sampler;
    if ((hello->flags & WIRE_FLAG_SAMPLER_SERVES) == 0)
        return;
    unprofiled_reason(hello, reason, sizeof(reason));
    print_row("sampler", "jescope's own: %s", reason);
    g_autofree char *period = size_format(G_GUINT64_CONSTANT(1) << figures->lg);
    if (figures->doublings != 0)
        print_row("", "its memory was full; the period was doubled %u times, to %s", figures->doublings, period);
    if (figures->lost != 0)
        print_row("", "%" G_GUINT64_FORMAT " samples found no place and are missing", figures->lost);
    if (figures->without_stack != 0)
        print_row("", "%" G_GUINT64_FORMAT " samples are counted without their stack", figures->without_stack);
}

static void
print_profiling(Target *target, const RouteStatus *status)
{
    const WireHelloReply *hello = &status->hello;
    g_autofree char *obstacle = diagnosis_profiling(hello);
    if (obstacle != NULL) {
        print_row("profiling", "not possible: %s", obstacle);
        return;
    }
    print_activity(target, hello);
    print_sampler(hello);
    g_autofree char *period = size_format(status->sample_bytes);
    if (status->sample_bytes != 0)
        print_row("sampling", "every %s", period);
    if (status->threads_sampled == 0)
        print_row("threads", "new ones are not sampled: prof_thread_active_init:false is set");
    if (hello->reset_at_ns != 0) {
        g_autofree char *reset = format_time(hello->reset_at_ns);
        print_row("reset", "%s", reset);
    }
    print_lease(&hello->lease);
}

static void
print_memory(const RouteStatus *status)
{
    if ((status->hello.flags & WIRE_FLAG_CONFIG_STATS) == 0) {
        print_row("memory", "unknown: this jemalloc was built without statistics (--enable-stats)");
        return;
    }
    if (status->notice[0] != '\0')
        print_row("WARNING", "%s", status->notice);
    for (StatusFigure figure = 0; figure < STATUS_FIGURES; figure++) {
        g_autofree char *bytes = size_format(status->figures[figure]);
        if (status->figures[figure] != STATUS_UNKNOWN)
            print_row(status_figure_name(figure), "%s", bytes);
    }
}

/* A summary of the memory outside jemalloc. */
static void
print_ledger(const Ledger *ledger)
{
    g_autoptr(GString) largest = g_string_new(NULL), rest = g_string_new(NULL);
    if (ledger->rss == 0)
        return;
    ledger_append_largest(largest, ledger);
    if (largest->len > 0)
        print_row("rest of RSS", "%s; 'jescope ledger' shows all", largest->str);
    readable_append_size(rest, (double)ledger->lines[LEDGER_UNEXPLAINED].bytes, 0);
    print_row("unexplained", "%s", rest->str);
}

static int
run(char **operands, GError **error)
{
    g_autoptr(Target) target = via_open(operands[0], error);
    RouteStatus status;
    Ledger ledger;
    if (target == NULL ||
        !(as_json ? state_read(target, &status, error) : state_read_with_ledger(target, &status, &ledger, error)))
        return STATUS_FAILED;
    if (as_json) {
        Process process;
        gboolean here = target_pid(target) != 0 && process_read(target_pid(target), &process);
        g_autoptr(ProcessFacts) facts = here ? process_facts_new(&process) : NULL;
        if (!target_check_unchanged(target, error))
            return STATUS_FAILED;
        state_set_facts(&status, facts);
        document_print("jescope-status", state_json(&status));
        return STATUS_DONE;
    }
    puts(target_label(target));
    print_row("reached by", "%s", target_via_name(target_via(target)));
    print_jemalloc(&status);
    print_profiling(target, &status);
    print_memory(&status);
    print_ledger(&ledger);
    return STATUS_DONE;
}

static const Example examples[] = {
    {"jescope status redis-server", "show what is possible with redis-server, and what is not"},
    {0},
};

const Command cmd_status = {
    .name = "status",
    .synopsis = "TARGET",
    .summary = "show how a target's jemalloc is set up and what it holds",
    .description = "Shows which jemalloc TARGET uses and whether it serves malloc, whether profiling is possible and "
                   "active and since when, the sampling period, a running lease, how much memory it holds, which other "
                   "memory the process has, and how it is reached: through its agent or by attaching to it. Where "
                   "something is not possible it says why and what to change.",
    .examples = examples,
    .options = options,
    .operand = OPERAND_TARGET,
    .operands_min = 1,
    .operands_max = 1,
    .run = run,
};
