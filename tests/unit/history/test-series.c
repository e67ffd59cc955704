/* SPDX-License-Identifier: Apache-2.0 */
#include "history/series.h"

#include "fixture.h"

#include "history/axis.h"
#include "history/plot.h"

static GPtrArray *
read_series(History *history, const char *selector, guint64 step_us, gboolean rate)
{
    g_autoptr(GError) error = NULL;
    const char *const none[] = {NULL}, *const selectors[] = {selector, NULL};
    SeriesQuery query = {
        .targets = none, .selectors = selectors, .range = HISTORY_ALL_TIME, .step_us = step_us, .rate = rate};
    GPtrArray *series = series_read(history, &query, &error);
    g_assert_no_error(error);
    return series;
}

static void
assert_point(const GPtrArray *series, guint index, guint point, double value)
{
    g_assert_cmpuint(series->len, >, index);
    const GArray *points = ((const Series *)series->pdata[index])->points;
    g_assert_cmpuint(points->len, >, point);
    g_assert_cmpfloat_with_epsilon(g_array_index(points, SeriesPoint, point).value, value, 1e-9);
}

static void
assert_selector(const GPtrArray *series, guint index, const char *expected)
{
    g_autofree char *selector = series_selector(series->pdata[index]);
    g_assert_cmpstr(selector, ==, expected);
}

/* The fixture's arenas 0 and 3 are mapped number * 1000 + 0 and + 3, the merged one + 4096. */
static void
test_selectors(void)
{
    char *path = fixture_path();
    g_autoptr(History) history = fixture_open(path);
    fixture_add(history, fixture_begin(history, "redis", 1), SOME_DAY, 3);

    g_autoptr(GPtrArray) together = read_series(history, "arena.mapped", 0, FALSE);
    g_assert_cmpuint(together->len, ==, 1);
    assert_selector(together, 0, "arena.mapped@merged");
    assert_point(together, 0, 2, 2000 + STATS_ARENA_MERGED);

    g_autoptr(GPtrArray) each = read_series(history, "arena.mapped@all", 0, FALSE);
    g_assert_cmpuint(each->len, ==, 2);
    assert_selector(each, 1, "arena.mapped@3");
    assert_point(each, 1, 2, 2003);

    g_autoptr(GPtrArray) bins = read_series(history, "bin.curregs@3", 0, FALSE);
    g_assert_cmpuint(bins->len, ==, 3);
    assert_selector(bins, 2, "bin.curregs@3/48");
    g_autoptr(GPtrArray) bin = read_series(history, "bin.curregs@3/32", 0, FALSE);
    g_assert_cmpuint(bin->len, ==, 1);
    assert_point(bin, 0, 1, 2 * 2654435761u % 1000003);

    g_autoptr(GPtrArray) global = read_series(history, "mutex.num_ops@global/ctl", 0, FALSE);
    assert_point(global, 0, 2, 10);
    /* A signed value. */
    g_autoptr(GPtrArray) decay = read_series(history, "arena.dirty_decay_ms@0", 0, FALSE);
    assert_point(decay, 0, 0, -1);
    fixture_remove(path);
}

/* Where nothing merged was kept, the arenas are added up. */
static void
test_sum(void)
{
    char *path = fixture_path();
    g_autoptr(History) history = fixture_open(path);
    g_autoptr(StatsSample) sample = stats_sample_new(STATS_SOURCE_LIVE);
    sample->time_us = SOME_DAY;
    for (guint i = 0; i < 3; i++)
        stats_values_set(stats_sample_arena(sample, i)->values, STATS_ARENA_MAPPED, 100);
    g_assert_true(history_add(history, fixture_begin(history, "redis", 1), sample, HISTORY_EVERYTHING, NULL));
    g_autoptr(GPtrArray) series = read_series(history, "arena.mapped", 0, FALSE);
    assert_point(series, 0, 0, 300);
    fixture_remove(path);
}

/* mutex.num_ops grows by 5 every ten seconds; the second life begins at 0 again. */
static void
test_rate(void)
{
    char *path = fixture_path();
    g_autoptr(History) history = fixture_open(path);
    fixture_add(history, fixture_begin(history, "redis", 1), SOME_DAY, 4);
    fixture_add(history, fixture_begin(history, "redis", 2), SOME_DAY + 40 * SECOND, 4);
    g_autoptr(GPtrArray) series = read_series(history, "mutex.num_ops@global/ctl", 0, TRUE);
    const GArray *points = ((const Series *)series->pdata[0])->points;
    g_assert_cmpuint(points->len, ==, 6);
    for (guint i = 0; i < points->len; i++) {
        assert_point(series, 0, i, 0.5);
        g_assert_cmpint(g_array_index(points, SeriesPoint, i).after_gap, ==, i == 3);
    }
    fixture_remove(path);
}

static void
test_gap(void)
{
    char *path = fixture_path();
    g_autoptr(History) history = fixture_open(path);
    gint64 life = fixture_begin(history, "redis", 1);
    fixture_add(history, life, SOME_DAY, 3);
    fixture_add(history, life, SOME_DAY + 100 * SECOND, 3);
    g_autoptr(GPtrArray) series = read_series(history, "allocated", 0, FALSE);
    const GArray *points = ((const Series *)series->pdata[0])->points;
    for (guint i = 0; i < points->len; i++)
        g_assert_cmpint(g_array_index(points, SeriesPoint, i).after_gap, ==, i == 3);
    g_autoptr(GPtrArray) stepped = read_series(history, "allocated", 20 * SECOND, FALSE);
    assert_point(stepped, 0, 0, 1000000 + 4096 / 2.0);
    fixture_remove(path);
}

/* NULL with HISTORY_ERROR_TOO_LARGE, or as many series as WANTED. */
static void
assert_limited(History *history, const char *selector, const SeriesLimits *limits, guint wanted)
{
    g_autoptr(GError) error = NULL;
    const char *const none[] = {NULL}, *const selectors[] = {selector, NULL};
    const SeriesQuery query = {.targets = none,
                               .selectors = selectors,
                               .range = HISTORY_ALL_TIME,
                               .step_us = 3600 * SECOND,
                               .limits = *limits};
    g_autoptr(GPtrArray) series = series_read(history, &query, &error);
    if (wanted == 0)
        g_assert_error(error, HISTORY_ERROR, HISTORY_ERROR_TOO_LARGE);
    else
        g_assert_no_error(error);
    g_assert_cmpuint(series != NULL ? series->len : 0, ==, wanted);
}

/* Ten samples of two arenas, each with three classes: sixty values, which a step makes six points. */
static void
test_limits(void)
{
    char *path = fixture_path();
    g_autoptr(History) history = fixture_open(path);
    fixture_add(history, fixture_begin(history, "redis", 1), SOME_DAY, 10);
    static const char each[] = "bin.curregs@all";
    assert_limited(history, each, &(SeriesLimits){0}, 6);
    assert_limited(history, each, &(SeriesLimits){.values = 60, .points = 6, .series = 6}, 6);
    assert_limited(history, each, &(SeriesLimits){.values = 59}, 0);
    assert_limited(history, each, &(SeriesLimits){.points = 5}, 0);
    assert_limited(history, each, &(SeriesLimits){.series = 5}, 0);
    fixture_remove(path);
}

static void
test_labels(void)
{
    static const struct {
        double value;
        StatsUnit unit;
        const char *label;
    } rows[] = {
        {0, STATS_UNIT_BYTES, "0"},
        {1536, STATS_UNIT_BYTES, "1.5 KiB"},
        {-1048576, STATS_UNIT_BYTES, "-1 MiB"},
        {1023, STATS_UNIT_BYTES, "1023 B"},
        {12345, STATS_UNIT_COUNT, "12.35k"},
        {0.5, STATS_UNIT_COUNT, "0.5"},
        {1500, STATS_UNIT_NANOSECONDS, "1.5 us"},
        {90000, STATS_UNIT_MILLISECONDS, "90 s"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *label = axis_value_label(rows[i].value, rows[i].unit);
        g_assert_cmpstr(label, ==, rows[i].label);
    }
    g_autofree char *before = axis_time_full(-500000), *after = axis_time_full(SOME_DAY);
    g_assert_cmpstr(before, ==, "1969-12-31T23:59:59.500Z");
    g_assert_cmpstr(after, ==, "2023-11-14T22:13:20Z");
}

static void
test_marks(void)
{
    Axis values = axis_values(0, 100 * 1024 * 1024, 4, STATS_UNIT_BYTES);
    g_assert_cmpfloat(values.step, ==, 32 * 1024 * 1024);
    g_assert_cmpfloat(values.last, ==, 128 * 1024 * 1024);
    Axis flat = axis_values(7, 7, 4, STATS_UNIT_COUNT);
    g_assert_cmpfloat(flat.last, >, flat.first);
    Axis times = axis_times(SOME_DAY, SOME_DAY + 3600 * SECOND, 8);
    g_assert_cmpfloat(times.step, ==, 600.0 * SECOND);
    g_assert_cmpint((gint64)times.first % (600 * SECOND), ==, 0);
    g_assert_cmpint((gint64)times.first, >=, SOME_DAY);
}

/* The next double after either of these is 2048 away. */
static void
test_marks_of_large_values(void)
{
    static const StatsUnit units[] = {STATS_UNIT_BYTES, STATS_UNIT_COUNT};
    const double low = 0x1p64 - 0x1p13, high = low + 0x1p11;
    for (size_t i = 0; i < G_N_ELEMENTS(units); i++) {
        Axis values = axis_values(low, high, 5, units[i]);
        g_assert_cmpuint(values.n, >=, 2);
        g_assert_cmpuint(values.n, <=, 8);
        g_assert_cmpfloat(axis_mark(&values, 0), <=, low);
        g_assert_cmpfloat(axis_mark(&values, values.n - 1), >=, high);
        for (guint j = 1; j < values.n; j++)
            g_assert_cmpfloat(axis_mark(&values, j), >, axis_mark(&values, j - 1));
    }
    g_assert_cmpuint(axis_times(-62135596800 * SECOND, 253402300799 * SECOND, 8).n, <=, 8);
}

/* Points of a forged history, in any order. */
static void
test_plot_of_points_out_of_order(void)
{
    const SeriesPoint points[] = {{.time_us = SOME_DAY + SECOND, .value = 0x1p64 - 0x1p13},
                                  {.time_us = SOME_DAY + 900 * SECOND, .value = 0x1p64 - 0x1p12},
                                  {.time_us = SOME_DAY - 900 * SECOND, .value = 0x1p64 - 0x1p13},
                                  {.time_us = SOME_DAY, .value = 0x1p64}};
    g_autoptr(GArray) array = g_array_new(FALSE, FALSE, sizeof(SeriesPoint));
    g_array_append_vals(array, points, G_N_ELEMENTS(points));
    Series one = {.target = (char *)(gsize) "redis", .metric = STATS_ALLOCATED, .points = array};
    g_autoptr(GPtrArray) series = g_ptr_array_new();
    g_autoptr(GString) text = g_string_new(NULL), picture = g_string_new(NULL);
    g_ptr_array_add(series, &one);
    HistoryRange span = plot_span(series);
    g_assert_cmpint(span.from_us, ==, SOME_DAY - 900 * SECOND);
    g_assert_cmpint(span.to_us, ==, SOME_DAY + 900 * SECOND);
    plot_text(series, 80, PLOT_PLAIN, text);
    plot_svg(series, picture);
    g_assert_cmpuint(picture->len, <, 1 << 16);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/series/selectors", test_selectors);
    g_test_add_func("/series/sum", test_sum);
    g_test_add_func("/series/rate", test_rate);
    g_test_add_func("/series/gap", test_gap);
    g_test_add_func("/series/limits", test_limits);
    g_test_add_func("/axis/labels", test_labels);
    g_test_add_func("/axis/marks", test_marks);
    g_test_add_func("/axis/marks-of-large-values", test_marks_of_large_values);
    g_test_add_func("/plot/points-out-of-order", test_plot_of_points_out_of_order);
    return g_test_run();
}
