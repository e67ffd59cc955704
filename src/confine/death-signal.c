/* SPDX-License-Identifier: Apache-2.0 */
#include "confine/death-signal.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

void
death_signal_bind(pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
}

DeathSignal
death_signal_get(void)
{
    DeathSignal before = {.parent = getppid()};
    prctl(PR_GET_PDEATHSIG, &before.number);
    return before;
}

void
death_signal_keep(const DeathSignal *before)
{
    if (before->number == 0)
        return;
    prctl(PR_SET_PDEATHSIG, before->number);
    if (getppid() != before->parent)
        raise(before->number);
}
