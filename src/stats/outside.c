/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/readable.h"
#include "stats/stats.h"

void
stats_derive_outside(StatsValues *totals, uint64_t lazy, uint64_t huge)
{
    uint64_t anonymous, resident;
    if (!stats_values_get(totals, STATS_ANONYMOUS, &anonymous) || !stats_values_get(totals, STATS_RESIDENT, &resident))
        return;
    uint64_t explained = resident + lazy + MIN(huge, stats_values_or(totals, STATS_RETAINED, 0));
    stats_values_set(totals, STATS_OUTSIDE, anonymous > explained ? anonymous - explained : 0);
}

char *
stats_outside_notice(const StatsValues *totals)
{
    uint64_t outside, resident;
    if (!stats_values_get(totals, STATS_OUTSIDE, &outside) || !stats_values_get(totals, STATS_RESIDENT, &resident) ||
        outside < STATS_OUTSIDE_NOTABLE || outside <= resident)
        return NULL;
    g_autoptr(GString) text = g_string_new("this jemalloc does not serve the main heap of the process: ");
    readable_append_size(text, (double)outside, 0);
    g_string_append(text, " of anonymous memory are outside jemalloc, ");
    readable_append_size(text, (double)resident, 0);
    g_string_append(text, " are inside; the rest belongs to another allocator (possibly linked statically), mmap or "
                          "stacks, and is not in these numbers");
    return g_string_free(g_steal_pointer(&text), FALSE);
}
