/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "cli/via.h"

#include "target/target.h"

#include <stdio.h>

static const GOptionEntry options[] = {
    VIA_OPTION,
    {0},
};

static int
run(char **operands, GError **error)
{
    g_autoptr(Target) target = via_open(operands[0], error);
    if (target == NULL || !target_write(target, "prof.reset", WIRE_TYPE_NONE, 0, error))
        return STATUS_FAILED;
    printf("%s: all samples are discarded\n", target_label(target));
    return STATUS_DONE;
}

static const Example examples[] = {
    {"jescope reset 4711", "discard all samples"},
    {0},
};

const Command cmd_reset = {
    .name = "reset",
    .synopsis = "TARGET",
    .summary = "discard the samples taken so far",
    .description = "Discards all samples of TARGET's heap profile, so that the next dump shows only what is allocated "
                   "from now on. Whether profiling is active stays as it is.",
    .examples = examples,
    .options = options,
    .operand = OPERAND_TARGET,
    .operands_min = 1,
    .operands_max = 1,
    .run = run,
};
