/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "cli/progress.h"
#include "cli/via.h"
#include "run/preload.h"

#include "target/diagnosis.h"
#include "target/target.h"

#include <stdio.h>

static gboolean under_seccomp;

static const GOptionEntry options[] = {
    {.long_name = "under-seccomp",
     .arg_data = &under_seccomp,
     .description = "attach even if a seccomp filter might kill the target"},
    FORCE_OPTION,
    {0},
};

/* The agent does not change the options that jemalloc was started with. */
static void
note_profiling(Target *target)
{
    WireHelloReply hello;
    if (!target_hello(target, &hello, NULL))
        return;
    g_autofree char *obstacle = diagnosis_profiling(&hello);
    if (obstacle != NULL)
        command_say("%s cannot be profiled, only its statistics can be read: %s", target_label(target), obstacle);
}

static int
run(char **operands, GError **error)
{
    TargetAttachFlags flags = under_seccomp ? TARGET_ATTACH_UNDER_SECCOMP : TARGET_ATTACH_PLAIN;
    g_autofree char *agent = preload_find_agent(error);
    if (agent == NULL)
        return STATUS_FAILED;
    Progress *progress = progress_begin("attaching to %s", operands[0]);
    g_autoptr(Target) target = target_attach(operands[0], agent, flags, error);
    progress_end(progress);
    if (target == NULL)
        return STATUS_FAILED;
    printf("%s: agent attached; 'jescope detach %s' removes it\n", target_label(target), target_operand(target));
    note_profiling(target);
    return STATUS_DONE;
}

static const Example examples[] = {
    {"jescope attach 4711", "load the agent into process 4711"},
    {0},
};

const Command cmd_attach = {
    .name = "attach",
    .synopsis = "TARGET",
    .summary = "load the agent into a running process",
    .description =
        "Loads jescope's agent into TARGET, which was started without it and keeps running: jescope stops one of its "
        "threads for about a millisecond, in a system call, and makes it call dlopen(). Afterwards everything goes "
        "through the agent's socket, without stopping anything, and leases outlive jescope.\n"
        "\n"
        "The agent does not change what jemalloc was started for. A process that was started without prof:true is "
        "sampled by the agent itself if its jemalloc is 5.2.0 to 5.3.1; with other versions it cannot be profiled "
        "until "
        "it is restarted: stderr then has a warning, and the exit status is 0, since the agent is loaded.\n"
        "\n"
        "The agent is loaded from a memory file, so it does not matter which files TARGET sees. It cannot be loaded "
        "into a static program, or a program whose C library is not glibc, or is older than the one the agent was "
        "built for; the other commands reach those without it.\n"
        "\n"
        "The socket directory is, in order: the target's JESCOPE_SOCKET_DIR, jescope's own, the default. JESCOPE=off "
        "and JESCOPE_CHILDREN=off in TARGET's environment are respected; JESCOPE_ONLY is ignored.",
    .examples = examples,
    .options = options,
    .operand = OPERAND_TARGET,
    .operands_min = 1,
    .operands_max = 1,
    .run = run,
};
