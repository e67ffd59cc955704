/* SPDX-License-Identifier: Apache-2.0 */
#include "source/source.h"

/* Adds the processes that can be reached. */
static gboolean
add_reachable(GStrvBuilder *pids, const GPtrArray *family, GPtrArray *left_out)
{
    gboolean any = FALSE;

    for (guint i = 0; i < family->len; i++) {
        const Candidate *candidate = family->pdata[i];
        g_autofree char *pid = g_strdup_printf("%d", (int)candidate->process.pid);
        if (candidate->reach == REACH_AGENT || candidate->reach == REACH_ATTACH) {
            g_strv_builder_add(pids, pid);
            any = TRUE;
        } else if (candidate->obstacle) {
            g_ptr_array_add(left_out, g_strdup(candidate->obstacle));
        }
    }
    return any;
}

GStrv
source_expand(char *const *names, CandidatesFlags flags, GPtrArray *left_out, GError **error)
{
    g_autoptr(GStrvBuilder) pids = g_strv_builder_new();

    for (; *names; names++) {
        g_autoptr(GPtrArray) family = candidates_find(*names, flags | CANDIDATES_JEMALLOC, error);
        if (!family)
            return NULL;
        if (!add_reachable(pids, family, left_out)) {
            g_set_error(error, SOURCE_ERROR, SOURCE_ERROR_FAILED,
                        "no process of the %u of '%s' can be reached; 'jescope ps' shows why", family->len, *names);
            return NULL;
        }
    }
    return g_strv_builder_end(pids);
}
