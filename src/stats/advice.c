/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/advice.h"

#include "stats/readable.h"
#include "stats/summary.h"

enum {
    MIB = 1 << 20,
};

/* What the rules look at. A value that is absent makes its rule silent: get() says so. */
typedef struct {
    const StatsSample *now;
    const StatsSample *earlier;
    const StatsArena *merged;
} Facts;

static gboolean
get(const Facts *facts, StatsMetric metric, uint64_t *value)
{
    if (stats_metrics[metric].scope == STATS_SCOPE_TOTALS)
        return stats_values_get(facts->now->totals, metric, value);
    return facts->merged != NULL && stats_values_get(facts->merged->values, metric, value);
}

static char *
size(uint64_t bytes)
{
    GString *text = g_string_new(NULL);
    readable_append_size(text, (double)bytes, 0);
    return g_string_free(text, FALSE);
}

static gboolean
unused_bytes(const Facts *facts, uint64_t *bytes)
{
    uint64_t page, dirty;
    if (!get(facts, STATS_PAGE, &page) || !get(facts, STATS_ARENA_PDIRTY, &dirty))
        return FALSE;
    uint64_t muzzy = 0;
    get(facts, STATS_ARENA_PMUZZY, &muzzy);
    *bytes = (dirty + muzzy) * page;
    return TRUE;
}

/* Each rule: NULL if there is nothing to say, else the evidence. */

static char *
find_idle_pages(const Facts *facts)
{
    uint64_t active, resident, unused, threads;
    if (!get(facts, STATS_ACTIVE, &active) || !get(facts, STATS_RESIDENT, &resident) ||
        !get(facts, STATS_BACKGROUND_THREADS, &threads) || !unused_bytes(facts, &unused))
        return NULL;
    if (threads != 0 || unused < 16 * MIB || unused < resident / 5)
        return NULL;
    g_autofree char *held = size(unused);
    g_autofree char *all = size(resident);
    g_autofree char *used = size(active);
    return g_strdup_printf("%s of %s resident are unused pages (active: %s), and no background thread runs", held, all,
                           used);
}

static char *
find_no_decay(const Facts *facts)
{
    uint64_t unused;
    if (!unused_bytes(facts, &unused) || unused < 16 * MIB)
        return NULL;
    for (guint i = 0; i < stats_sample_arena_count(facts->now); i++) {
        const StatsArena *arena = facts->now->arenas->pdata[i];
        uint64_t decay;
        if (!stats_values_get(arena->values, STATS_ARENA_DIRTY_DECAY, &decay) || (int64_t)decay >= 0)
            continue;
        g_autofree char *held = size(unused);
        return g_strdup_printf("dirty_decay_ms is -1 in arena %u, and %s of unused pages are held", arena->index, held);
    }
    return NULL;
}

static char *
find_empty_class(const Facts *facts)
{
    uint64_t active, worst = 0;
    const StatsValues *found = NULL;
    if (facts->merged == NULL || facts->merged->bins == NULL || !get(facts, STATS_ACTIVE, &active))
        return NULL;
    for (guint i = 0; i < facts->merged->bins->count; i++) {
        const StatsValues *bin = stats_table_row(facts->merged->bins, i);
        uint64_t live, wasted;
        if (!summary_bin_waste(bin, &live, &wasted) || wasted <= active / 20 || wasted <= worst)
            continue;
        if (live * 10 >= (live + wasted) * 4)
            continue;
        worst = wasted;
        found = bin;
    }
    if (found == NULL)
        return NULL;
    uint64_t live, wasted;
    summary_bin_waste(found, &live, &wasted);
    g_autofree char *text = size(wasted);
    return g_strdup_printf("size class %" G_GUINT64_FORMAT " is %.0f%% full: %s free, %.1f%% of active",
                           stats_values_or(found, STATS_BIN_SIZE, 0), 100.0 * (double)live / (double)(live + wasted),
                           text, 100.0 * (double)wasted / (double)active);
}

static char *
find_fragmentation(const Facts *facts)
{
    uint64_t allocated, active;
    if (!get(facts, STATS_ALLOCATED, &allocated) || !get(facts, STATS_ACTIVE, &active) || active <= allocated)
        return NULL;
    if (active - allocated < 16 * MIB || allocated * 10 >= active * 7)
        return NULL;
    g_autofree char *gap = size(active - allocated);
    return g_strdup_printf("allocated is %.0f%% of active; %s are free space in pages in use",
                           100.0 * (double)allocated / (double)active, gap);
}

static char *
find_many_arenas(const Facts *facts)
{
    uint64_t threads;
    guint arenas = stats_sample_arena_count(facts->now);
    if (arenas < 8 || !get(facts, STATS_ARENA_THREADS, &threads) || arenas <= 2 * threads)
        return NULL;
    return g_strdup_printf("%u arenas are in use by %" G_GUINT64_FORMAT " threads", arenas, threads);
}

static char *
find_arenas_and_cores(const Facts *facts)
{
    uint64_t narenas, cpus;
    if (!get(facts, STATS_NARENAS, &narenas) || !get(facts, STATS_CPUS, &cpus) || narenas <= 4 * cpus || narenas < 16)
        return NULL;
    return g_strdup_printf("narenas is %" G_GUINT64_FORMAT " where the process may use %" G_GUINT64_FORMAT " cores",
                           narenas, cpus);
}

static char *
find_retained_growth(const Facts *facts)
{
    uint64_t now, before, allocated_now, allocated_before;
    if (facts->earlier == NULL || !get(facts, STATS_RETAINED, &now) || !get(facts, STATS_ALLOCATED, &allocated_now) ||
        !stats_values_get(facts->earlier->totals, STATS_RETAINED, &before) ||
        !stats_values_get(facts->earlier->totals, STATS_ALLOCATED, &allocated_before))
        return NULL;
    if (now < before + 16 * MIB || now - before < before / 2 ||
        allocated_now > allocated_before + allocated_before / 10)
        return NULL;
    g_autofree char *from = size(before);
    g_autofree char *to = size(now);
    return g_strdup_printf("retained grew from %s to %s while allocated did not", from, to);
}

static char *
find_metadata(const Facts *facts)
{
    uint64_t metadata, resident;
    if (!get(facts, STATS_METADATA, &metadata) || !get(facts, STATS_RESIDENT, &resident))
        return NULL;
    if (metadata < 16 * MIB || metadata < resident / 10)
        return NULL;
    g_autofree char *text = size(metadata);
    return g_strdup_printf("%s are jemalloc's own data, %.0f%% of resident", text,
                           100.0 * (double)metadata / (double)resident);
}

static char *
find_thread_caches(const Facts *facts)
{
    uint64_t cached, allocated, threads = 0;
    if (!get(facts, STATS_ARENA_TCACHE, &cached) || !get(facts, STATS_ALLOCATED, &allocated))
        return NULL;
    if (cached < 16 * MIB || cached < allocated / 10)
        return NULL;
    get(facts, STATS_ARENA_THREADS, &threads);
    g_autofree char *text = size(cached);
    return g_strdup_printf("%s wait in the caches of %" G_GUINT64_FORMAT " threads, %.0f%% of allocated", text, threads,
                           100.0 * (double)cached / (double)allocated);
}

static const struct {
    AdviceRule rule;
    char *(*find)(const Facts *facts);
} rules[] = {
    {{"idle-pages", "Memory that nobody uses is not given back",
      "dirty and muzzy pages are at least 16 MiB and a fifth of resident, and no background thread runs",
      "background_thread:true purges idle arenas too; dirty_decay_ms:1000 gives pages back sooner"},
     find_idle_pages},
    {{"no-decay", "Unused pages are never given back",
      "dirty_decay_ms is -1 in an arena, and dirty and muzzy pages are at least 16 MiB",
      "dirty_decay_ms:10000 (the default), or run 'jescope purge' at quiet times"},
     find_no_decay},
    {{"empty-class", "A size class holds mostly free space",
      "a small size class is under 40% full and its free space is over 5% of active",
      "narenas: fewer arenas share slabs better; look for what keeps single objects alive with 'jescope report'"},
     find_empty_class},
    {{"fragmentation", "Pages in use hold much free space",
      "allocated is under 70% of active, and the difference is at least 16 MiB",
      "narenas: fewer arenas; slab_sizes:SIZE-SIZE:PAGES makes slabs of the emptiest classes smaller"},
     find_fragmentation},
    {{"many-arenas", "More arenas are in use than threads need",
      "at least 8 arenas are in use, and more than two for each thread",
      "narenas:N with N near the number of threads that allocate at once"},
     find_many_arenas},
    {{"arenas-and-cores", "jemalloc spreads threads over too many arenas for the cores it has",
      "narenas is at least 16 and over 4 times the number of cores the process may use",
      "narenas:N with N four times the cores; jemalloc counts the machine's cores, not those a container is given"},
     find_arenas_and_cores},
    {{"retained-growth", "Address space is kept and grows while the program does not",
      "between two samples retained grew by half and by at least 16 MiB, allocated by at most a tenth",
      "retain:false returns address space; lg_extent_max_active_fit:2 lets large extents be reused for smaller ones"},
     find_retained_growth},
    {{"metadata", "jemalloc's own data is large", "metadata is at least 16 MiB and a tenth of resident",
      "narenas: fewer arenas; metadata_thp:disabled if it is auto or always"},
     find_metadata},
    {{"thread-caches", "Thread caches hold much of what the program freed",
      "tcache_bytes is at least 16 MiB and a tenth of allocated",
      "lg_tcache_max:13 (tcache_max:8192 from 5.3 on) caches small objects alone; fewer threads need fewer caches"},
     find_thread_caches},
};

const AdviceRule *
advice_rule(guint index)
{
    return index < G_N_ELEMENTS(rules) ? &rules[index].rule : NULL;
}

static void
advice_free(gpointer data)
{
    Advice *advice = data;
    g_free(advice->evidence);
    g_free(advice);
}

GPtrArray *
advice_find(const StatsSample *now, const StatsSample *earlier)
{
    const Facts facts = {now, earlier, stats_sample_find(now, STATS_ARENA_MERGED)};
    GPtrArray *found = g_ptr_array_new_with_free_func(advice_free);
    for (gsize i = 0; i < G_N_ELEMENTS(rules); i++) {
        char *evidence = rules[i].find(&facts);
        if (evidence == NULL)
            continue;
        Advice *advice = g_new(Advice, 1);
        *advice = (Advice){&rules[i].rule, evidence};
        g_ptr_array_add(found, advice);
    }
    return found;
}
