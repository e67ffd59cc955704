/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"

#include <string.h>

/* Included here only, so that a new command does not rebuild every file of this room. */
#define GROUP(title)
#define COMMAND(name) extern const Command cmd_##name;
#include "cli/commands.def"
#undef COMMAND

const Command *const commands[] = {
#define COMMAND(name) &cmd_##name,
#include "cli/commands.def"
#undef COMMAND
#undef GROUP
    NULL,
};

static const struct {
    const char *title; /* NULL: a command's row */
    const Command *command;
} rows[] = {
#define GROUP(title)  {title, NULL},
#define COMMAND(name) {NULL, &cmd_##name},
#include "cli/commands.def"
#undef COMMAND
#undef GROUP
};

const Command *
command_find(const char *name)
{
    for (const Command *const *command = commands; *command != NULL; command++)
        if (strcmp((*command)->name, name) == 0)
            return *command;
    return NULL;
}

const char *
command_begins_group(const Command *command)
{
    for (gsize i = 1; i < G_N_ELEMENTS(rows); i++)
        if (rows[i].command == command)
            return rows[i - 1].title;
    return NULL;
}
