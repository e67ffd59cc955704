/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/target-source.h"

#include "target/candidates.h"
#include "target/target.h"

#include <string.h>

void
target_source_clear(gpointer data)
{
    const ServiceSource *source = data;
    g_free((gpointer)(guintptr)source->series);
    g_free((gpointer)(guintptr)source->name);
    g_free((gpointer)(guintptr)source->program);
}

/* collect waits for a name; a missing pid or socket is an error. */
static gboolean
is_process_name(const char *address)
{
    return strchr(address, ':') == NULL && !process_operand_is_number(address);
}

/* At present only the name must be suitable: other processes may follow. */
static gboolean
check_service(const char *name, GError **error)
{
    g_autoptr(GError) cause = NULL;
    g_autoptr(GPtrArray) found = candidates_find(name, CANDIDATES_JEMALLOC, &cause);
    if (found == NULL && g_error_matches(cause, TARGET_ERROR, OUTCOME_NO_PROCESS))
        return TRUE;
    if (found == NULL) {
        g_propagate_error(error, g_steal_pointer(&cause));
        return FALSE;
    }
    if (found->len > 1)
        return TRUE;
    g_autoptr(Target) only = target_open(name, error);
    return only != NULL;
}

gboolean
target_source_identify(char *series, const char *address, ServiceSource *source, GError **error)
{
    *source = (ServiceSource){.series = series, .name = g_strdup(address)};
    if (is_process_name(address)) {
        source->kind = SERVICE_SOURCE_PROCESSES;
        if (!check_service(address, error))
            return FALSE;
    } else {
        g_autoptr(Target) found = target_open(address, error);
        if (found == NULL)
            return FALSE;
        source->program = g_strdup(target_name(found));
    }
    if (series == NULL)
        source->series = g_strdup(source->program != NULL ? source->program : address);
    return TRUE;
}
