/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "cli/preload.h"

#include "target/target.h"

#include <stdio.h>

static gboolean under_seccomp;

static const GOptionEntry options[] = {
    {.long_name = "under-seccomp",
     .arg_data = &under_seccomp,
     .description = "also where a seccomp filter may kill the target for it"},
    {0},
};

static int
run(char **operands, GError **error)
{
    TargetAttachFlags flags = under_seccomp ? TARGET_ATTACH_UNDER_SECCOMP : TARGET_ATTACH_PLAIN;
    g_autofree char *agent = preload_find_agent(error);
    if (agent == NULL)
        return STATUS_FAILED;
    g_autoptr(Target) target = target_attach(operands[0], agent, flags, error);
    if (target == NULL)
        return STATUS_FAILED;
    printf("%s: the agent is in; 'jescope detach %d' ends it\n", target_label(target), (int)target_pid(target));
    return STATUS_DONE;
}

const Command cmd_attach = {
    .name = "attach",
    .synopsis = "TARGET",
    .summary = "bring the agent into a running process",
    .description =
        "Loads jescope's agent into TARGET, which was started without it and keeps running: one of its threads, "
        "stopped "
        "for about a millisecond while it waits in a system call, calls dlopen(). Afterwards everything goes through "
        "the agent's socket, without stopping anything, and leases outlive jescope.\n"
        "\n"
        "The agent comes out of a memory file, so it does not matter which files TARGET sees. It cannot be brought "
        "into "
        "a static program, nor into one whose C library is another or older than the agent was built for; the other "
        "commands reach those without it.\n"
        "\n"
        "The socket goes where TARGET's JESCOPE_SOCKET_DIR says, else where that of jescope does, else where an agent "
        "that "
        "was preloaded would put it. JESCOPE=off in TARGET's environment is respected, JESCOPE_ONLY is not asked.",
    .options = options,
    .operand = OPERAND_TARGET,
    .operands_min = 1,
    .operands_max = 1,
    .run = run,
};
