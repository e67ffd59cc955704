/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "cli/size.h"
#include "cli/state.h"
#include "cli/via.h"

#include "target/target.h"

#include <stdio.h>

static gboolean keep_samples;

static const GOptionEntry options[] = {
    {.long_name = "keep-samples",
     .arg_data = &keep_samples,
     .description = "leave a changed sampling period, and with it the samples, as they are"},
    VIA_OPTION,
    {0},
};

/* The period at the program's start, if it differs from the present one. */
static gboolean
find_earlier_period(Target *target, guint64 *lg)
{
    WireCtlReply now, start;
    if (!target_read(target, "prof.lg_sample", WIRE_TYPE_SIZE, &now, NULL) ||
        !target_read(target, "opt.lg_prof_sample", WIRE_TYPE_SIZE, &start, NULL))
        return FALSE;
    *lg = start.value;
    return now.value != start.value && start.value < 64;
}

static int
run(char **operands, GError **error)
{
    guint64 lg;
    g_autoptr(Target) target = via_open(operands[0], error);
    /* Releasing a lease restores its period and discards the samples; writing prof.active only ends it. */
    if (target == NULL || (!keep_samples && !state_end_lease(target, error)) ||
        !target_write(target, "prof.active", WIRE_TYPE_BOOL, 0, error))
        return STATUS_FAILED;
    if (keep_samples || !find_earlier_period(target, &lg)) {
        printf("%s: profiling is off; 'jescope dump %s' still shows sampled memory that is not freed\n",
               target_label(target), target_operand(target));
        return STATUS_DONE;
    }
    if (!target_write(target, "prof.reset", WIRE_TYPE_SIZE, lg, error))
        return STATUS_FAILED;
    g_autofree char *period = size_format(G_GUINT64_CONSTANT(1) << lg);
    printf("%s: profiling is off, and the sampling period is %s again; that discarded the samples (--keep-samples "
           "would have kept both)\n",
           target_label(target), period);
    return STATUS_DONE;
}

static const Example examples[] = {
    {"jescope disable 4711", "switch profiling off"},
    {0},
};

const Command cmd_disable = {
    .name = "disable",
    .synopsis = "TARGET",
    .summary = "switch heap profiling off",
    .description =
        "Switches heap profiling in TARGET off and ends a recording or 'enable --for' that is running. The samples "
        "taken so far are kept until the allocations they represent are freed; 'jescope reset' discards them.\n"
        "\n"
        "If the sampling period is not the one that TARGET was started with, it is restored, which discards the "
        "samples: take the dump first, or give --keep-samples.",
    .examples = examples,
    .options = options,
    .operand = OPERAND_TARGET,
    .operands_min = 1,
    .operands_max = 1,
    .run = run,
};
