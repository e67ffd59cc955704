/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "cli/duration.h"
#include "cli/interrupt.h"
#include "cli/sampling.h"
#include "cli/size.h"
#include "cli/state.h"
#include "cli/via.h"

#include "target/target.h"

#include <stdio.h>

static char *duration_text;
static char *sample_text;
static SamplerArguments sampler_arguments;

static const GOptionEntry options[] = {
    {.long_name = "for",
     .arg = G_OPTION_ARG_STRING,
     .arg_data = &duration_text,
     .description = "return to the earlier state after this time",
     .arg_description = "DURATION"},
    {.long_name = "sample",
     .arg = G_OPTION_ARG_STRING,
     .arg_data = &sample_text,
     .description = "set the sampling period, discarding earlier samples; with --for it is restored at the end",
     .arg_description = "SIZE"},
    SAMPLER_OPTIONS(sampler_arguments),
    FORCE_OPTION,
    VIA_OPTION,
    {0},
};

enum {
    LG_KEEP = 64,   /* no --sample */
    LOOK_MS = 1000, /* interval of checking a target while waiting */
};

/* prof.reset, the only way to change the period, discards the samples; so it is used only if needed. */
static gboolean
set_period(Target *target, unsigned lg, GError **error)
{
    WireCtlReply current;
    if (!target_read(target, "prof.lg_sample", WIRE_TYPE_SIZE, &current, error))
        return FALSE;
    return current.value == lg || target_write(target, "prof.reset", WIRE_TYPE_SIZE, lg, error);
}

/* The requested state of profiling. */
typedef struct {
    guint64 ms; /* 0: permanently */
    unsigned lg;
    SamplerChoice choice;
} Wanted;

/* A lease restores the period and the sampler as well. */
static gboolean
activate(Target *target, const Wanted *wanted, WireLease *lease, GError **error)
{
    const WireSampler sampler = wanted->choice.sampler;
    const gboolean chooses = sampler != WIRE_SAMPLER_AUTO && target_via(target) != TARGET_VIA_ATTACH;
    const unsigned lg = wanted->lg;
    if (wanted->ms == 0)
        return (!chooses || target_write(target, WIRE_SAMPLER_CONTROL, WIRE_TYPE_UNSIGNED, sampler, error)) &&
               (lg == LG_KEEP || set_period(target, lg, error)) &&
               target_write(target, "prof.active", WIRE_TYPE_BOOL, 1, error);
    WireLeaseRequest request = {.action = WIRE_LEASE_TAKE,
                                .flags = chooses ? sampler_choice_flags(sampler) : 0,
                                .duration_ms = wanted->ms,
                                .active = TRUE,
                                .period = lg == LG_KEEP ? 0 : lg + 1};
    return target_lease(target, &request, lease, error);
}

static void
print_result(const Target *target, guint64 ms, const WireLease *lease)
{
    g_autofree char *duration = duration_format(ms);
    if (ms == 0) {
        printf("%s: profiling is on; 'jescope disable %s' ends it\n", target_label(target), target_operand(target));
        return;
    }
    printf("%s: profiling is on for %s, then back to %s", target_label(target), duration,
           lease->restores ? "on" : "off");
    if (lease->period != 0) {
        g_autofree char *period = size_format(G_GUINT64_CONSTANT(1) << (lease->period - 1));
        printf(" and a sampling period of %s; that discards the samples, so take a dump before", period);
    }
    printf("\n");
}

/* If no agent ends the lease, jescope does. A signal shortens the time. */
static gboolean
keep_lease(Target *target, const Interrupt *interrupt, guint64 ms, WireLease *lease, GError **error)
{
    gint64 until = g_get_monotonic_time() + (gint64)ms * 1000;
    gboolean interrupted = FALSE;
    while (!interrupted && g_get_monotonic_time() < until && target_alive(target, NULL))
        interrupted =
            interrupt_wait(interrupt, MIN((guint64)(until - g_get_monotonic_time()) / 1000 + 1, (guint64)LOOK_MS));
    WireLeaseRequest release = {.action = WIRE_LEASE_RELEASE, .lease_id = lease->id};
    return target_lease(target, &release, lease, error);
}

static int
enable(Target *target, const Wanted *wanted, GError **error)
{
    const guint64 ms = wanted->ms;
    const gboolean stays = ms != 0 && target_via(target) == TARGET_VIA_ATTACH;
    WireLease lease = {0};
    Interrupt interrupt;
    if (!state_check_unleased(target, error) || !sampler_prepare(target, &wanted->choice, error) ||
        (stays && !interrupt_catch(&interrupt, error)) || !activate(target, wanted, &lease, error))
        return STATUS_FAILED;
    if (wanted->lg != LG_KEEP)
        sampling_warn_of(target, wanted->lg);
    print_result(target, ms, &lease);
    if (!stays)
        return STATUS_DONE;
    fflush(stdout);
    return keep_lease(target, &interrupt, ms, &lease, error) ? STATUS_DONE : STATUS_FAILED;
}

static int
run(char **operands, GError **error)
{
    Wanted wanted = {.lg = LG_KEEP};
    if ((duration_text != NULL && !duration_parse(duration_text, "--for", &wanted.ms, error)) ||
        (sample_text != NULL && !sampling_parse(sample_text, &wanted.lg, error)) ||
        !sampler_parse(&sampler_arguments, &wanted.choice, error))
        return STATUS_USAGE;
    g_autoptr(Target) target = via_open(operands[0], error);
    return target != NULL ? enable(target, &wanted, error) : STATUS_FAILED;
}

static const Example examples[] = {
    {"jescope enable 4711 --for 10m", "switch profiling on for ten minutes"},
    {"jescope enable 4711 --sample=128KiB", "switch it on with another sampling period"},
    {0},
};

const Command cmd_enable = {
    .name = "enable",
    .synopsis = "TARGET",
    .summary = "switch heap profiling on",
    .description =
        "Switches heap profiling in TARGET on, permanently, or with --for for a limited time. With --for the command "
        "returns immediately, and the agent in TARGET restores the earlier state at the end of this time, even if "
        "jescope has been killed. Without an agent, the command waits until then (a signal shortens the time) and "
        "restores the earlier state; if it is killed, a separate process that it started does so immediately.\n"
        "\n"
        "--sample sets another sampling period, which discards the samples taken so far. With --for the earlier period "
        "is restored at the end, which discards the samples again: take a dump before. Without --for, 'jescope "
        "disable' restores the period.\n"
        "\n"
        "Where jemalloc was built or started without its profiler, jescope's own sampler takes its place, if the agent "
        "is in TARGET and jemalloc is 5.2.0 to 5.3.1. --sampler=jescope uses it also where jemalloc could profile; its "
        "dumps have the lifetimes of objects. 'jescope disable' and the end of --for return to jemalloc's. When its "
        "memory is full it samples half as often; --sampler-memory gives it another size, until it is switched off.\n"
        "\n"
        "What was allocated while profiling was off is never part of a dump.",
    .examples = examples,
    .options = options,
    .operand = OPERAND_TARGET,
    .operands_min = 1,
    .operands_max = 1,
    .run = run,
};
