/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Man pages and completions, generated from the command table: a program of the build prints them to stdout. Each
 * function returns the exit status.
 */
#ifndef JESCOPE_CLI_DESCRIBE_H
#define JESCOPE_CLI_DESCRIBE_H

#include "cli/command.h"

/* The completion for a shell, from Command.operand and GOptionEntry.arg_description (command.h). */
int describe_bash(void);
int describe_fish(void);
int describe_zsh(void);

/* jescope(1): the file PATH with its line "@COMMANDS@" replaced by the list of commands. */
int describe_man_overview(const char *path);

/* jescope-NAME(1). */
int describe_man_page(const char *name);

#endif
