/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"

#include "target/target.h"

#include <stdio.h>

static int
run(char **operands, GError **error)
{
    g_autoptr(Target) target = target_open_via(operands[0], TARGET_VIA_AGENT, error);
    if (target == NULL || !target_leave(target, error))
        return STATUS_FAILED;
    printf("%s: the agent has left\n", target_label(target));
    return STATUS_DONE;
}

const Command cmd_detach = {
    .name = "detach",
    .synopsis = "TARGET",
    .summary = "end the agent in a running process",
    .description =
        "Has TARGET's agent end: a running lease ends and restores what was before, the agent's thread ends, its "
        "socket "
        "is closed and removed. The library stays loaded and does nothing, in children either; 'jescope attach' "
        "calls it back. Works for an agent that was preloaded as well as for one that was attached.",
    .operand = OPERAND_TARGET,
    .operands_min = 1,
    .operands_max = 1,
    .run = run,
};
