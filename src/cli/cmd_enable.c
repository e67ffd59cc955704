/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "cli/duration.h"
#include "cli/sampling.h"
#include "cli/state.h"

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
    {0},
};

enum {
    LG_KEEP = 64, /* no --sample */
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

static int
run(char **operands, GError **error)
{
    guint64 ms = 0;
    unsigned lg = LG_KEEP;
    if ((duration_text != NULL && !duration_parse(duration_text, "--for", &ms, error)) ||
        (sample_text != NULL && !sampling_parse(sample_text, &lg, error)))
        return STATUS_USAGE;
    g_autoptr(Target) target = target_open(operands[0], error);
    WireLease lease = {0};
    if (target == NULL || !state_check_unleased(target, error) || (lg != LG_KEEP && !set_period(target, lg, error)) ||
        !activate(target, ms, &lease, error))
        return STATUS_FAILED;
    if (lg != LG_KEEP)
        sampling_warn(lg);
    print_result(target, ms, &lease);
    return STATUS_DONE;
}

const Command cmd_enable = {
    .name = "enable",
    .synopsis = "TARGET",
    .summary = "switch heap profiling on",
    .description =
        "Switches heap profiling in TARGET on, for good or with --for for some time. With --for the command returns at "
        "once and the agent inside TARGET switches back by itself when the time is over, whatever becomes of jescope.\n"
        "\n"
        "What was allocated while profiling was off is never part of a dump.",
    .options = options,
    .operand = OPERAND_TARGET,
    .operands_min = 1,
    .operands_max = 1,
    .run = run,
};
