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
    printf("%s: agent detached\n", target_label(target));
    return STATUS_DONE;
}

static const Example examples[] = {
    {"jescope detach 4711", "stop it again"},
    {0},
};

const Command cmd_detach = {
    .name = "detach",
    .synopsis = "TARGET",
    .summary = "stop the agent in a running process",
    .description =
        "Stops TARGET's agent. A running lease ends and the previous state is restored, the agent's thread ends, and "
        "its socket is closed and removed. The library stays loaded and does nothing, also in children; 'jescope "
        "attach' starts it again. This works for a preloaded agent as well as for an attached one.",
    .examples = examples,
    .operand = OPERAND_TARGET,
    .operands_min = 1,
    .operands_max = 1,
    .run = run,
};
