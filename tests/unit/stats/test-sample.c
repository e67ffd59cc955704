/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/intern.h"
#include "stats/stats.h"

#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void
test_scopes(void)
{
    for (guint i = 0; i < STATS_METRIC_COUNT; i++) {
        StatsScope scope = stats_metrics[i].scope;
        g_assert_cmpuint(i, >=, stats_scope_first(scope));
        g_assert_cmpuint(i, <, stats_scope_first(scope) + stats_scope_count(scope));
        g_assert_cmpuint(stats_scope_count(scope), <=, 64);
    }
}

static void
test_names(void)
{
    for (guint i = 0; i < STATS_METRIC_COUNT; i++) {
        StatsMetric metric;
        g_assert_true(stats_metric_by_name(stats_metrics[i].name, &metric));
        g_assert_cmpuint(metric, ==, i);
    }
    StatsMetric untouched = STATS_ACTIVE;
    g_assert_false(stats_metric_by_name("no.such", &untouched));
    g_assert_cmpuint(untouched, ==, STATS_ACTIVE);
}

static void
test_absent(void)
{
    g_autofree StatsValues *values = stats_values_new(STATS_SCOPE_TOTALS);
    uint64_t value = 7;
    g_assert_false(stats_values_get(values, STATS_ACTIVE, &value));
    g_assert_cmpuint(value, ==, 7);
    stats_values_set(values, STATS_ACTIVE, 0);
    g_assert_true(stats_values_get(values, STATS_ACTIVE, &value));
    g_assert_cmpuint(value, ==, 0);
    g_assert_cmpuint(stats_values_or(values, STATS_MAPPED, 9), ==, 9);
}

static void
test_arenas(void)
{
    g_autoptr(StatsSample) sample = stats_sample_new(STATS_SOURCE_LIVE);
    const guint order[] = {7, STATS_ARENA_DESTROYED, 0, STATS_ARENA_MERGED, 3};
    for (gsize i = 0; i < G_N_ELEMENTS(order); i++)
        stats_sample_arena(sample, order[i]);
    g_assert_true(stats_sample_arena(sample, 3) == stats_sample_find(sample, 3));
    g_assert_null(stats_sample_find(sample, 1));
    g_assert_cmpuint(sample->arenas->len, ==, 5);
    g_assert_cmpuint(stats_sample_arena_count(sample), ==, 3);
    for (guint i = 1; i < sample->arenas->len; i++)
        g_assert_cmpuint(((StatsArena *)sample->arenas->pdata[i - 1])->index, <,
                         ((StatsArena *)sample->arenas->pdata[i])->index);
}

static void
test_derive(void)
{
    g_autoptr(StatsSample) sample = stats_sample_new(STATS_SOURCE_LIVE);
    StatsArena *arena = stats_sample_arena(sample, 0);
    stats_values_set(sample->totals, STATS_PAGE, 4096);
    stats_values_set(arena->values, STATS_ARENA_PACTIVE, 3);
    stats_values_set(arena->values, STATS_ARENA_SMALL_ALLOCATED, 10);
    stats_values_set(arena->values, STATS_ARENA_LARGE_ALLOCATED, 20);
    arena->bins = stats_table_new(STATS_SCOPE_BIN);
    StatsValues *bin = stats_table_add(arena->bins, NULL);
    stats_values_set(bin, STATS_BIN_SIZE, 48);
    stats_values_set(bin, STATS_BIN_CURREGS, 5);
    stats_sample_derive(sample, STATS_DERIVE_MERGED);
    const StatsArena *merged = stats_sample_find(sample, STATS_ARENA_MERGED);
    g_assert_nonnull(merged);
    g_assert_cmpuint(stats_values_or(merged->values, STATS_ARENA_ACTIVE, 0), ==, 12288);
    g_assert_cmpuint(stats_values_or(merged->values, STATS_ARENA_ALLOCATED, 0), ==, 30);
    g_assert_cmpuint(stats_values_or(stats_table_row(merged->bins, 0), STATS_BIN_ALLOCATED, 0), ==, 240);
    uint64_t value;
    g_assert_false(stats_values_get(merged->values, STATS_ARENA_RESIDENT, &value));
}

#define MIB (UINT64_C(1) << 20)

typedef struct {
    StatsMetric metric;
    uint64_t value;
} Given;

/* The value of held for these values, up to one with the value 0. */
static StatsSample *
held_sample(const char *version, const Given *given)
{
    StatsSample *sample = stats_sample_new(STATS_SOURCE_LIVE);
    StatsArena *merged = stats_sample_arena(sample, STATS_ARENA_MERGED);
    sample->version = version != NULL ? stats_intern(version, strlen(version)) : NULL;
    stats_values_set(sample->totals, STATS_PAGE, 4096);
    for (; given->value != 0; given++)
        stats_values_set(stats_metrics[given->metric].scope == STATS_SCOPE_TOTALS ? sample->totals : merged->values,
                         given->metric, given->value);
    stats_sample_derive(sample, STATS_DERIVE_PLAIN);
    return sample;
}

static void
test_held(void)
{
    const struct {
        const char *version;
        Given given[8];
        uint64_t sampling;
        uint64_t held;
    } cases[] = {
        /* nothing to take off */
        {"5.3.0", {{STATS_ALLOCATED, 100 * MIB}}, 0, 100 * MIB},
        /* thread caches, stashed ones and jemalloc's own */
        {"5.3.0",
         {{STATS_ALLOCATED, 100 * MIB},
          {STATS_ARENA_TCACHE, 60 * MIB},
          {STATS_ARENA_TCACHE_STASHED, MIB},
          {STATS_ARENA_INTERNAL, 9 * MIB}},
         0,
         30 * MIB},
        /* 4.x calls jemalloc's own otherwise */
        {"4.5.0", {{STATS_ALLOCATED, 100 * MIB}, {STATS_ARENA_METADATA_ALLOCATED, 9 * MIB}}, 0, 91 * MIB},
        /* never below nothing: the counters are of slightly different moments */
        {"5.3.0", {{STATS_ALLOCATED, MIB}, {STATS_ARENA_TCACHE, 2 * MIB}}, 0, 0},
        /* 160 samples, fewer than a heap sampled from the start would have */
        {"5.3.0",
         {{STATS_ALLOCATED, 100 * MIB},
          {STATS_ARENA_SMALL_ALLOCATED, 90 * MIB},
          {STATS_ARENA_LARGE_SMALLEST, 160},
          {STATS_SAMPLING_LG_PERIOD, 19}},
         160 * 16384,
         100 * MIB - 160 * 16384},
        /* most extents of that class are the program's own */
        {"5.3.0",
         {{STATS_ALLOCATED, 200 * MIB},
          {STATS_ARENA_SMALL_ALLOCATED, 90 * MIB},
          {STATS_ARENA_LARGE_SMALLEST, 6400},
          {STATS_SAMPLING_LG_PERIOD, 19}},
         180 * 16384,
         200 * MIB - 180 * 16384},
        /* 3.x puts them into one page */
        {"3.6.0",
         {{STATS_ALLOCATED, 100 * MIB},
          {STATS_ARENA_SMALL_ALLOCATED, 90 * MIB},
          {STATS_ARENA_LARGE_SMALLEST, 160},
          {STATS_SAMPLING_LG_PERIOD, 19}},
         160 * 4096,
         100 * MIB - 160 * 4096},
        /* without a period profiling is not possible, and such extents are the program's */
        {"5.3.0",
         {{STATS_ALLOCATED, 100 * MIB}, {STATS_ARENA_SMALL_ALLOCATED, 90 * MIB}, {STATS_ARENA_LARGE_SMALLEST, 160}},
         0,
         100 * MIB},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(StatsSample) sample = held_sample(cases[i].version, cases[i].given);
        g_assert_cmpuint(stats_values_or(sample->totals, STATS_SAMPLING_OVERHEAD, 0), ==, cases[i].sampling);
        g_assert_cmpuint(stats_values_or(sample->totals, STATS_HELD, 1), ==, cases[i].held);
    }
}

static void
test_outside(void)
{
    g_autofree StatsValues *totals = stats_values_new(STATS_SCOPE_TOTALS);
    stats_values_set(totals, STATS_RESIDENT, 3 * MIB);
    stats_derive_outside(totals, 0, 0);
    g_assert_null(stats_outside_notice(totals));
    stats_values_set(totals, STATS_ANONYMOUS, 26 * MIB);
    stats_derive_outside(totals, MIB, 0);
    g_assert_cmpuint(stats_values_or(totals, STATS_OUTSIDE, 0), ==, 22 * MIB);
    g_autofree char *notice = stats_outside_notice(totals);
    g_assert_nonnull(strstr(notice, "does not serve the main heap"));
    g_assert_nonnull(strstr(notice, "22.0 MiB"));
    /* huge pages in what jemalloc retains */
    stats_values_set(totals, STATS_RETAINED, 20 * MIB);
    stats_derive_outside(totals, MIB, 40 * MIB);
    g_assert_cmpuint(stats_values_or(totals, STATS_OUTSIDE, 0), ==, 2 * MIB);
    g_assert_null(stats_outside_notice(totals));
    /* much, but less than jemalloc's */
    stats_values_set(totals, STATS_RESIDENT, 300 * MIB);
    stats_values_set(totals, STATS_ANONYMOUS, 550 * MIB);
    stats_derive_outside(totals, 0, 0);
    g_assert_null(stats_outside_notice(totals));
}

static void
test_mutexes(void)
{
    g_autoptr(StatsTable) table = stats_table_new(STATS_SCOPE_MUTEX);
    for (guint i = 0; i < 40; i++) {
        g_autofree char *name = g_strdup_printf("mutex%u", i);
        stats_values_set(stats_table_add(table, name), STATS_MUTEX_OPS, i);
    }
    g_assert_cmpuint(stats_values_or(stats_table_find(table, "mutex31"), STATS_MUTEX_OPS, 0), ==, 31);
    g_assert_null(stats_table_find(table, "mutex40"));
}

/* Names of arenas that collide in a table whose hash is known: "Ez" and "FY" have the same one by g_str_hash(). However
 * many there were, one more has a place. */
static void
test_many_names(void)
{
    enum { BITS = 16, LONGEST_S = 20 };
    const clock_t begun = clock();
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func((GDestroyNotify)stats_intern_unref);

    for (guint i = 0; i < 1U << BITS; i++) {
        char name[2 * BITS + 1] = "";
        for (guint bit = 0; bit < BITS; bit++)
            g_strlcat(name, i >> bit & 1 ? "Ez" : "FY", sizeof(name));
        g_ptr_array_add(names, (gpointer)(guintptr)stats_intern(name, strlen(name)));
    }
    g_ptr_array_add(names, (gpointer)(guintptr)stats_intern("alpha", 5));
    g_assert_cmpstr(names->pdata[names->len - 1], ==, "alpha");
    g_assert_cmpint(clock() - begun, <, LONGEST_S * CLOCKS_PER_SEC);
}

static gpointer
name_without_end(gpointer data)
{
    gint *over = data;
    while (!g_atomic_int_get(over))
        stats_intern_unref(stats_intern("a name", 6));
    return NULL;
}

/* A child begins while another thread of its parent is at the names. */
static void
test_names_in_a_child(void)
{
    enum { CHILDREN = 200, LONGEST_S = 30 };
    gint over = FALSE;
    GThread *thread = g_thread_new("names", name_without_end, &over);

    stats_intern_unref(stats_intern("first", 5));
    for (guint i = 0; i < CHILDREN; i++) {
        int status;
        const pid_t child = fork();
        if (child == 0) {
            alarm(LONGEST_S);
            stats_intern_unref(stats_intern("the child's", 11));
            _exit(0);
        }
        g_assert_cmpint(waitpid(child, &status, 0), ==, child);
        g_assert_cmpint(status, ==, 0);
    }
    g_atomic_int_set(&over, TRUE);
    g_thread_join(thread);
}

static void
test_shared_names(void)
{
    const char *one = stats_intern("narenas\n", 8);
    const char *same = stats_intern("narenas?, which ends here", 8);

    g_assert_true(one == same);
    stats_intern_unref(one);
    g_assert_true(stats_intern_ref(same) == same);
    stats_intern_unref(same);
    g_assert_cmpstr(same, ==, "narenas?");
    stats_intern_replace(&same, "base", 4);
    g_assert_cmpstr(same, ==, "base");
    stats_intern_unref(same);
    g_assert_null(stats_intern_ref(NULL));
    stats_intern_unref(NULL);
    g_autofree char *longest = g_strnfill(513, 'x');
    one = stats_intern(longest, 512);
    g_assert_cmpuint(strlen(one), ==, 512);
    stats_intern_unref(one);
    g_assert_null(stats_intern(longest, 513));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/stats/sample/scopes", test_scopes);
    g_test_add_func("/stats/sample/names", test_names);
    g_test_add_func("/stats/sample/absent", test_absent);
    g_test_add_func("/stats/sample/arenas", test_arenas);
    g_test_add_func("/stats/sample/derive", test_derive);
    g_test_add_func("/stats/sample/held", test_held);
    g_test_add_func("/stats/sample/outside", test_outside);
    g_test_add_func("/stats/sample/mutexes", test_mutexes);
    g_test_add_func("/stats/sample/many-names", test_many_names);
    g_test_add_func("/stats/sample/names-in-a-child", test_names_in_a_child);
    g_test_add_func("/stats/sample/shared-names", test_shared_names);
    return g_test_run();
}
