/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/ledger-write.h"

#include <string.h>

enum {
    MIB = 1 << 20,
};

static void
test_lines(void)
{
    g_autoptr(GHashTable) names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (guint i = 0; i < LEDGER_LINES; i++) {
        g_assert_false(g_hash_table_contains(names, ledger_lines[i].name));
        g_hash_table_insert(names, g_strdup(ledger_lines[i].name), NULL);
        g_assert_cmpuint(strlen(ledger_lines[i].title), <=, 34);
        g_assert_false(g_str_has_suffix(ledger_lines[i].meaning, "."));
        g_assert_true(i == 0 || ledger_lines[i].level >= ledger_lines[i - 1].level);
    }
    g_assert_cmpstr(ledger_level_name(ledger_lines[LEDGER_UNEXPLAINED].level), ==, "rss");
    g_assert_cmpstr(ledger_level_name(ledger_lines[LEDGER_CHILDREN].level), ==, "sharing");
}

/* Jemalloc's own lines and the rest are not among the largest; of equal ones the first comes first. */
static void
test_largest(void)
{
    Ledger ledger = {.rss = 500 * MIB};
    g_autoptr(GString) text = g_string_new(NULL);
    ledger.lines[LEDGER_LIVE].bytes = 300 * MIB;
    ledger.lines[LEDGER_UNEXPLAINED].bytes = 90 * MIB;
    ledger.lines[LEDGER_STACKS].bytes = 4 * MIB;
    ledger_append_largest(text, &ledger);
    g_assert_cmpstr(text->str, ==, "");
    ledger.lines[LEDGER_OTHER_ANONYMOUS].bytes = 8 * MIB;
    ledger.lines[LEDGER_TEXT].bytes = 8 * MIB;
    ledger_append_largest(text, &ledger);
    g_assert_cmpstr(text->str, ==, "8.0 MiB other anonymous mappings, 8.0 MiB program text");
    ledger.lines[LEDGER_STACKS].bytes = 9 * MIB;
    ledger.lines[LEDGER_SHARED_MEMORY].bytes = 7 * MIB;
    g_string_truncate(text, 0);
    ledger_append_largest(text, &ledger);
    g_assert_cmpstr(text->str, ==, "9.0 MiB stacks of threads, 8.0 MiB other anonymous mappings, 8.0 MiB program text");
}

/* 100 MiB allocated, of it 5 in thread caches and 3 internal; 110 active, 8 of the gap in holes of slabs; 10 dirty, 4
 * muzzy, 6 in blocks of jemalloc's own; 50 retained. */
static StatsSample *
make_sample(void)
{
    StatsSample *sample = stats_sample_new(STATS_SOURCE_LIVE);
    StatsArena *merged = stats_sample_arena(sample, STATS_ARENA_MERGED);
    stats_values_set(sample->totals, STATS_PAGE, 4096);
    stats_values_set(sample->totals, STATS_ALLOCATED, 100 * MIB);
    stats_values_set(sample->totals, STATS_ACTIVE, 110 * MIB);
    stats_values_set(sample->totals, STATS_RESIDENT, 126 * MIB);
    stats_values_set(sample->totals, STATS_MAPPED, 140 * MIB);
    stats_values_set(sample->totals, STATS_RETAINED, 50 * MIB);
    stats_values_set(merged->values, STATS_ARENA_TCACHE, 5 * MIB);
    stats_values_set(merged->values, STATS_ARENA_INTERNAL, 3 * MIB);
    stats_values_set(merged->values, STATS_ARENA_PDIRTY, 10 * MIB / 4096);
    stats_values_set(merged->values, STATS_ARENA_PMUZZY, 4 * MIB / 4096);
    merged->bins = stats_table_new(STATS_SCOPE_BIN);
    StatsValues *bin = stats_table_add(merged->bins, NULL);
    stats_values_set(bin, STATS_BIN_SIZE, 1024);
    stats_values_set(bin, STATS_BIN_NREGS, 4);
    stats_values_set(bin, STATS_BIN_CURSLABS, 16 * MIB / 4096);
    stats_values_set(bin, STATS_BIN_CURREGS, 8 * MIB / 1024);
    return sample;
}

/* Mappings with the flag of the size that the sample has; resident what it says less LESS, which may be negative. */
static Mappings
make_mappings(gint64 less)
{
    Mappings mappings = {0};
    MappingSum *own = &mappings.kinds[MAPPING_NORESERVE];
    own->size = 190 * MIB;
    own->rss = own->anonymous = own->pss = (guint64)(130 * MIB - less);
    own->lazy_free = 4 * MIB;
    for (MappingKind kind = MAPPING_ANONYMOUS; kind < MAPPING_KINDS; kind++)
        mappings.kinds[kind] = (MappingSum){.size = 9 * MIB, .rss = (guint64)kind * MIB, .pss = (guint64)kind * MIB};
    return mappings;
}

static gint64
sum_of(const Ledger *ledger, LedgerLevel level)
{
    gint64 sum = 0;
    for (guint i = 0; i < LEDGER_LINES; i++)
        if (ledger_lines[i].level == level) {
            const LedgerLine *line = &ledger->lines[i];
            sum += line->bytes;
            g_assert_true(line->known || line->bytes == 0);
            g_assert_cmpint(line->low, <=, line->bytes);
            g_assert_cmpint(line->bytes, <=, line->high);
        }
    return sum;
}

static gint64
mib(const Ledger *ledger, LedgerId id)
{
    g_assert_cmpint(ledger->lines[id].bytes % MIB, ==, 0);
    return ledger->lines[id].bytes / MIB;
}

static void
compute(const LedgerReadings *readings, Ledger *ledger)
{
    ledger_compute(readings, ledger);
    g_assert_cmpint(sum_of(ledger, LEDGER_LEVEL_RSS), ==, ledger->rss);
}

/* F4 with others: muzzy pages are a line of the resident set. */
static void
test_heap(void)
{
    g_autoptr(StatsSample) sample = make_sample();
    Mappings mappings = make_mappings(0);
    Ledger ledger;
    compute(&(LedgerReadings){.sample = sample, .classes = sample, .mappings = &mappings}, &ledger);
    g_assert_cmpint(ledger.method, ==, LEDGER_BY_FLAG);
    g_assert_cmpint(mib(&ledger, LEDGER_LIVE), ==, 92);
    g_assert_cmpint(mib(&ledger, LEDGER_THREAD_CACHES), ==, 5);
    g_assert_cmpint(mib(&ledger, LEDGER_SLAB_HOLES), ==, 8);
    g_assert_cmpint(mib(&ledger, LEDGER_LARGE_TAILS), ==, 2);
    g_assert_cmpint(mib(&ledger, LEDGER_DIRTY), ==, 10);
    g_assert_cmpint(mib(&ledger, LEDGER_MUZZY), ==, 4);
    g_assert_cmpint(mib(&ledger, LEDGER_METADATA), ==, 3 + 6);
    g_assert_cmpint(mib(&ledger, LEDGER_UNTOUCHED), ==, 0);
    g_assert_cmpint(mib(&ledger, LEDGER_RETAINED), ==, 0);
    g_assert_cmpint(mib(&ledger, LEDGER_OTHER_ANONYMOUS), ==, MAPPING_ANONYMOUS);
    g_assert_cmpint(mib(&ledger, LEDGER_OTHER_ALLOCATORS), ==, MAPPING_BRK + MAPPING_GLIBC_ARENA + MAPPING_ALLOCATOR);
    g_assert_cmpint(mib(&ledger, LEDGER_STACKS), ==, MAPPING_STACK);
    g_assert_cmpint(mib(&ledger, LEDGER_SHARED_MEMORY), ==, MAPPING_SHARED + MAPPING_MEMORY_FILE);
    g_assert_cmpint(mib(&ledger, LEDGER_UNEXPLAINED), ==, 0);
    g_assert_false(ledger.lines[LEDGER_PAGE_TABLES].known);
    g_assert_cmpuint(ledger.group, ==, G_MAXUINT64);
}

/* Every object may be a byte larger than the class below: 8 MiB in objects of 1024 bytes, the only class. */
static void
test_rounding(void)
{
    g_autoptr(StatsSample) sample = make_sample();
    Mappings mappings = make_mappings(0);
    Ledger ledger;
    compute(&(LedgerReadings){.sample = sample, .classes = sample, .mappings = &mappings}, &ledger);
    const LedgerLine *rounding = &ledger.lines[LEDGER_ROUNDING], *live = &ledger.lines[LEDGER_LIVE];
    g_assert_cmpint(rounding->bytes, ==, 0);
    g_assert_cmpint(rounding->high, ==, 8 * 1024 * 1023);
    g_assert_cmpint(live->low, ==, live->bytes - rounding->high);
}

/* What is resident less than jemalloc says was not touched, or is in swap. */
static void
test_untouched(void)
{
    g_autoptr(StatsSample) sample = make_sample();
    Mappings mappings = make_mappings(30 * MIB);
    Ledger ledger;
    compute(&(LedgerReadings){.sample = sample, .classes = sample, .mappings = &mappings}, &ledger);
    g_assert_cmpint(mib(&ledger, LEDGER_UNTOUCHED), ==, -30);
    g_assert_cmpint(mib(&ledger, LEDGER_UNEXPLAINED), ==, 0);
}

/* Zeros in huge pages would not be resident without them. */
static void
test_huge_pages(void)
{
    g_autoptr(StatsSample) sample = make_sample();
    Mappings mappings = make_mappings(0);
    guint64 zeros[MAPPING_KINDS] = {[MAPPING_NORESERVE] = 60 * MIB, [MAPPING_ANONYMOUS] = 9 * MIB};
    Ledger ledger;
    mappings.kinds[MAPPING_NORESERVE].huge = 100 * MIB;
    mappings.kinds[MAPPING_ANONYMOUS].huge = MIB;
    compute(&(LedgerReadings){.sample = sample, .classes = sample, .mappings = &mappings, .zeros = zeros}, &ledger);
    g_assert_cmpint(mib(&ledger, LEDGER_HUGE_PAGES), ==, 61);
    g_assert_cmpint(mib(&ledger, LEDGER_UNTOUCHED), ==, -60);
    g_assert_cmpint(mib(&ledger, LEDGER_OTHER_ANONYMOUS), ==, 0);
    g_assert_cmpint(mib(&ledger, LEDGER_UNEXPLAINED), ==, 0);
}

/* Huge pages that could not be looked at. */
static void
test_unknown_zeros(void)
{
    g_autoptr(StatsSample) sample = make_sample();
    Mappings mappings = make_mappings(0);
    Ledger ledger;
    compute(&(LedgerReadings){.sample = sample, .mappings = &mappings}, &ledger);
    g_assert_true(ledger.lines[LEDGER_HUGE_PAGES].known);
    mappings.kinds[MAPPING_ANONYMOUS].huge = MIB;
    compute(&(LedgerReadings){.sample = sample, .mappings = &mappings}, &ledger);
    g_assert_false(ledger.lines[LEDGER_HUGE_PAGES].known);
}

/* F5: resident beyond what jemalloc says: retained as far as there are huge pages, then another user of the flag as far
 * as there is address space that is not jemalloc's, then unexplained. */
static void
test_excess(void)
{
    g_autoptr(StatsSample) sample = make_sample();
    Mappings mappings = make_mappings(-40 * MIB);
    Ledger ledger;
    const LedgerReadings readings = {.sample = sample, .classes = sample, .mappings = &mappings};
    compute(&readings, &ledger);
    g_assert_cmpint(mib(&ledger, LEDGER_RETAINED), ==, 0);
    g_assert_cmpint(mib(&ledger, LEDGER_UNEXPLAINED), ==, 40);
    mappings.kinds[MAPPING_NORESERVE].size += 15 * MIB;
    mappings.kinds[MAPPING_NORESERVE].huge = 20 * MIB;
    compute(&readings, &ledger);
    g_assert_cmpint(mib(&ledger, LEDGER_RETAINED), ==, 20);
    g_assert_cmpint(mib(&ledger, LEDGER_OTHER_ANONYMOUS), ==, MAPPING_ANONYMOUS + 15);
    g_assert_cmpint(mib(&ledger, LEDGER_UNEXPLAINED), ==, 5);
}

/* Without the flag, what jemalloc does not explain is another's. */
static void
test_subtraction(void)
{
    g_autoptr(StatsSample) sample = make_sample();
    Mappings mappings = make_mappings(0);
    Ledger ledger;
    mappings.kinds[MAPPING_ANONYMOUS] = mappings.kinds[MAPPING_NORESERVE];
    mappings.kinds[MAPPING_ANONYMOUS].rss += 17 * MIB;
    mappings.kinds[MAPPING_NORESERVE] = (MappingSum){0};
    compute(&(LedgerReadings){.sample = sample, .classes = sample, .mappings = &mappings}, &ledger);
    g_assert_cmpint(ledger.method, ==, LEDGER_BY_SUBTRACTION);
    g_assert_cmpint(mib(&ledger, LEDGER_OTHER_ANONYMOUS), ==, 17);
    g_assert_cmpint(ledger.lines[LEDGER_OTHER_ANONYMOUS].low, ==, 0);
    g_assert_cmpint(mib(&ledger, LEDGER_UNEXPLAINED), ==, 0);
}

static void
test_no_statistics(void)
{
    Mappings mappings = make_mappings(0);
    Ledger ledger;
    mappings.unread = 7 * MIB;
    compute(&(LedgerReadings){.mappings = &mappings}, &ledger);
    g_assert_cmpint(ledger.method, ==, LEDGER_BY_NOTHING);
    g_assert_cmpint(mib(&ledger, LEDGER_OTHER_ANONYMOUS), ==, 130 + MAPPING_ANONYMOUS);
    g_assert_cmpint(mib(&ledger, LEDGER_UNEXPLAINED), ==, 7);
    g_assert_false(ledger.lines[LEDGER_LIVE].known);
    g_assert_false(ledger.lines[LEDGER_DIRTY].known);
}

static void
test_own(void)
{
    Mappings mappings = make_mappings(0);
    Holdings own = {.threads = 5, .page_tables = MIB, .swap = 0, .tmpfs = 30 * MIB, .sockets = G_MAXUINT64};
    Ledger ledger;
    compute(&(LedgerReadings){.mappings = &mappings, .holdings = &own}, &ledger);
    g_assert_cmpint(ledger.lines[LEDGER_KERNEL_STACKS].bytes, ==, 5 * 16384);
    g_assert_cmpint(mib(&ledger, LEDGER_TMPFS_FILES), ==, 30 - MAPPING_MEMORY_FILE);
    g_assert_cmpint(ledger.lines[LEDGER_TMPFS_FILES].high, ==, 30 * MIB);
    g_assert_true(ledger.lines[LEDGER_SWAP].known);
    g_assert_false(ledger.lines[LEDGER_SOCKETS].known);
}

static void
test_group(void)
{
    Mappings mappings = make_mappings(0);
    const CgroupCharges group = {.current = 400 * MIB,
                                 .anonymous = 180 * MIB,
                                 .file = 100 * MIB,
                                 .shmem = 40 * MIB,
                                 .sockets = 20 * MIB,
                                 .kernel = 30 * MIB,
                                 .kernel_stacks = 2 * MIB,
                                 .page_tables = 3 * MIB};
    Ledger ledger;
    compute(&(LedgerReadings){.mappings = &mappings, .group = &group}, &ledger);
    g_assert_cmpint(sum_of(&ledger, LEDGER_LEVEL_GROUP), ==, 400 * MIB);
    g_assert_cmpint(mib(&ledger, LEDGER_GROUP_OTHERS), ==, 180 - 130);
    g_assert_cmpint(mib(&ledger, LEDGER_GROUP_TMPFS), ==, 40 - MAPPING_SHARED - MAPPING_MEMORY_FILE);
    g_assert_cmpint(mib(&ledger, LEDGER_GROUP_KERNEL), ==, 25);
    g_assert_cmpint(mib(&ledger, LEDGER_GROUP_UNEXPLAINED), ==, 400 - 180 - 100 - 20 - 30);
    g_assert_cmpint(ledger.lines[LEDGER_GROUP_CACHE].high, ==, 60 * MIB);
}

static void
test_sharing(void)
{
    Mappings mappings = make_mappings(0);
    Ledger ledger;
    mappings.kinds[MAPPING_NORESERVE].pss -= 50 * MIB;
    mappings.kinds[MAPPING_NORESERVE].shared_anonymous = 100 * MIB;
    compute(&(LedgerReadings){.mappings = &mappings}, &ledger);
    g_assert_cmpint(mib(&ledger, LEDGER_SHARED), ==, 50);
    g_assert_cmpint(mib(&ledger, LEDGER_SHARED_ANONYMOUS), ==, 100);
}

/* Statistics are what a target claims. */
static void
test_hostile(void)
{
    for (guint round = 0; round < 2000; round++) {
        g_autoptr(StatsSample) sample = make_sample();
        StatsArena *merged = stats_sample_find(sample, STATS_ARENA_MERGED);
        Mappings mappings;
        Ledger ledger;
        guint64 *words = (guint64 *)&mappings;
        for (gsize i = 0; i < sizeof(mappings) / sizeof(guint64); i++)
            words[i] = G_MAXUINT64 >> g_test_rand_int_range(0, 64);
        for (guint i = 0; i < stats_scope_count(STATS_SCOPE_TOTALS); i++)
            stats_values_set(sample->totals, stats_scope_first(STATS_SCOPE_TOTALS) + i,
                             G_MAXUINT64 >> g_test_rand_int_range(0, 64));
        for (guint i = 0; i < stats_scope_count(STATS_SCOPE_ARENA); i++)
            stats_values_set(merged->values, stats_scope_first(STATS_SCOPE_ARENA) + i,
                             G_MAXUINT64 >> g_test_rand_int_range(0, 64));
        const CgroupCharges group = {.current = words[1], .anonymous = words[2], .file = words[3], .shmem = words[4]};
        compute(
            &(LedgerReadings){
                .sample = sample, .classes = sample, .mappings = &mappings, .zeros = words, .group = &group},
            &ledger);
        sum_of(&ledger, LEDGER_LEVEL_GROUP);
    }
}

/* Without the mappings: 126 MiB of anonymous memory are as jemalloc says, the rest of what is resident is of files. */
static void
test_estimate(void)
{
    g_autoptr(StatsSample) sample = make_sample();
    Ledger ledger;
    g_assert_false(ledger_estimate(sample, &ledger));
    stats_values_set(sample->totals, STATS_RSS, 170 * MIB);
    stats_values_set(sample->totals, STATS_ANONYMOUS, 140 * MIB);
    stats_values_set(sample->totals, STATS_LAZY_FREE, 4 * MIB);
    stats_values_set(sample->totals, STATS_SWAP, 2 * MIB);
    g_assert_true(ledger_estimate(sample, &ledger));
    g_assert_cmpint(sum_of(&ledger, LEDGER_LEVEL_RSS), ==, 170 * MIB);
    g_assert_cmpint(mib(&ledger, LEDGER_LIVE), ==, 92);
    g_assert_cmpint(mib(&ledger, LEDGER_DIRTY), ==, 10);
    g_assert_cmpint(mib(&ledger, LEDGER_OTHER_ANONYMOUS), ==, 10);
    g_assert_cmpint(mib(&ledger, LEDGER_FILE_MAPPINGS), ==, 30);
    g_assert_cmpint(mib(&ledger, LEDGER_UNEXPLAINED), ==, 0);
    g_assert_cmpint(mib(&ledger, LEDGER_SWAP), ==, 2);
    g_assert_false(ledger.lines[LEDGER_TEXT].known);
    g_assert_false(ledger.lines[LEDGER_SHARED].known);
}

/* Of a process without statistics the kernel's figures are all; whatever they say, the sum is right. */
static void
test_estimate_of_strange_figures(void)
{
    static const guint64 values[] = {0, 1, 5 * MIB, G_MAXINT64, G_MAXUINT64};
    for (gsize i = 0; i < G_N_ELEMENTS(values) * G_N_ELEMENTS(values); i++) {
        g_autoptr(StatsSample) sample = stats_sample_new(STATS_SOURCE_LIVE);
        Ledger ledger;
        stats_values_set(sample->totals, STATS_RSS, values[i % G_N_ELEMENTS(values)]);
        stats_values_set(sample->totals, STATS_ANONYMOUS, values[i / G_N_ELEMENTS(values)]);
        stats_values_set(sample->totals, STATS_PSS, values[i / G_N_ELEMENTS(values)]);
        if (ledger_estimate(sample, &ledger))
            g_assert_cmpint(sum_of(&ledger, LEDGER_LEVEL_RSS), ==, ledger.rss);
    }
}

static void
test_tolerance(void)
{
    g_assert_cmpuint(ledger_tolerance(&(Ledger){.rss = 10 * MIB}), ==, 4 * MIB);
    g_assert_cmpuint(ledger_tolerance(&(Ledger){.rss = G_GUINT64_CONSTANT(1000) * MIB}), ==, 10 * MIB);
}

/* Readers refuse the whole document for one integer above G_MAXINT64. */
static void
test_json_of_large_numbers(void)
{
    LedgerTaken taken = {
        .label = (char *)(guintptr) "x", .ledger = {.rss = G_MAXUINT64 - 1, .group = G_MAXUINT64 - 1}, .n_classes = 0};
    g_autoptr(GString) out = g_string_new(NULL);
    ledger_append_json(out, &taken);
    g_assert_nonnull(strstr(out->str, "\"rss\":9223372036854775807,"));
    g_assert_nonnull(strstr(out->str, "\"group\":9223372036854775807,"));
}

int
main(int argc, char **argv)
{
    static const struct {
        const char *path;
        void (*run)(void);
    } tests[] = {
        {"/stats/ledger/lines", test_lines},
        {"/stats/ledger/largest", test_largest},
        {"/stats/ledger/heap", test_heap},
        {"/stats/ledger/rounding", test_rounding},
        {"/stats/ledger/untouched", test_untouched},
        {"/stats/ledger/huge-pages", test_huge_pages},
        {"/stats/ledger/unknown-zeros", test_unknown_zeros},
        {"/stats/ledger/excess", test_excess},
        {"/stats/ledger/subtraction", test_subtraction},
        {"/stats/ledger/no-statistics", test_no_statistics},
        {"/stats/ledger/own", test_own},
        {"/stats/ledger/group", test_group},
        {"/stats/ledger/sharing", test_sharing},
        {"/stats/ledger/hostile", test_hostile},
        {"/stats/ledger/estimate", test_estimate},
        {"/stats/ledger/estimate-of-strange-figures", test_estimate_of_strange_figures},
        {"/stats/ledger/tolerance", test_tolerance},
        {"/stats/ledger/json-of-large-numbers", test_json_of_large_numbers},
    };
    g_test_init(&argc, &argv, NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(tests); i++)
        g_test_add_func(tests[i].path, tests[i].run);
    return g_test_run();
}
