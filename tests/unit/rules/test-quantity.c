/* SPDX-License-Identifier: Apache-2.0 */
#include "rules/quantity.h"

#include <string.h>

static StatsSample *
make_sample(void)
{
    StatsSample *sample = stats_sample_new(STATS_SOURCE_LIVE);
    stats_values_set(sample->totals, STATS_ALLOCATED, 75);
    stats_values_set(sample->totals, STATS_ACTIVE, 100);
    stats_values_set(sample->totals, STATS_CGROUP_CURRENT, 900);
    stats_values_set(sample->totals, STATS_CGROUP_INACTIVE_FILE, 100);
    stats_values_set(sample->totals, STATS_CGROUP_MAX, 1000);
    stats_values_set(sample->totals, STATS_SAMPLE_COST, 2000000);
    stats_values_set(stats_sample_arena(sample, 0)->values, STATS_ARENA_MAPPED, 5);
    stats_values_set(stats_sample_arena(sample, 1)->values, STATS_ARENA_MAPPED, 7);
    stats_values_set(stats_sample_arena(sample, 1)->values, STATS_ARENA_DIRTY_DECAY, (uint64_t)(int64_t)-1);
    StatsArena *merged = stats_sample_arena(sample, STATS_ARENA_MERGED);
    merged->bins = stats_table_new(STATS_SCOPE_BIN);
    StatsValues *row = stats_table_add(merged->bins, NULL);
    stats_values_set(row, STATS_BIN_SIZE, 64);
    stats_values_set(row, STATS_BIN_CURREGS, 11);
    return sample;
}

static void
test_values(void)
{
    const struct {
        const char *text;
        gdouble value;
    } rows[] = {
        {"allocated", 75},
        {"fragmentation", 0.25},
        {"working-set", 0.8},
        {"sample.duration", 0.002},
        {"arena.mapped@1", 7},
        {"arena.mapped", 12},
        {"bin.curregs@merged/64", 11},
        {"arena.dirty_decay_ms@1", -0.001},
        {"slope( allocated , 10m )", 75},
    };
    g_autoptr(StatsSample) sample = make_sample();
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        Quantity quantity;
        gdouble value;
        char *why = NULL;
        g_assert_true(quantity_parse(rows[i].text, &quantity, &why));
        g_assert_null(why);
        g_assert_true(quantity_read(&quantity, sample, NULL, &value));
        g_assert_cmpfloat_with_epsilon(value, rows[i].value, 1e-12);
        quantity_clear(&quantity);
    }
}

static void
test_absent(void)
{
    const char *const rows[] = {"resident",
                                "arena.mapped@7",
                                "bin.curregs@merged/48",
                                "bin.curregs@3/64",
                                "pressure",
                                "mutex.num_wait@global/ctl",
                                "arena.mapped@destroyed"};
    g_autoptr(StatsSample) sample = make_sample();
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        Quantity quantity;
        gdouble value;
        char *why = NULL;
        g_assert_true(quantity_parse(rows[i], &quantity, &why));
        g_assert_false(quantity_read(&quantity, sample, NULL, &value));
        quantity_clear(&quantity);
    }
}

static void
test_units(void)
{
    const struct {
        const char *text;
        AmountUnit unit;
        QuantityForm form;
    } rows[] = {
        {"held", {AMOUNT_BYTES, FALSE}, QUANTITY_VALUE},
        {"rate(zero_reallocs)", {AMOUNT_COUNT, TRUE}, QUANTITY_RATE},
        {"slope(held,10m)", {AMOUNT_BYTES, TRUE}, QUANTITY_SLOPE},
        {"grows(held,6h)", {AMOUNT_BYTES, FALSE}, QUANTITY_GROWS},
        {"pressure", {AMOUNT_SHARE, FALSE}, QUANTITY_RATE},
        {"slope(working-set,1h)", {AMOUNT_SHARE, TRUE}, QUANTITY_SLOPE},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        Quantity quantity;
        char *why = NULL;
        g_assert_true(quantity_parse(rows[i].text, &quantity, &why));
        g_assert_cmpint(quantity.unit.kind, ==, rows[i].unit.kind);
        g_assert_cmpint(quantity.unit.rate, ==, rows[i].unit.rate);
        g_assert_cmpint(quantity.form, ==, rows[i].form);
        quantity_clear(&quantity);
    }
}

static void
test_wrong(void)
{
    const struct {
        const char *text, *why;
    } rows[] = {
        {"hold", "did you mean 'held'"},
        {"working_set", "did you mean 'working-set'"},
        {"no such thing", "no metric"},
        {"arena.mapped@all", "several values"},
        {"bin.curregs", "several values"},
        {"bin.curregs@merged/x", "not the size of a class"},
        {"allocated@3", "leave '@3' out"},
        {"slope(held)", "write it as slope(held, 10m)"},
        {"slope(held,10m", "write it as"},
        {"rate(held,10m)", "write it as rate(held)"},
        {"slope(held,99d)", "not a time from 1s to 31d"},
        {"grows(working-set,1h)", "takes a quantity in bytes"},
        {"mean(held,1h)", "no function 'mean'"},
        {"slope(rate(held),1h)", "no metric"},
        {"(held)", "no function"},
        {"", "no metric"},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        Quantity quantity;
        g_autofree char *why = NULL;
        g_assert_false(quantity_parse(rows[i].text, &quantity, &why));
        g_assert_nonnull(why);
        if (strstr(why, rows[i].why) == NULL)
            g_error("%s: %s", rows[i].text, why);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/quantity/values", test_values);
    g_test_add_func("/quantity/absent", test_absent);
    g_test_add_func("/quantity/units", test_units);
    g_test_add_func("/quantity/wrong", test_wrong);
    return g_test_run();
}
