/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the content of a history file as text or JSON, and what could not be read of it. */
#ifndef JESCOPE_CLI_KEPT_H
#define JESCOPE_CLI_KEPT_H

#include "history/history.h"

/* TARGETS: only these (NULL: all). Returns a Status. */
int kept_print_targets(History *history, char **targets, gboolean as_json, GError **error);
int kept_print_metrics(History *history, char **targets, gboolean as_json, GError **error);

/* Reports on stderr that N damaged blocks of PATH were left out; FALSE if N is 0. */
gboolean kept_warn(const char *path, guint n);

#endif
