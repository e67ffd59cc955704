/* SPDX-License-Identifier: Apache-2.0 */
/* Every rule just below and just at its threshold, on samples made for it. */
#include "stats/advice.h"

#include <string.h>

#define MIB (UINT64_C(1) << 20)

/* A value of the sample or of its merged arena. */
typedef struct {
    StatsMetric metric;
    uint64_t value;
} Given;

typedef struct {
    const char *rule;
    Given given[6];
    guint n;
    Given changed; /* with this value instead, the rule is silent */
} Case;

static const Case cases[] = {
    {"idle-pages",
     {{STATS_ACTIVE, 60 * MIB},
      {STATS_RESIDENT, 100 * MIB},
      {STATS_BACKGROUND_THREADS, 0},
      {STATS_PAGE, 4096},
      {STATS_ARENA_PDIRTY, 20 * MIB / 4096}},
     5,
     {STATS_ARENA_PDIRTY, 20 * MIB / 4096 - 1}},
    {"idle-pages",
     {{STATS_ACTIVE, 60 * MIB},
      {STATS_RESIDENT, 100 * MIB},
      {STATS_BACKGROUND_THREADS, 0},
      {STATS_PAGE, 4096},
      {STATS_ARENA_PDIRTY, 10 * MIB / 4096},
      {STATS_ARENA_PMUZZY, 20 * MIB / 4096}},
     6,
     {STATS_BACKGROUND_THREADS, 1}},
    {"fragmentation", {{STATS_ALLOCATED, 69 * MIB}, {STATS_ACTIVE, 100 * MIB}}, 2, {STATS_ALLOCATED, 70 * MIB}},
    {"metadata", {{STATS_METADATA, 20 * MIB}, {STATS_RESIDENT, 200 * MIB}}, 2, {STATS_RESIDENT, 201 * MIB}},
    {"metadata", {{STATS_METADATA, 16 * MIB}, {STATS_RESIDENT, 20 * MIB}}, 2, {STATS_METADATA, 16 * MIB - 1}},
    {"thread-caches",
     {{STATS_ARENA_THREADS, 9}, {STATS_ARENA_TCACHE, 20 * MIB}, {STATS_ALLOCATED, 200 * MIB}},
     3,
     {STATS_ALLOCATED, 201 * MIB}},
    {"arenas-and-cores", {{STATS_NARENAS, 17}, {STATS_CPUS, 4}}, 2, {STATS_NARENAS, 16}},
};

static void
set(StatsSample *sample, Given given)
{
    gboolean total = stats_metrics[given.metric].scope == STATS_SCOPE_TOTALS;
    stats_values_set(total ? sample->totals : stats_sample_arena(sample, STATS_ARENA_MERGED)->values, given.metric,
                     given.value);
}

static const char *
evidence_of(const GPtrArray *found, const char *rule)
{
    for (guint i = 0; i < found->len; i++) {
        const Advice *advice = found->pdata[i];
        if (g_str_equal(advice->rule->id, rule))
            return advice->evidence;
    }
    return NULL;
}

static gboolean
is_found(const StatsSample *sample, const StatsSample *earlier, const char *rule)
{
    g_autoptr(GPtrArray) found = advice_find(sample, earlier);
    return evidence_of(found, rule) != NULL;
}

static void
test_thresholds(void)
{
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(StatsSample) sample = stats_sample_new(STATS_SOURCE_LIVE);
        g_test_message("%s", cases[i].rule);
        for (guint j = 0; j < cases[i].n; j++) {
            g_assert_false(is_found(sample, NULL, cases[i].rule)); /* a rule without its values is silent */
            set(sample, cases[i].given[j]);
        }
        g_assert_true(is_found(sample, NULL, cases[i].rule));
        set(sample, cases[i].changed);
        g_assert_false(is_found(sample, NULL, cases[i].rule));
    }
}

static StatsSample *
sample_with_class(uint64_t live)
{
    StatsSample *sample = stats_sample_new(STATS_SOURCE_LIVE);
    StatsArena *merged = stats_sample_arena(sample, STATS_ARENA_MERGED);
    merged->bins = stats_table_new(STATS_SCOPE_BIN);
    StatsValues *bin = stats_table_add(merged->bins, NULL);
    stats_values_set(bin, STATS_BIN_SIZE, 64);
    stats_values_set(bin, STATS_BIN_NREGS, 64);
    stats_values_set(bin, STATS_BIN_CURSLABS, 100);
    stats_values_set(bin, STATS_BIN_CURREGS, live);
    stats_values_set(sample->totals, STATS_ACTIVE, MIB);
    return sample;
}

static void
test_empty_class(void)
{
    g_autoptr(StatsSample) empty = sample_with_class(2559);
    g_autoptr(StatsSample) full = sample_with_class(2560);
    g_assert_true(is_found(empty, NULL, "empty-class"));
    g_assert_false(is_found(full, NULL, "empty-class"));
    stats_values_set(empty->totals, STATS_ACTIVE, 20 * (6400 - 2559) * 64);
    g_assert_false(is_found(empty, NULL, "empty-class"));
}

static void
test_arenas(void)
{
    g_autoptr(StatsSample) sample = stats_sample_new(STATS_SOURCE_LIVE);
    set(sample, (Given){STATS_ARENA_THREADS, 4});
    for (guint i = 0; i < 8; i++)
        stats_sample_arena(sample, i);
    g_assert_false(is_found(sample, NULL, "many-arenas"));
    stats_sample_arena(sample, 8);
    g_assert_true(is_found(sample, NULL, "many-arenas"));
    set(sample, (Given){STATS_PAGE, 4096});
    set(sample, (Given){STATS_ARENA_PDIRTY, 16 * MIB / 4096});
    StatsArena *arena = stats_sample_arena(sample, 3);
    stats_values_set(arena->values, STATS_ARENA_DIRTY_DECAY, 0);
    g_assert_false(is_found(sample, NULL, "no-decay"));
    stats_values_set(arena->values, STATS_ARENA_DIRTY_DECAY, (uint64_t)-1);
    g_assert_true(is_found(sample, NULL, "no-decay"));
}

static void
test_growth(void)
{
    g_autoptr(StatsSample) before = stats_sample_new(STATS_SOURCE_LIVE);
    g_autoptr(StatsSample) now = stats_sample_new(STATS_SOURCE_LIVE);
    set(before, (Given){STATS_RETAINED, 40 * MIB});
    set(before, (Given){STATS_ALLOCATED, 100 * MIB});
    set(now, (Given){STATS_RETAINED, 60 * MIB});
    set(now, (Given){STATS_ALLOCATED, 110 * MIB});
    g_assert_true(is_found(now, before, "retained-growth"));
    g_assert_false(is_found(now, NULL, "retained-growth"));
    g_assert_false(is_found(now, now, "retained-growth"));
    set(now, (Given){STATS_ALLOCATED, 111 * MIB});
    g_assert_false(is_found(now, before, "retained-growth"));
}

static void
test_all_rules_are_tested(void)
{
    static const char *const elsewhere[] = {"empty-class", "many-arenas", "no-decay", "retained-growth", NULL};
    for (guint i = 0; advice_rule(i) != NULL; i++) {
        gboolean seen = g_strv_contains(elsewhere, advice_rule(i)->id);
        for (gsize j = 0; j < G_N_ELEMENTS(cases); j++)
            seen |= g_str_equal(cases[j].rule, advice_rule(i)->id);
        g_assert_true(seen);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/stats/advice/thresholds", test_thresholds);
    g_test_add_func("/stats/advice/empty-class", test_empty_class);
    g_test_add_func("/stats/advice/arenas", test_arenas);
    g_test_add_func("/stats/advice/growth", test_growth);
    g_test_add_func("/stats/advice/all-rules-are-tested", test_all_rules_are_tested);
    return g_test_run();
}
