/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "cli/duration.h"
#include "cli/interrupt.h"
#include "cli/sampling.h"
#include "cli/state.h"
#include "cli/via.h"

#include "target/target.h"

#include <stdio.h>

static char *duration_text;
static char *sample_text;

static const GOptionEntry options[] = {
    {.long_name = "for",
     .arg = G_OPTION_ARG_STRING,
     .arg_data = &duration_text,
     .description = "return to the earlier state after this time",
     .arg_description = "DURATION"},
    {.long_name = "sample",
     .arg = G_OPTION_ARG_STRING,
     .arg_data = &sample_text,
     .description = "set the sampling period, discarding earlier samples",
     .arg_description = "SIZE"},
    VIA_OPTION,
    {0},
};

enum {
    LG_KEEP = 64,   /* no --sample */
    LOOK_MS = 1000, /* how often a target is looked after that we wait for */
};

/* prof.reset is the only way to another period, and it discards what there is; so not without need. */
static gboolean
set_period(Target *target, unsigned lg, GError **error)
{
    ControlValue current;
    if (!target_read(target, "prof.lg_sample", WIRE_TYPE_SIZE, &current, error))
        return FALSE;
    return current.value == lg || target_write(target, "prof.reset", WIRE_TYPE_SIZE, lg, error);
}

/* MS: 0 for good. */
static gboolean
activate(Target *target, guint64 ms, WireLease *lease, GError **error)
{
    if (ms == 0)
        return target_write(target, "prof.active", WIRE_TYPE_BOOL, 1, error);
    LeaseRequest request = {.action = WIRE_LEASE_TAKE, .duration_ms = ms, .active = TRUE};
    return target_lease(target, &request, lease, error);
}

static void
print_result(const Target *target, guint64 ms, const WireLease *lease)
{
    g_autofree char *duration = duration_format(ms);
    if (ms == 0)
        printf("%s: profiling is on; 'jescope disable %d' ends it\n", target_label(target), (int)target_pid(target));
    else
        printf("%s: profiling is on for %s, then back to %s\n", target_label(target), duration,
               lease->restores ? "on" : "off");
}

/* Where no agent keeps the time, we do. A signal shortens it. */
static gboolean
keep_lease(Target *target, const Interrupt *interrupt, guint64 ms, WireLease *lease, GError **error)
{
    gint64 until = g_get_monotonic_time() + (gint64)ms * 1000;
    gboolean interrupted = FALSE;
    while (!interrupted && g_get_monotonic_time() < until && target_alive(target))
        interrupted =
            interrupt_wait(interrupt, MIN((guint64)(until - g_get_monotonic_time()) / 1000 + 1, (guint64)LOOK_MS));
    LeaseRequest release = {.action = WIRE_LEASE_RELEASE, .id = lease->id};
    return target_lease(target, &release, lease, error);
}

static int
enable(Target *target, guint64 ms, unsigned lg, GError **error)
{
    const gboolean stays = ms != 0 && target_via(target) == TARGET_VIA_ATTACH;
    WireLease lease = {0};
    Interrupt interrupt;
    if (!state_check_unleased(target, error) || (lg != LG_KEEP && !set_period(target, lg, error)) ||
        (stays && !interrupt_catch(&interrupt, error)) || !activate(target, ms, &lease, error))
        return STATUS_FAILED;
    if (lg != LG_KEEP)
        sampling_warn(lg);
    print_result(target, ms, &lease);
    if (!stays)
        return STATUS_DONE;
    fflush(stdout);
    via_warn_of_kill(target);
    return keep_lease(target, &interrupt, ms, &lease, error) ? STATUS_DONE : STATUS_FAILED;
}

static int
run(char **operands, GError **error)
{
    guint64 ms = 0;
    unsigned lg = LG_KEEP;
    if ((duration_text != NULL && !duration_parse(duration_text, "--for", &ms, error)) ||
        (sample_text != NULL && !sampling_parse(sample_text, &lg, error)))
        return STATUS_USAGE;
    g_autoptr(Target) target = via_open(operands[0], error);
    return target != NULL ? enable(target, ms, lg, error) : STATUS_FAILED;
}

const Command cmd_enable = {
    .name = "enable",
    .synopsis = "TARGET",
    .summary = "switch heap profiling on",
    .description =
        "Switches heap profiling in TARGET on, for good or with --for for some time. With --for the command returns at "
        "once and the agent inside TARGET switches back by itself when the time is over, whatever becomes of jescope. "
        "Where "
        "there is no agent, the command stays until then (a signal shortens the time) and switches back; 'kill -9' "
        "would "
        "leave profiling on.\n"
        "\n"
        "What was allocated while profiling was off is never part of a dump.",
    .options = options,
    .operand = OPERAND_TARGET,
    .operands_min = 1,
    .operands_max = 1,
    .run = run,
};
