/* SPDX-License-Identifier: Apache-2.0 */
#include "source/source.h"

/* Adds the processes that can be reached. */
static gboolean
add_reachable(GStrvBuilder *operands, const GPtrArray *family, GPtrArray *left_out)
{
    gboolean any = FALSE;

    for (guint i = 0; i < family->len; i++) {
        const Candidate *candidate = family->pdata[i];
        g_autofree char *operand = process_operand(&candidate->process);
        if (candidate->reach == REACH_AGENT || candidate->reach == REACH_ATTACH) {
            g_strv_builder_add(operands, operand);
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
    g_autoptr(GStrvBuilder) operands = g_strv_builder_new();

    for (; *names; names++) {
        g_autoptr(GPtrArray) family = candidates_find(*names, flags | CANDIDATES_JEMALLOC, error);
        if (!family)
            return NULL;
        if (!add_reachable(operands, family, left_out)) {
            g_set_error(error, SOURCE_ERROR, SOURCE_ERROR_FAILED,
                        "no process of the %u of '%s' can be reached; 'jescope ps' shows why", family->len, *names);
            return NULL;
        }
    }
    return g_strv_builder_end(operands);
}
