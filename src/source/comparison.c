/* SPDX-License-Identifier: Apache-2.0 */
#include "source/comparison.h"

#include "confine/rights.h"
#include "report/coverage.h"

gboolean
comparison_begin(Comparison *comparison, char *const *names, guint n, char *base, const SourceOptions *options,
                 GError **error)
{
    *comparison = (Comparison){.now_parts = source_begin_all(names, n, options, error)};
    if (!comparison->now_parts || !base)
        return comparison->now_parts != NULL;
    comparison->base_parts = source_begin_all(&base, 1, options, error);
    if (!comparison->base_parts)
        return FALSE;
    /* Sources of the base may be displayed as well. */
    target_files_join(((Source *)comparison->now_parts->pdata[0])->files,
                      ((Source *)comparison->base_parts->pdata[0])->files);
    return TRUE;
}

gboolean
comparison_finish(Comparison *comparison, const SourceOptions *options, GError **error)
{
    comparison->now = source_finish(comparison->now_parts, options, error);
    if (!comparison->now || !comparison->base_parts)
        return comparison->now != NULL;
    comparison->base = source_finish(comparison->base_parts, options, error);
    if (!comparison->base)
        return FALSE;
    /* Notes whether two dumps of one process include the allocations made in between. */
    source_add_note(comparison->now, coverage_between(profile_capture(comparison->base->profile),
                                                      profile_capture(comparison->now->profile)));
    return TRUE;
}

uid_t
comparison_author(const Comparison *comparison)
{
    const uid_t base = comparison->base_parts ? source_author(comparison->base_parts) : 0;

    return rights_lesser(source_author(comparison->now_parts), base);
}

GArray *
comparison_descriptors(const Comparison *comparison)
{
    GArray *descriptors = source_descriptors(comparison->now_parts);
    g_autoptr(GArray) base = comparison->base_parts ? source_descriptors(comparison->base_parts) : NULL;

    if (base)
        g_array_append_vals(descriptors, base->data, base->len);
    return descriptors;
}

void
comparison_clear(Comparison *comparison)
{
    g_clear_pointer(&comparison->now, source_free);
    g_clear_pointer(&comparison->base, source_free);
    g_clear_pointer(&comparison->now_parts, g_ptr_array_unref);
    g_clear_pointer(&comparison->base_parts, g_ptr_array_unref);
}
