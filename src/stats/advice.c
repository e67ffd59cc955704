/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/advice.h"

#include "stats/readable.h"
#include "stats/summary.h"
#include "stats/waste.h"

enum {
    MIB = 1 << 20,
    NOTABLE = 16 * MIB, /* smaller amounts are not worth a change */
};

/* The input of the rules, and the bytes that the remedy of the current finding would free. */
typedef struct {
    const StatsSample *now;
    const StatsSample *earlier; /* or NULL */
    const StatsArena *merged;   /* or NULL */
    StatsWaste waste, before;   /* of NOW and EARLIER; before is zero without EARLIER */
    uint64_t resident, active;  /* 0: absent */
    uint64_t bytes;
} Facts;

static gboolean
get(const StatsSample *sample, StatsMetric metric, uint64_t *value)
{
    return sample != NULL && stats_values_get(sample->totals, metric, value);
}

static char *
size(uint64_t bytes)
{
    GString *text = g_string_new(NULL);
    readable_append_size(text, (double)bytes, 0);
    return g_string_free(text, FALSE);
}

static double
percent(uint64_t part, uint64_t whole)
{
    return whole > 0 ? 100.0 * (double)part / (double)whole : 0;
}

/* Whether BYTES are worth a change: at least 1/SHARE of WHOLE (0: unknown). */
static gboolean
is_notable(uint64_t bytes, uint64_t whole, guint share)
{
    return whole > 0 && bytes >= NOTABLE && bytes >= whole / share;
}

/* The rules return the evidence, or NULL if there is no finding. */

static char *
find_other_heap(Facts *facts)
{
    get(facts->now, STATS_OUTSIDE, &facts->bytes);
    return stats_outside_notice(facts->now->totals);
}

/* Compares with the earlier sample, since pages that are being returned decrease. */
static char *
find_dirty(Facts *facts)
{
    const StatsWaste *waste = &facts->waste;
    uint64_t threads;
    gboolean two = facts->earlier != NULL && facts->earlier != facts->now;
    if (!is_notable(waste->unused, facts->resident, 5))
        return NULL;
    facts->bytes = waste->unused;
    g_autofree char *held = size(waste->unused);
    g_autofree char *all = size(facts->resident);
    if (waste->never >= NOTABLE) {
        g_autofree char *never = size(waste->never);
        return g_strdup_printf(
            "dirty_decay_ms is -1 in arena %u: %s of %s resident are dirty pages that are never returned",
            waste->never_arena, never, all);
    }
    if (!get(facts->now, STATS_BACKGROUND_THREADS, &threads) || threads != 0 ||
        (two && waste->unused < facts->before.unused - facts->before.unused / 10))
        return NULL;
    return g_strdup_printf(
        "%s of %s resident are unused pages, and no background thread runs%s", held, all,
        two ? "; they have not fallen since the first sample"
            : "; one sample cannot tell whether they are being returned: look again after the decay time");
}

/* Finds a size class that is mostly unused, independent of how much a remedy would free. */
static char *
find_empty_class(Facts *facts)
{
    uint64_t worst = 0, worst_live = 0;
    const StatsValues *found = NULL;
    const StatsTable *bins = facts->merged != NULL ? facts->merged->bins : NULL;
    for (guint i = 0; bins != NULL && i < bins->count; i++) {
        const StatsValues *bin = stats_table_row(bins, i);
        uint64_t live, wasted;
        if (!summary_bin_waste(bin, &live, &wasted) || wasted <= facts->active / 20 || wasted <= worst ||
            wasted < MIB || live * 10 >= (live + wasted) * 4)
            continue;
        worst = wasted;
        worst_live = live;
        found = bin;
    }
    if (found == NULL || facts->active == 0)
        return NULL;
    facts->bytes = facts->waste.slabs;
    g_autofree char *text = size(worst);
    return g_strdup_printf("size class %" G_GUINT64_FORMAT " is %.0f%% full: %s free, %.1f%% of active",
                           stats_values_or(found, STATS_BIN_SIZE, 0), percent(worst_live, worst_live + worst), text,
                           percent(worst, facts->active));
}

static char *
find_fragmentation(Facts *facts)
{
    const StatsWaste *waste = &facts->waste;
    if (!is_notable(waste->slabs, facts->active, 5))
        return find_empty_class(facts);
    facts->bytes = waste->slabs;
    g_autofree char *all = size(waste->slabs);
    g_autofree char *class = size(waste->class_slabs);
    return g_strdup_printf("%s, %.1f%% of active, are slabs that the live regions would not need if they were packed; "
                           "%s of them in size class %" G_GUINT64_FORMAT,
                           all, percent(waste->slabs, facts->active), class, waste->class_size);
}

static char *
find_many_arenas(Facts *facts)
{
    const StatsWaste *waste = &facts->waste;
    uint64_t bytes = waste->spread + waste->arena_data;
    if (!is_notable(bytes, facts->resident, 5))
        return NULL;
    facts->bytes = bytes;
    g_autofree char *spread = size(waste->spread);
    g_autofree char *data = size(waste->arena_data);
    return g_strdup_printf(
        "%u arenas for %" G_GUINT64_FORMAT
        " threads: one arena would need %s less for the same live regions, and %s less for its own data",
        waste->arenas, waste->threads, spread, data);
}

static char *
find_retained(Facts *facts)
{
    uint64_t now, before = 0, allocated_now, allocated_before;
    if (!get(facts->now, STATS_RETAINED, &now))
        return NULL;
    g_autofree char *to = size(now);
    if (get(facts->earlier, STATS_RETAINED, &before) && get(facts->now, STATS_ALLOCATED, &allocated_now) &&
        get(facts->earlier, STATS_ALLOCATED, &allocated_before) && now >= before + NOTABLE &&
        now - before >= before / 2 && allocated_now <= allocated_before + (now - before) / 4) {
        g_autofree char *from = size(before);
        return g_strdup_printf("retained grew from %s to %s while allocated did not", from, to);
    }
    if (facts->resident == 0 || now < 256 * (uint64_t)MIB || now < 2 * facts->resident)
        return NULL;
    g_autofree char *resident = size(facts->resident);
    return g_strdup_printf("%s of address space are retained beside %s resident", to, resident);
}

static char *
find_metadata(Facts *facts)
{
    const StatsWaste *waste = &facts->waste;
    if (!is_notable(waste->metadata, facts->resident, 10))
        return NULL;
    facts->bytes = waste->metadata;
    g_autofree char *text = size(waste->metadata);
    g_autofree char *internal = size(waste->internal);
    g_autofree char *data = size(waste->arena_data);
    return g_strdup_printf("%s are jemalloc's own data, %.0f%% of resident; %s of them are its allocations from arenas "
                           "(thread caches, the profiler), %s the data of %u arenas",
                           text, percent(waste->metadata, facts->resident), internal, data, waste->arenas);
}

static char *
find_thread_caches(Facts *facts)
{
    const StatsWaste *waste = &facts->waste;
    if (!is_notable(waste->cached, facts->resident, 5))
        return NULL;
    facts->bytes = waste->cached;
    g_autofree char *text = size(waste->cached);
    return g_strdup_printf("%s are in the caches of %" G_GUINT64_FORMAT " threads, %.0f%% of resident", text,
                           waste->threads, percent(waste->cached, facts->resident));
}

static const struct {
    CauseId cause;
    char *(*find)(Facts *facts);
} rules[] = {
    {CAUSE_OTHER_ALLOCATOR, find_other_heap},  {CAUSE_DIRTY, find_dirty},
    {CAUSE_FRAGMENTATION, find_fragmentation}, {CAUSE_ARENAS, find_many_arenas},
    {CAUSE_RETAINED, find_retained},           {CAUSE_METADATA, find_metadata},
    {CAUSE_THREAD_CACHES, find_thread_caches},
};

gboolean
advice_covers(CauseId cause)
{
    for (gsize i = 0; i < G_N_ELEMENTS(rules); i++)
        if (rules[i].cause == cause)
            return TRUE;
    return FALSE;
}

static void
advice_free(gpointer data)
{
    Advice *advice = data;
    g_free(advice->evidence);
    g_free(advice);
}

/* The largest first; findings without bytes last, in the order of the causes. */
static gint
by_bytes(gconstpointer one, gconstpointer other)
{
    const Advice *a = *(const Advice *const *)one;
    const Advice *b = *(const Advice *const *)other;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return (a->cause > b->cause) - (a->cause < b->cause);
}

GPtrArray *
advice_find(const StatsSample *now, const StatsSample *earlier)
{
    Facts facts = {.now = now, .earlier = earlier, .merged = stats_sample_find(now, STATS_ARENA_MERGED)};
    GPtrArray *found = g_ptr_array_new_with_free_func(advice_free);
    stats_waste(now, &facts.waste);
    if (earlier != NULL)
        stats_waste(earlier, &facts.before);
    get(now, STATS_RESIDENT, &facts.resident);
    get(now, STATS_ACTIVE, &facts.active);
    for (gsize i = 0; i < G_N_ELEMENTS(rules); i++) {
        facts.bytes = 0;
        char *evidence = rules[i].find(&facts);
        if (evidence == NULL)
            continue;
        Advice *advice = g_new(Advice, 1);
        const char *change = rules[i].cause == CAUSE_METADATA ? stats_waste_metadata_remedy(&facts.waste) : NULL;
        *advice =
            (Advice){rules[i].cause, evidence, facts.bytes, change != NULL ? change : causes[rules[i].cause].advice};
        g_ptr_array_add(found, advice);
    }
    g_ptr_array_sort(found, by_bytes);
    return found;
}
