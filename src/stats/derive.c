/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/stats.h"

#include <string.h>

/* One value is another times a third: allocated = curregs * size. */
typedef struct {
    StatsMetric product;
    StatsMetric count;
    StatsMetric size;
} Product;

static const Product bin_product = {STATS_BIN_ALLOCATED, STATS_BIN_CURREGS, STATS_BIN_SIZE};
static const Product large_product = {STATS_LARGE_ALLOCATED, STATS_LARGE_CURLEXTENTS, STATS_LARGE_SIZE};

static void
derive_product(StatsValues *values, const Product *rule, const uint64_t *known_size)
{
    uint64_t size, count, product;
    if (known_size != NULL)
        size = *known_size;
    else if (!stats_values_get(values, rule->size, &size))
        return;
    if (size == 0)
        return;
    if (!stats_values_get(values, rule->product, &product)) {
        if (stats_values_get(values, rule->count, &count) && !__builtin_mul_overflow(count, size, &product))
            stats_values_set(values, rule->product, product);
    } else if (!stats_values_get(values, rule->count, &count)) {
        stats_values_set(values, rule->count, product / size);
    }
}

static void
derive_table(StatsTable *table, const Product *rule)
{
    for (guint i = 0; table != NULL && i < table->count; i++)
        derive_product(stats_table_row(table, i), rule, NULL);
}

static void
derive_allocated(StatsValues *values)
{
    uint64_t small, large, sum;
    if (stats_values_get(values, STATS_ARENA_ALLOCATED, &sum) ||
        !stats_values_get(values, STATS_ARENA_SMALL_ALLOCATED, &small) ||
        !stats_values_get(values, STATS_ARENA_LARGE_ALLOCATED, &large))
        return;
    stats_values_set(values, STATS_ARENA_ALLOCATED,
                     small + large + stats_values_or(values, STATS_ARENA_HUGE_ALLOCATED, 0));
}

static void
derive_arena(StatsArena *arena, const uint64_t *page)
{
    static const Product pages = {STATS_ARENA_ACTIVE, STATS_ARENA_PACTIVE, STATS_ARENA_PACTIVE};
    if (page != NULL)
        derive_product(arena->values, &pages, page);
    derive_allocated(arena->values);
    derive_table(arena->bins, &bin_product);
    derive_table(arena->large, &large_product);
}

static StatsTable *
table_copy(const StatsTable *from)
{
    if (from == NULL)
        return NULL;
    StatsTable *copy = stats_table_new(from->scope);
    for (guint i = 0; i < from->count; i++) {
        StatsValues *row = stats_table_add(copy, from->names != NULL ? from->names[i] : NULL);
        memcpy(row, stats_table_row(from, i), sizeof(StatsValues) + stats_scope_count(from->scope) * sizeof(uint64_t));
    }
    return copy;
}

static void
derive_merged(StatsSample *sample)
{
    if (stats_sample_arena_count(sample) != 1 || sample->arenas->len != 1)
        return;
    const StatsArena *only = sample->arenas->pdata[0];
    StatsArena *merged = stats_sample_arena(sample, STATS_ARENA_MERGED);
    memcpy(merged->values, only->values, sizeof(StatsValues) + stats_scope_count(STATS_SCOPE_ARENA) * sizeof(uint64_t));
    merged->bins = table_copy(only->bins);
    merged->large = table_copy(only->large);
    merged->mutexes = table_copy(only->mutexes);
}

void
stats_sample_derive(StatsSample *sample, StatsDerive flags)
{
    uint64_t page;
    const uint64_t *known_page = stats_values_get(sample->totals, STATS_PAGE, &page) ? &page : NULL;
    for (guint i = 0; i < sample->arenas->len; i++)
        derive_arena(sample->arenas->pdata[i], known_page);
    if (flags & STATS_DERIVE_MERGED)
        derive_merged(sample);
}
