/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"

#include <string.h>

const Command *const commands[] = {
    &cmd_run,    &cmd_ps,      &cmd_status, &cmd_record,  &cmd_report, &cmd_diff,  &cmd_growth, &cmd_attach,
    &cmd_detach, &cmd_dump,    &cmd_enable, &cmd_disable, &cmd_reset,  &cmd_purge, &cmd_msg,    &cmd_stats,
    &cmd_serve,  &cmd_collect, &cmd_import, &cmd_series,  &cmd_abs,    &cmd_del,   &cmd_eff,    NULL,
};

const Command *
command_find(const char *name)
{
    for (const Command *const *command = commands; *command != NULL; command++)
        if (strcmp((*command)->name, name) == 0)
            return *command;
    return NULL;
}
