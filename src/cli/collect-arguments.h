/* SPDX-License-Identifier: Apache-2.0 */
/* What `collect` was asked for, read from its options and operands. */
#ifndef JESCOPE_CLI_COLLECT_ARGUMENTS_H
#define JESCOPE_CLI_COLLECT_ARGUMENTS_H

#include "history/collector.h"

extern const GOptionEntry collect_options[];

typedef struct {
    char *name;    /* in the history */
    char *address; /* for target_open() */
    char *process; /* the name of the process there; NULL: not known */
} CollectTarget;

typedef struct {
    char *history;
    const char *log; /* NULL: none */
    char *log_name;
    const char *command; /* NULL: none */
    GPtrArray *targets;  /* of CollectTarget */
    CollectorOptions options;
} CollectArguments;

/* FALSE with CLI_ERROR_USAGE, or with why a target cannot be collected. A process that is only named and does not run
 * yet is waited for. Free with collect_arguments_clear() in any case. */
gboolean collect_arguments_read(CollectArguments *arguments, char **operands, GError **error);
void collect_arguments_clear(CollectArguments *arguments);

#endif
