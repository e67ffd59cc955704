/* SPDX-License-Identifier: Apache-2.0 */
/* The option --via of every command that takes a target. */
#ifndef JESCOPE_CLI_VIA_H
#define JESCOPE_CLI_VIA_H

#include "target/target.h"

/* A row for a command's table of options. */
#define VIA_OPTION                                                                                                     \
    {                                                                                                                  \
        .long_name = "via", .arg = G_OPTION_ARG_STRING, .arg_data = &via_word,                                         \
        .description = "reach the target this way only", .arg_description = "agent|attach"                             \
    }

extern char *via_word;

/* target_open() the way that was asked for. */
Target *via_open(const char *name, GError **error);

/* Says on stderr what happens to a lease in TARGET if we are killed, where there is no agent to end it. */
void via_warn_of_kill(const Target *target);

#endif
