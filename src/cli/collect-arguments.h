/* SPDX-License-Identifier: Apache-2.0 */
/* The options and operands of `collect`. */
#ifndef JESCOPE_CLI_COLLECT_ARGUMENTS_H
#define JESCOPE_CLI_COLLECT_ARGUMENTS_H

#include "service/service.h"

extern const GOptionEntry collect_options[];

typedef struct {
    char *history;
    const char *command; /* NULL: none */
    guint64 for_ms;      /* 0: until a signal */
    GArray *sources;     /* of ServiceSource */
    ServiceOptions options;
} CollectArguments;

/* FALSE with CLI_ERROR_USAGE, or with the reason why a target cannot be collected. A named process that is not running
 * yet will be waited for. Free with collect_arguments_clear() in any case. */
gboolean collect_arguments_read(CollectArguments *arguments, char **operands, GError **error);
void collect_arguments_clear(CollectArguments *arguments);

#endif
