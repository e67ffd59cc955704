/* SPDX-License-Identifier: Apache-2.0 */
/* Labels of a process: where it runs, by its control group; and what the operator names. */
#ifndef JESCOPE_EXPORT_LABELS_H
#define JESCOPE_EXPORT_LABELS_H

#include "export/batch.h"

#include <sys/types.h>

/* Of BatchLabel that own their strings, for array->data as BatchCircumstances.labels. */
GArray *labels_new(void);

/* NAME replaces the value that an earlier one of this name has; "" removes nothing and is not added. */
void labels_add(GArray *labels, const char *name, const char *value);

/* TEXT is "NAME=VALUE". EXPORT_ERROR_DESTINATION: it is not, or NAME is not a label. */
gboolean labels_add_text(GArray *labels, const char *text, GError **error);

/*
 * From the path of a control group: "unit" (redis.service), "container" (the first 12 digits of its id) and "pod" (the
 * uid of the Kubernetes pod), as far as it tells. Pure.
 */
void labels_add_group(GArray *labels, const char *path);

/* The value of each variable of the environment of process PID that is named, as "LABEL=VARIABLE" (NULL-terminated, may
 * be NULL). Nothing else of the environment is read. */
gboolean labels_add_variables(GArray *labels, pid_t pid, const char *const *named, GError **error);

#endif
