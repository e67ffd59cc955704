/* SPDX-License-Identifier: Apache-2.0 */
#include "export/labels.h"

#include "export/batch-circumstances.h"
#include "export/sink.h"
#include "target/process.h"
#include "target/unit.h"

#include <string.h>

enum {
    CONTAINER_DIGITS = 64,
    CONTAINER_SHOWN = 12,
    POD_LENGTH = 36,
};

static void
label_clear(gpointer data)
{
    BatchLabel *label = data;
    g_free((gpointer)(gsize)label->name);
    g_free((gpointer)(gsize)label->value);
}

GArray *
labels_new(void)
{
    GArray *labels = g_array_new(FALSE, FALSE, sizeof(BatchLabel));
    g_array_set_clear_func(labels, label_clear);
    return labels;
}

void
labels_add(GArray *labels, const char *name, const char *value)
{
    if (value[0] == '\0')
        return;
    for (guint i = 0; i < labels->len; i++)
        if (g_str_equal(g_array_index(labels, BatchLabel, i).name, name)) {
            g_array_remove_index(labels, i);
            break;
        }
    const BatchLabel label = {g_strdup(name), g_strdup(value)};
    g_array_append_val(labels, label);
}

/* Splits "NAME=REST": sets *NAME and returns REST. NULL with ERROR. */
static const char *
split(const char *text, char **name, GError **error)
{
    const char *equals = strchr(text, '=');
    *name = g_strndup(text, equals != NULL ? (gsize)(equals - text) : 0);
    g_autofree char *fit = batch_label_name(*name);
    if (equals != NULL && equals[1] != '\0' && g_str_equal(fit, *name))
        return equals + 1;
    g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_DESTINATION,
                "invalid label '%s'; give NAME=VALUE, with letters, digits and '_' in NAME", text);
    return NULL;
}

gboolean
labels_add_text(GArray *labels, const char *text, GError **error)
{
    g_autofree char *name = NULL;
    const char *value = split(text, &name, error);
    if (value != NULL)
        labels_add(labels, name, value);
    return value != NULL;
}

/* ---- control groups ---- */

/* "cri-containerd-<64 digits>.scope", "docker-<64 digits>.scope", "<64 digits>". */
static const char *
container_in(const char *part)
{
    const char *dash = strrchr(part, '-'), *digits = dash != NULL ? dash + 1 : part;
    return strspn(digits, "0123456789abcdef") == CONTAINER_DIGITS ? digits : NULL;
}

/* "pod<uid>", "kubepods-burstable-pod<uid>.slice", where '-' of the uid may be '_'. To be freed. */
static char *
pod_in(const char *part)
{
    for (const char *at = strstr(part, "pod"); at != NULL; at = strstr(at + 1, "pod")) {
        const char *uid = at + strlen("pod");
        if (strspn(uid, "0123456789abcdef-_") == POD_LENGTH)
            return g_strdelimit(g_strndup(uid, POD_LENGTH), "_", '-');
    }
    return NULL;
}

void
labels_add_group(GArray *labels, const char *path)
{
    g_auto(GStrv) parts = g_strsplit(path, "/", -1);
    for (char **part = parts; *part != NULL; part++) {
        const char *container = container_in(*part);
        g_autofree char *pod = pod_in(*part);
        if (container != NULL) {
            g_autofree char *shown = g_strndup(container, CONTAINER_SHOWN);
            labels_add(labels, "container", shown);
        } else if ((g_str_has_suffix(*part, ".service") || g_str_has_suffix(*part, ".scope")) && unit_is_name(*part)) {
            labels_add(labels, "unit", *part);
        }
        if (pod != NULL)
            labels_add(labels, "pod", pod);
    }
}

/* ---- the environment ---- */

gboolean
labels_add_variables(GArray *labels, pid_t pid, const char *const *named, GError **error)
{
    for (; named != NULL && *named != NULL; named++) {
        g_autofree char *name = NULL;
        const char *variable = split(*named, &name, error);
        if (variable == NULL)
            return FALSE;
        g_autofree char *value = process_variable(pid, variable);
        if (value != NULL)
            labels_add(labels, name, value);
    }
    return TRUE;
}
