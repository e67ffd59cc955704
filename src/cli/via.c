/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/via.h"

#include "cli/command.h"

#include <stdio.h>

char *via_word;

Target *
via_open(const char *name, GError **error)
{
    TargetVia via = TARGET_VIA_ANY;
    if (via_word != NULL && !target_via_parse(via_word, &via)) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "--via: unknown '%s'; it is one of agent, attach", via_word);
        return NULL;
    }
    return target_open_via(name, via, error);
}

void
via_warn_of_kill(const Target *target)
{
    if (target_via(target) == TARGET_VIA_ATTACH)
        fprintf(
            stderr,
            "jescope: %s has no agent: 'kill -9' of jescope would leave profiling on ('jescope disable %d' ends it)\n",
            target_label(target), (int)target_pid(target));
}
