/* SPDX-License-Identifier: Apache-2.0 */
/* Labels of a process: derived from its control group, or configured by the operator. */
#ifndef JESCOPE_EXPORT_LABELS_H
#define JESCOPE_EXPORT_LABELS_H

#include "export/batch.h"

#include <sys/types.h>

/* An array of BatchLabel that owns their strings; its data can be BatchCircumstances.labels. */
GArray *labels_new(void);

/* Adds a label, replacing an earlier one of this name. An empty VALUE is ignored. */
void labels_add(GArray *labels, const char *name, const char *value);

/* Adds TEXT, "NAME=VALUE". FALSE with EXPORT_ERROR_DESTINATION if it is malformed or NAME is not a valid label. */
gboolean labels_add_text(GArray *labels, const char *text, GError **error);

/*
 * Adds the labels that the path of a control group implies: "unit" (redis.service), "container" (the first 12 digits of
 * its id) and "pod" (the uid of the Kubernetes pod). Pure.
 */
void labels_add_group(GArray *labels, const char *path);

/* Adds labels from environment variables of process PID. NAMED has "LABEL=VARIABLE" entries (NULL-terminated, may be
 * NULL). Other variables are not used. */
gboolean labels_add_variables(GArray *labels, pid_t pid, const char *const *named, GError **error);

#endif
