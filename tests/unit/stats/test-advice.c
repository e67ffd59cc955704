/* SPDX-License-Identifier: Apache-2.0 */
/* Every rule just below and just at its threshold, on samples made for it. */
#include "stats/advice.h"

#include <string.h>
#include <time.h>

#define MIB (UINT64_C(1) << 20)

/* A value of the sample or of its merged arena. */
typedef struct {
    StatsMetric metric;
    uint64_t value;
} Given;

typedef struct {
    CauseId cause;
    Given given[6];
    guint n;
    Given changed; /* with this value instead, the rule is silent */
} Case;

static const Case cases[] = {
    {CAUSE_DIRTY,
     {{STATS_RESIDENT, 100 * MIB},
      {STATS_BACKGROUND_THREADS, 0},
      {STATS_PAGE, 4096},
      {STATS_ARENA_PDIRTY, 20 * MIB / 4096}},
     4,
     {STATS_ARENA_PDIRTY, 20 * MIB / 4096 - 1}},
    {CAUSE_DIRTY,
     {{STATS_RESIDENT, 100 * MIB},
      {STATS_BACKGROUND_THREADS, 0},
      {STATS_PAGE, 4096},
      {STATS_ARENA_PMUZZY, 30 * MIB / 4096}},
     4,
     {STATS_BACKGROUND_THREADS, 1}},
    {CAUSE_METADATA, {{STATS_METADATA, 20 * MIB}, {STATS_RESIDENT, 200 * MIB}}, 2, {STATS_RESIDENT, 201 * MIB}},
    {CAUSE_METADATA, {{STATS_METADATA, 16 * MIB}, {STATS_RESIDENT, 20 * MIB}}, 2, {STATS_METADATA, 16 * MIB - 1}},
    {CAUSE_THREAD_CACHES,
     {{STATS_ARENA_TCACHE, 20 * MIB}, {STATS_RESIDENT, 100 * MIB}},
     2,
     {STATS_RESIDENT, 101 * MIB}},
    {CAUSE_OTHER_ALLOCATOR, {{STATS_RESIDENT, 8 * MIB}, {STATS_OUTSIDE, 8 * MIB + 1}}, 2, {STATS_RESIDENT, 9 * MIB}},
    {CAUSE_OTHER_ALLOCATOR, {{STATS_RESIDENT, MIB}, {STATS_OUTSIDE, 8 * MIB}}, 2, {STATS_OUTSIDE, 8 * MIB - 1}},
    {CAUSE_RETAINED, {{STATS_RESIDENT, 20 * MIB}, {STATS_RETAINED, 256 * MIB}}, 2, {STATS_RETAINED, 255 * MIB}},
    {CAUSE_RETAINED, {{STATS_RESIDENT, 150 * MIB}, {STATS_RETAINED, 300 * MIB}}, 2, {STATS_RESIDENT, 151 * MIB}},
};

static void
set(StatsSample *sample, Given given)
{
    gboolean total = stats_metrics[given.metric].scope == STATS_SCOPE_TOTALS;
    stats_values_set(total ? sample->totals : stats_sample_arena(sample, STATS_ARENA_MERGED)->values, given.metric,
                     given.value);
}

static const char *
evidence_of(const GPtrArray *found, CauseId cause)
{
    for (guint i = 0; i < found->len; i++) {
        const Advice *advice = found->pdata[i];
        if (advice->cause == cause)
            return advice->evidence;
    }
    return NULL;
}

static gboolean
is_found(const StatsSample *sample, const StatsSample *earlier, CauseId cause)
{
    g_autoptr(GPtrArray) found = advice_find(sample, earlier);
    if (earlier != NULL) {
        g_autoptr(StatsSample) summary = stats_sample_summary(earlier);
        g_autoptr(GPtrArray) same = advice_find(sample, summary);
        g_assert_cmpstr(evidence_of(same, cause), ==, evidence_of(found, cause));
    }
    return evidence_of(found, cause) != NULL;
}

static void
test_thresholds(void)
{
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(StatsSample) sample = stats_sample_new(STATS_SOURCE_LIVE);
        g_test_message("%s", causes[cases[i].cause].name);
        for (guint j = 0; j < cases[i].n; j++) {
            g_assert_false(is_found(sample, NULL, cases[i].cause)); /* a rule without its values is silent */
            set(sample, cases[i].given[j]);
        }
        g_assert_true(is_found(sample, NULL, cases[i].cause));
        set(sample, cases[i].changed);
        g_assert_false(is_found(sample, NULL, cases[i].cause));
    }
}

/* 64 regions of 1 KiB in a slab of 64 KiB. */
static void
add_class(StatsArena *arena, uint64_t slabs, uint64_t live)
{
    arena->bins = arena->bins != NULL ? arena->bins : stats_table_new(STATS_SCOPE_BIN);
    StatsValues *bin = stats_table_add(arena->bins, NULL);
    stats_values_set(bin, STATS_BIN_SIZE, 1024);
    stats_values_set(bin, STATS_BIN_NREGS, 64);
    stats_values_set(bin, STATS_BIN_SLAB_SIZE, 65536);
    stats_values_set(bin, STATS_BIN_CURSLABS, slabs);
    stats_values_set(bin, STATS_BIN_CURREGS, live);
}

/* F6: a slab with one page, or one that a region keeps, cannot be returned: what packing would give back counts. */
static void
test_fragmentation(void)
{
    g_autoptr(StatsSample) sample = stats_sample_new(STATS_SOURCE_LIVE);
    add_class(stats_sample_arena(sample, STATS_ARENA_MERGED), 400, 64 * 144);
    set(sample, (Given){STATS_ACTIVE, 80 * MIB});
    g_autoptr(GPtrArray) found = advice_find(sample, NULL);
    g_assert_cmpuint(found->len, ==, 1);
    g_assert_cmpint(((const Advice *)found->pdata[0])->cause, ==, CAUSE_FRAGMENTATION);
    g_assert_cmpuint(((const Advice *)found->pdata[0])->bytes, ==, 16 * MIB);
    g_assert_nonnull(strstr(evidence_of(found, CAUSE_FRAGMENTATION), "size class 1024"));
    stats_values_set(stats_table_row(stats_sample_find(sample, STATS_ARENA_MERGED)->bins, 0), STATS_BIN_CURREGS,
                     64 * 200);
    g_assert_false(is_found(sample, NULL, CAUSE_FRAGMENTATION));
}

/* A class that is nearly empty in a small program. */
static void
test_empty_class(void)
{
    g_autoptr(StatsSample) sample = stats_sample_new(STATS_SOURCE_LIVE);
    add_class(stats_sample_arena(sample, STATS_ARENA_MERGED), 100, 2559);
    set(sample, (Given){STATS_ACTIVE, 70 * MIB});
    g_assert_true(is_found(sample, NULL, CAUSE_FRAGMENTATION));
    stats_values_set(stats_table_row(stats_sample_find(sample, STATS_ARENA_MERGED)->bins, 0), STATS_BIN_CURREGS, 2560);
    g_assert_false(is_found(sample, NULL, CAUSE_FRAGMENTATION));
}

/* F6: fewer arenas are offered only for what they would give back: full slabs of many arenas give nothing. */
static void
test_arenas(void)
{
    enum { ARENAS = 40 };
    g_autoptr(StatsSample) spread = stats_sample_new(STATS_SOURCE_LIVE);
    g_autoptr(StatsSample) full = stats_sample_new(STATS_SOURCE_LIVE);
    set(spread, (Given){STATS_RESIDENT, 60 * MIB});
    set(full, (Given){STATS_RESIDENT, 60 * MIB});
    for (guint i = 0; i < ARENAS; i++) {
        for (guint j = 0; j < 8; j++)
            add_class(stats_sample_arena(spread, i), 1, 4);
        add_class(stats_sample_arena(full, i), 10, 640);
    }
    g_autoptr(GPtrArray) found = advice_find(spread, NULL);
    g_assert_nonnull(evidence_of(found, CAUSE_ARENAS));
    /* 320 slabs hold 1280 regions, for which 20 would do. */
    g_assert_cmpuint(((const Advice *)found->pdata[0])->bytes, ==, (uint64_t)300 * 65536);
    g_assert_false(is_found(spread, NULL, CAUSE_FRAGMENTATION));
    g_assert_false(is_found(full, NULL, CAUSE_ARENAS));
}

static void
set_decay(StatsSample *sample, int64_t decay)
{
    StatsArena *arena = stats_sample_arena(sample, 3);
    stats_values_set(arena->values, STATS_ARENA_DIRTY_DECAY, (uint64_t)decay);
    stats_values_set(arena->values, STATS_ARENA_PDIRTY, 20 * MIB / 4096);
}

/* F10: pages that are never returned would not be by background threads either. */
static void
test_pages_that_do_not_decay(void)
{
    g_autoptr(StatsSample) sample = stats_sample_new(STATS_SOURCE_LIVE);
    for (guint i = 0; i < cases[0].n; i++)
        set(sample, cases[0].given[i]);
    set_decay(sample, 10000);
    g_autoptr(GPtrArray) decaying = advice_find(sample, NULL);
    g_assert_nonnull(strstr(evidence_of(decaying, CAUSE_DIRTY), "look again after the decay time"));
    set_decay(sample, -1);
    set(sample, (Given){STATS_BACKGROUND_THREADS, 1});
    g_autoptr(GPtrArray) found = advice_find(sample, NULL);
    g_assert_nonnull(strstr(evidence_of(found, CAUSE_DIRTY), "dirty_decay_ms is -1 in arena 3"));
}

/* F18: a swing that decays is not memory that stays. */
static void
test_pages_that_are_being_returned(void)
{
    g_autoptr(StatsSample) before = stats_sample_new(STATS_SOURCE_LIVE);
    g_autoptr(StatsSample) now = stats_sample_new(STATS_SOURCE_LIVE);
    for (guint i = 0; i < cases[0].n; i++) {
        set(before, cases[0].given[i]);
        set(now, cases[0].given[i]);
    }
    g_assert_true(is_found(now, before, CAUSE_DIRTY));
    set(before, (Given){STATS_ARENA_PDIRTY, 40 * MIB / 4096});
    g_assert_false(is_found(now, before, CAUSE_DIRTY));
}

/* F7: the remedy is for what most of the metadata is: arenas, thread caches, the profiler; else all are named. */
static void
test_metadata(void)
{
    static const struct {
        guint arenas;
        uint64_t threads, internal; /* MiB of it */
        gboolean profiler;
        const char *change;
    } metadata[] = {
        {200, 4, 2, TRUE, "fewer arenas"},
        {2, 1000, 30, TRUE, "fewer threads"},
        {2, 4, 30, FALSE, "fewer threads"},
        {2, 4, 30, TRUE, "a longer sampling period"},
        {2, 4, 2, TRUE, "depending on its largest part"},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(metadata); i++) {
        g_autoptr(StatsSample) sample = stats_sample_new(STATS_SOURCE_LIVE);
        for (guint j = 0; j < metadata[i].arenas; j++)
            stats_values_set(stats_sample_arena(sample, j)->values, STATS_ARENA_BASE, 150 << 10);
        if (metadata[i].profiler)
            set(sample, (Given){STATS_SAMPLING_LG_PERIOD, 19});
        set(sample, (Given){STATS_METADATA, 40 * MIB});
        set(sample, (Given){STATS_RESIDENT, 200 * MIB});
        set(sample, (Given){STATS_ARENA_INTERNAL, metadata[i].internal * MIB});
        set(sample, (Given){STATS_ARENA_THREADS, metadata[i].threads});
        g_autoptr(GPtrArray) found = advice_find(sample, NULL);
        g_assert_cmpuint(found->len, ==, 1);
        const Advice *advice = found->pdata[0];
        g_assert_cmpint(advice->cause, ==, CAUSE_METADATA);
        g_test_message("%s", advice->change);
        g_assert_true(g_str_has_prefix(advice->change, metadata[i].change));
    }
}

static void
test_order(void)
{
    g_autoptr(StatsSample) sample = stats_sample_new(STATS_SOURCE_LIVE);
    const Given given[] = {{STATS_RESIDENT, 200 * MIB},
                           {STATS_METADATA, 30 * MIB},
                           {STATS_ARENA_TCACHE, 40 * MIB},
                           {STATS_RETAINED, 500 * MIB}};
    const CauseId expected[] = {CAUSE_THREAD_CACHES, CAUSE_METADATA, CAUSE_RETAINED};
    for (gsize i = 0; i < G_N_ELEMENTS(given); i++)
        set(sample, given[i]);
    g_autoptr(GPtrArray) found = advice_find(sample, NULL);
    g_assert_cmpuint(found->len, ==, G_N_ELEMENTS(expected));
    for (guint i = 0; i < found->len; i++)
        g_assert_cmpint(((const Advice *)found->pdata[i])->cause, ==, expected[i]);
}

/* F19: beside a leak, address space grows as well, which is not the matter. */
static void
test_growth(void)
{
    g_autoptr(StatsSample) before = stats_sample_new(STATS_SOURCE_LIVE);
    g_autoptr(StatsSample) now = stats_sample_new(STATS_SOURCE_LIVE);
    set(before, (Given){STATS_RETAINED, 40 * MIB});
    set(before, (Given){STATS_ALLOCATED, 100 * MIB});
    set(now, (Given){STATS_RETAINED, 60 * MIB});
    set(now, (Given){STATS_ALLOCATED, 105 * MIB});
    g_assert_true(is_found(now, before, CAUSE_RETAINED));
    g_assert_false(is_found(now, NULL, CAUSE_RETAINED));
    g_assert_false(is_found(now, now, CAUSE_RETAINED));
    set(now, (Given){STATS_ALLOCATED, 106 * MIB});
    g_assert_false(is_found(now, before, CAUSE_RETAINED));
}

/* What a server keeps of a process does not grow with the arenas that it says it has. */
static void
test_summary(void)
{
    g_autoptr(StatsSample) sample = stats_sample_new(STATS_SOURCE_LIVE);
    for (guint i = 0; i < 1000; i++)
        add_class(stats_sample_arena(sample, i), 400, 64 * 144);
    add_class(stats_sample_arena(sample, STATS_ARENA_MERGED), 400, 64 * 144);
    set(sample, (Given){STATS_ARENA_PDIRTY, 20});
    set(sample, (Given){STATS_RESIDENT, 8 * MIB});
    g_autoptr(StatsSample) summary = stats_sample_summary(sample);
    g_assert_cmpuint(summary->arenas->len, ==, 1);
    const StatsArena *merged = stats_sample_find(summary, STATS_ARENA_MERGED);
    g_assert_null(merged->bins);
    g_assert_cmpuint(stats_values_or(merged->values, STATS_ARENA_PDIRTY, 0), ==, 20);
    g_assert_cmpuint(stats_values_or(summary->totals, STATS_RESIDENT, 0), ==, 8 * MIB);
}

static void
test_all_rules_are_tested(void)
{
    for (guint i = 0; i < CAUSES; i++) {
        gboolean seen = i == CAUSE_FRAGMENTATION || i == CAUSE_ARENAS;
        for (gsize j = 0; j < G_N_ELEMENTS(cases); j++)
            seen |= cases[j].cause == i;
        g_assert_cmpint(seen, ==, advice_covers(i));
    }
}

/* Size classes that collide in a table whose hash is known. */
static void
test_many_classes(void)
{
    enum { ARENAS = 150, LONGEST_S = 20 };
    g_autoptr(StatsSample) sample = stats_sample_new(STATS_SOURCE_JSON);
    uint64_t size = 0;

    for (guint i = 0; i < ARENAS; i++) {
        StatsArena *arena = stats_sample_arena(sample, i);
        arena->bins = stats_table_new(STATS_SCOPE_BIN);
        for (guint j = 0; j < STATS_CLASSES_MAX; j++) {
            StatsValues *bin = stats_table_add(arena->bins, NULL);
            stats_values_set(bin, STATS_BIN_SIZE, (size += UINT64_C(1) << 32) | 8);
            stats_values_set(bin, STATS_BIN_NREGS, 8);
            stats_values_set(bin, STATS_BIN_CURSLABS, 1);
            stats_values_set(bin, STATS_BIN_CURREGS, 1);
        }
    }
    const clock_t begun = clock();
    g_autoptr(GPtrArray) found G_GNUC_UNUSED = advice_find(sample, NULL);
    g_assert_cmpint(clock() - begun, <, LONGEST_S * CLOCKS_PER_SEC);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/stats/advice/thresholds", test_thresholds);
    g_test_add_func("/stats/advice/never-returned", test_pages_that_do_not_decay);
    g_test_add_func("/stats/advice/being-returned", test_pages_that_are_being_returned);
    g_test_add_func("/stats/advice/metadata", test_metadata);
    g_test_add_func("/stats/advice/order", test_order);
    g_test_add_func("/stats/advice/fragmentation", test_fragmentation);
    g_test_add_func("/stats/advice/empty-class", test_empty_class);
    g_test_add_func("/stats/advice/arenas", test_arenas);
    g_test_add_func("/stats/advice/growth", test_growth);
    g_test_add_func("/stats/advice/summary", test_summary);
    g_test_add_func("/stats/advice/many-classes", test_many_classes);
    g_test_add_func("/stats/advice/all-rules-are-tested", test_all_rules_are_tested);
    return g_test_run();
}
