/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "cli/state.h"
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
    if (target == NULL || !state_end_lease(target, error) ||
        !target_write(target, "prof.active", WIRE_TYPE_BOOL, 0, error))
        return STATUS_FAILED;
    printf("%s: profiling is off; 'jescope dump %d' still shows what was sampled and is not freed\n",
           target_label(target), (int)target_pid(target));
    return STATUS_DONE;
}

const Command cmd_disable = {
    .name = "disable",
    .synopsis = "TARGET",
    .summary = "switch heap profiling off",
    .description =
        "Switches heap profiling in TARGET off and ends a recording or 'enable --for' that is running. The samples "
        "taken so far stay until what they stand for is freed; 'jescope reset' discards them.",
    .options = options,
    .operand = OPERAND_TARGET,
    .operands_min = 1,
    .operands_max = 1,
    .run = run,
};
