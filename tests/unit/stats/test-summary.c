/* SPDX-License-Identifier: Apache-2.0 */
/* What the summary says of memory that jemalloc does not use, which is where it misled once (docs/testing.md, F4...).
 */
#include "stats/summary.h"

#include <string.h>

#define MIB (UINT64_C(1) << 20)

static char *
summary_of(gint64 decay)
{
    g_autoptr(StatsSample) sample = stats_sample_new(STATS_SOURCE_LIVE);
    StatsValues *merged = stats_sample_arena(sample, STATS_ARENA_MERGED)->values;
    g_autoptr(GString) out = g_string_new(NULL);

    stats_values_set(sample->totals, STATS_PAGE, 4096);
    stats_values_set(sample->totals, STATS_ALLOCATED, 100 * MIB);
    stats_values_set(sample->totals, STATS_ACTIVE, 110 * MIB);
    stats_values_set(sample->totals, STATS_RESIDENT, 130 * MIB);
    stats_values_set(sample->totals, STATS_MAPPED, 150 * MIB);
    stats_values_set(sample->totals, STATS_RETAINED, 500 * MIB);
    stats_values_set(merged, STATS_ARENA_PDIRTY, 20 * MIB / 4096);
    stats_values_set(merged, STATS_ARENA_PMUZZY, 12 * MIB / 4096);
    stats_values_set(stats_sample_arena(sample, 0)->values, STATS_ARENA_DIRTY_DECAY, (uint64_t)decay);
    summary_append(out, sample);
    return g_string_free(g_steal_pointer(&out), FALSE);
}

static void
assert_line(const char *text, const char *name, const char *size, const char *meaning)
{
    g_autofree char *pattern = g_strdup_printf("^  %s +%s +%s$", name, size, meaning);

    if (!g_regex_match_simple(pattern, text, G_REGEX_MULTILINE, 0))
        g_error("no line '%s' in\n%s", pattern, text);
}

/* F4: pages of MADV_FREE are resident until the kernel takes them. */
static void
test_muzzy(void)
{
    g_autofree char *text = summary_of(10000);

    assert_line(text, "muzzy", "12\\.0 MiB", "unused pages the kernel may take \\(MADV_FREE\\)");
    g_assert_nonnull(strstr(text, "untouched pages, and muzzy ones (resident until taken)"));
    g_assert_null(strstr(text, "without memory"));
}

/* F5: huge pages make retained ranges resident. */
static void
test_retained(void)
{
    g_autofree char *text = summary_of(10000);

    assert_line(text, "retained", "500\\.0 MiB", "address space kept for reuse \\(no memory except in huge pages\\)");
}

/* F10: with a decay time of -1 nothing is returned. */
static void
test_dirty(void)
{
    g_autofree char *decays = summary_of(10000);
    g_autofree char *stays = summary_of(-1);

    assert_line(decays, "dirty", "20\\.0 MiB", "unused pages, returned after the decay time");
    assert_line(stays, "dirty", "20\\.0 MiB", "unused pages, never returned if dirty_decay_ms is -1");
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/stats/summary/muzzy", test_muzzy);
    g_test_add_func("/stats/summary/retained", test_retained);
    g_test_add_func("/stats/summary/dirty", test_dirty);
    return g_test_run();
}
