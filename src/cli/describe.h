/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What follows from the command table, for scripts/update-docs: a program of the build that prints to stdout. Each
 * function returns the exit status.
 */
#ifndef JESCOPE_CLI_DESCRIBE_H
#define JESCOPE_CLI_DESCRIBE_H

#include "cli/command.h"

/* The completion for a shell: what an operand or the value of an option is, is told by Command.operand and by
 * GOptionEntry.arg_description as command.h has it. */
int describe_bash(void);
int describe_fish(void);
int describe_zsh(void);

/* jescope(1): the file PATH with its line "@COMMANDS@" replaced by the list of commands. */
int describe_man_overview(const char *path);

/* jescope-NAME(1). */
int describe_man_page(const char *name);

#endif
