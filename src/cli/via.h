/* SPDX-License-Identifier: Apache-2.0 */
/* The options of every command that takes a target: --via, --token-file and --ca-file; and --max-output and --force. */
#ifndef JESCOPE_CLI_VIA_H
#define JESCOPE_CLI_VIA_H

#include "client/client.h"
#include "target/target.h"

/* Rows for option tables: of commands that take URLs; */
#define ACCESS_OPTIONS                                                                                                 \
    {.long_name = "token-file",                                                                                        \
     .flags = G_OPTION_FLAG_FILENAME,                                                                                  \
     .arg = G_OPTION_ARG_CALLBACK,                                                                                     \
     .arg_data = (gpointer)via_set_file,                                                                               \
     .description = "for URLs: send the token in this file (default: JESCOPE_TOKEN_FILE)",                             \
     .arg_description = "FILE"},                                                                                       \
    {                                                                                                                  \
        .long_name = "ca-file", .flags = G_OPTION_FLAG_FILENAME, .arg = G_OPTION_ARG_CALLBACK,                         \
        .arg_data = (gpointer)via_set_file,                                                                            \
        .description = "for https URLs: trust these certificates, not the system's (default: JESCOPE_CA_FILE)",        \
        .arg_description = "FILE"                                                                                      \
    }

/* of commands that take any target; */
#define VIA_OPTION                                                                                                     \
    {.long_name = "via",                                                                                               \
     .arg = G_OPTION_ARG_CALLBACK,                                                                                     \
     .arg_data = (gpointer)via_set,                                                                                    \
     .description = "only use this method to reach the target",                                                        \
     .arg_description = "agent|attach"},                                                                               \
        ACCESS_OPTIONS

/* of commands that take a dump or statistics; */
#define MAX_OUTPUT_OPTION                                                                                              \
    {                                                                                                                  \
        .long_name = "max-output", .arg = G_OPTION_ARG_CALLBACK, .arg_data = (gpointer)via_set_max_output,             \
        .description = "refuse a dump or statistics larger than this (1GiB)", .arg_description = "SIZE"                \
    }

/* of commands that take a dump, or begin a profile; */
#define FORCE_OPTION                                                                                                   \
    {                                                                                                                  \
        .long_name = "force", .flags = G_OPTION_FLAG_NO_ARG, .arg = G_OPTION_ARG_CALLBACK,                             \
        .arg_data = (gpointer)via_set_forced,                                                                          \
        .description = "go on even if the target's control group may have no room for what it takes"                   \
    }

/* of commands that write dumps; FLAG: whether it was given. */
#define SYMBOLIZE_OPTION(flag)                                                                                         \
    {                                                                                                                  \
        .long_name = "symbolize", .arg_data = &(flag),                                                                 \
        .description = "write function names and lines into the dump: report needs no program file then"               \
    }

/* GOptionArgFuncs. */
gboolean via_set(const char *option, const char *value, gpointer unused, GError **error);
gboolean via_set_file(const char *option, const char *value, gpointer unused, GError **error);
gboolean via_set_max_output(const char *option, const char *value, gpointer unused, GError **error);
gboolean via_set_forced(const char *option, const char *value, gpointer unused, GError **error);

/* The values of --token-file and --ca-file, else of the environment: for targets that are URLs, and no other receiver.
 */
ClientAccess via_access(void);

/* Opens the process or the URL NAME, by the requested way. */
Target *via_open(const char *name, GError **error);

#endif
