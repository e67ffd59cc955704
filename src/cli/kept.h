/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the content of a history file as text or JSON. */
#ifndef JESCOPE_CLI_KEPT_H
#define JESCOPE_CLI_KEPT_H

#include "history/history.h"

/* TARGETS: only these (NULL: all). Returns a Status. */
int kept_print_targets(History *history, char **targets, gboolean as_json, GError **error);
int kept_print_metrics(History *history, char **targets, gboolean as_json, GError **error);

#endif
