/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/stats.h"

#include <string.h>

/* A value that is the product of two others: allocated = curregs * size. */
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

static uint64_t
less(uint64_t from, uint64_t amount)
{
    return from > amount ? from - amount : 0;
}

uint64_t
stats_smallest_large(uint64_t page, const char *version)
{
    gboolean old = version != NULL && (g_str_has_prefix(version, "3.") || g_str_has_prefix(version, "2."));
    return old ? page : 4 * page;
}

/*
 * A sampled small object is counted as an extent of the smallest large class. Such extents cannot be distinguished from
 * the program's own and from those in thread caches, so this is the smaller of two estimates: all extents of that class
 * minus the cached share of allocated, and the number of samples that the live part of the small heap would have if
 * sampling had always been on.
 */
static void
derive_sampling(StatsSample *sample, const StatsValues *merged, uint64_t page, uint64_t allocated)
{
    uint64_t lg, extents, small;
    StatsHeld parts;
    if (!stats_values_get(sample->totals, STATS_SAMPLING_LG_PERIOD, &lg) || lg >= 64 || allocated == 0 ||
        !stats_values_get(merged, STATS_ARENA_LARGE_SMALLEST, &extents) ||
        !stats_values_get(merged, STATS_ARENA_SMALL_ALLOCATED, &small))
        return;
    stats_held_parts(sample, &parts);
    uint64_t large = stats_smallest_large(page, sample->version);
    uint64_t rest = less(allocated, parts.cached + parts.internal);
    uint64_t live = (uint64_t)((double)extents * (double)rest / (double)allocated);
    /* With a shorter period, a large part of the small heap has moved to that class. */
    uint64_t objects = UINT64_C(1) << lg < large ? live : MIN(live, less(small, parts.cached) >> lg);
    stats_values_set(sample->totals, STATS_SAMPLING_OVERHEAD, MIN(objects * large, rest));
}

void
stats_held_parts(const StatsSample *sample, StatsHeld *held)
{
    const StatsArena *merged = stats_sample_find(sample, STATS_ARENA_MERGED);
    *held = (StatsHeld){.sampling = stats_values_or(sample->totals, STATS_SAMPLING_OVERHEAD, 0)};
    if (merged == NULL)
        return;
    held->has_cached = stats_values_get(merged->values, STATS_ARENA_TCACHE, &held->cached);
    held->cached += stats_values_or(merged->values, STATS_ARENA_TCACHE_STASHED, 0);
    held->internal = stats_values_or(merged->values, STATS_ARENA_INTERNAL,
                                     stats_values_or(merged->values, STATS_ARENA_METADATA_ALLOCATED, 0));
}

static void
derive_held(StatsSample *sample, const uint64_t *page)
{
    const StatsArena *merged = stats_sample_find(sample, STATS_ARENA_MERGED);
    uint64_t allocated;
    StatsHeld held;
    if (merged == NULL || !stats_values_get(sample->totals, STATS_ALLOCATED, &allocated))
        return;
    if (page != NULL)
        derive_sampling(sample, merged->values, *page, allocated);
    stats_held_parts(sample, &held);
    stats_values_set(sample->totals, STATS_HELD, less(allocated, held.cached + held.internal + held.sampling));
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
    derive_held(sample, known_page);
}
