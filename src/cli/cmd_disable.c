/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"

#include "target/target.h"

#include <stdio.h>

/* A lease would switch profiling at its end, so it ends first; somebody else may have been quicker. */
static gboolean
end_lease(Target *target, GError **error)
{
    WireHelloReply hello;
    if (!target_hello(target, &hello, error))
        return FALSE;
    if (hello.lease.id == 0)
        return TRUE;
    LeaseRequest request = {.action = WIRE_LEASE_RELEASE, .id = hello.lease.id};
    WireLease lease;
    g_autoptr(GError) cause = NULL;
    if (target_lease(target, &request, &lease, &cause) || g_error_matches(cause, TARGET_ERROR, TARGET_ERROR_NO_LEASE))
        return TRUE;
    g_propagate_error(error, g_steal_pointer(&cause));
    return FALSE;
}

static int
run(char **operands, GError **error)
{
    g_autoptr(Target) target = target_open(operands[0], error);
    if (target == NULL || !end_lease(target, error) || !target_write(target, "prof.active", WIRE_TYPE_BOOL, 0, error))
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
    .operand = OPERAND_TARGET,
    .operands_min = 1,
    .operands_max = 1,
    .run = run,
};
