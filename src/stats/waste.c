/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/waste.h"

#include "confine/keyed-hash.h"

/* The slabs of one size class of one arena. */
typedef struct {
    uint64_t regions, slabs; /* live regions, and the slabs that contain them */
    uint64_t per_slab, slab_size, size;
} Slabs;

static gboolean
read_slabs(const StatsValues *bin, Slabs *slabs)
{
    if (!stats_values_get(bin, STATS_BIN_SIZE, &slabs->size) ||
        !stats_values_get(bin, STATS_BIN_NREGS, &slabs->per_slab) ||
        !stats_values_get(bin, STATS_BIN_CURSLABS, &slabs->slabs) ||
        !stats_values_get(bin, STATS_BIN_CURREGS, &slabs->regions) || slabs->per_slab == 0)
        return FALSE;
    slabs->slab_size = stats_values_or(bin, STATS_BIN_SLAB_SIZE, slabs->per_slab * slabs->size);
    return TRUE;
}

static uint64_t
needed(const Slabs *slabs)
{
    return slabs->regions / slabs->per_slab + (slabs->regions % slabs->per_slab != 0);
}

static uint64_t
bytes_beyond(uint64_t have, uint64_t need, uint64_t each)
{
    uint64_t bytes;
    return have > need && !__builtin_mul_overflow(have - need, each, &bytes) ? bytes : 0;
}

/* Sums of a size class over all arenas. */
typedef struct {
    Slabs all;
    uint64_t needed; /* slabs needed if each arena's regions were packed */
} ClassSum;

static void
add_arena(GHashTable *sums, const StatsTable *bins)
{
    for (guint i = 0; i < bins->count; i++) {
        Slabs slabs;
        if (!read_slabs(stats_table_row(bins, i), &slabs))
            continue;
        ClassSum *sum = g_hash_table_lookup(sums, &slabs.size);
        if (sum == NULL) {
            sum = g_new(ClassSum, 1);
            *sum = (ClassSum){.all = {.per_slab = slabs.per_slab, .slab_size = slabs.slab_size, .size = slabs.size}};
            g_hash_table_insert(sums, &sum->all.size, sum);
        }
        sum->all.regions += slabs.regions;
        sum->all.slabs += slabs.slabs;
        sum->needed += needed(&slabs);
    }
}

static void
allow_for_arenas(gpointer key, gpointer value, gpointer user)
{
    const uint64_t *arenas = user;
    ClassSum *sum = value;

    sum->needed = MIN(sum->needed + *arenas - 1, MAX(sum->all.slabs, sum->needed));
}

/* Sums the classes of every arena if known, otherwise of the merged arena: then each arena may have one partly filled
 * slab per class, which is not counted as holes. */
static GHashTable *
sum_classes(const StatsSample *sample)
{
    GHashTable *sums = g_hash_table_new_full(keyed_hash_int64, g_int64_equal, NULL, g_free);
    for (guint i = 0; i < stats_sample_arena_count(sample); i++) {
        const StatsArena *arena = sample->arenas->pdata[i];
        if (arena->bins != NULL)
            add_arena(sums, arena->bins);
    }
    const StatsArena *merged = stats_sample_find(sample, STATS_ARENA_MERGED);
    if (g_hash_table_size(sums) == 0 && merged != NULL && merged->bins != NULL) {
        add_arena(sums, merged->bins);
        uint64_t arenas = MIN(MAX(stats_values_or(sample->totals, STATS_ARENAS, 1), 1), STATS_ARENA_MERGED);
        g_hash_table_foreach(sums, allow_for_arenas, &arenas);
    }
    return sums;
}

static void
add_slabs(const StatsSample *sample, StatsWaste *waste)
{
    g_autoptr(GHashTable) sums = sum_classes(sample);
    GHashTableIter iter;
    gpointer value;
    g_hash_table_iter_init(&iter, sums);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        const ClassSum *sum = value;
        uint64_t holes = bytes_beyond(sum->all.slabs, sum->needed, sum->all.slab_size);
        waste->slabs += holes;
        waste->spread += bytes_beyond(sum->needed, needed(&sum->all), sum->all.slab_size);
        if (holes > waste->class_slabs || (holes == waste->class_slabs && sum->all.size < waste->class_size)) {
            waste->class_slabs = holes;
            waste->class_size = holes > 0 ? sum->all.size : 0;
        }
    }
}

static void
add_arenas(const StatsSample *sample, uint64_t page, StatsWaste *waste)
{
    uint64_t largest = 0;
    for (guint i = 0; i < stats_sample_arena_count(sample); i++) {
        const StatsArena *arena = sample->arenas->pdata[i];
        uint64_t base = stats_values_or(arena->values, STATS_ARENA_BASE, 0);
        uint64_t decay = stats_values_or(arena->values, STATS_ARENA_DIRTY_DECAY, 0);
        uint64_t dirty = stats_values_or(arena->values, STATS_ARENA_PDIRTY, 0) * page;
        waste->arena_data += base;
        largest = MAX(largest, base);
        if ((int64_t)decay < 0 && dirty > 0) {
            waste->never_arena = waste->never > 0 ? waste->never_arena : arena->index;
            waste->never += dirty;
        }
    }
    waste->arena_data -= largest;
    waste->arenas = stats_sample_arena_count(sample);
    if (waste->arenas == 0)
        waste->arenas = (guint)MIN(stats_values_or(sample->totals, STATS_ARENAS, 0), STATS_ARENA_MERGED);
}

void
stats_waste(const StatsSample *sample, StatsWaste *waste)
{
    const StatsArena *merged = stats_sample_find(sample, STATS_ARENA_MERGED);
    uint64_t page = stats_values_or(sample->totals, STATS_PAGE, 0);
    StatsHeld parts;
    *waste = (StatsWaste){0};
    stats_held_parts(sample, &parts);
    waste->metadata = stats_values_or(sample->totals, STATS_METADATA, 0);
    waste->internal = parts.internal;
    waste->cached = parts.cached;
    if (merged != NULL) {
        waste->unused = (stats_values_or(merged->values, STATS_ARENA_PDIRTY, 0) +
                         stats_values_or(merged->values, STATS_ARENA_PMUZZY, 0)) *
                        page;
        waste->threads = stats_values_or(merged->values, STATS_ARENA_THREADS, 0);
    }
    waste->profiler = stats_values_or(sample->totals, STATS_SAMPLING_LG_PERIOD, 64) < 64;
    add_arenas(sample, page, waste);
    add_slabs(sample, waste);
}

/* jemalloc's internal allocations are thread caches and, if the profiler may be enabled, its tables. */
const char *
stats_waste_metadata_remedy(const StatsWaste *waste)
{
    enum { THREAD_DATA = 35 << 10 };
    const uint64_t half = waste->metadata / 2,
                   caches = waste->profiler ? MIN(waste->threads * THREAD_DATA, waste->internal) : waste->internal;
    if (waste->arena_data > half)
        return "fewer arenas (narenas:N): most of it is the data of each of them";
    if (caches > half)
        return "fewer threads, or smaller thread caches (lg_tcache_max): most of it is the caches themselves";
    if (waste->internal - caches > half)
        return "a longer sampling period (lg_prof_sample), and prof_accum:false: most of it is the profiler's";
    return NULL;
}
