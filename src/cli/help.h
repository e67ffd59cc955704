/* SPDX-License-Identifier: Apache-2.0 */
/* The output of --help, from the command table. */
#ifndef JESCOPE_CLI_HELP_H
#define JESCOPE_CLI_HELP_H

#include "cli/command.h"

/* The whole text of `jescope --help`. */
char *help_overview(void);

/* The whole text of `jescope COMMAND --help`. */
char *help_command(const Command *command);

/* An option as the user writes it: "-o, --output=FILE". */
char *help_option(const GOptionEntry *entry);

/* The option --help of every command, for lists of options. */
extern const GOptionEntry help_entry;

#endif
