/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"
#include "profile/growth.h"

#include <math.h>

enum { N = 8 };

static const gdouble times[N] = {0, 60, 120, 180, 240, 300, 360, 420};
static const gdouble small_error[N] = {1, 1, 1, 1, 1, 1, 1, 1};

static GrowthRow
analyse(const gdouble *values, const gdouble *variances, gsize n)
{
    GrowthRow result = {0};

    growth_analyse(times, values, variances, n, &result);
    return result;
}

static void
test_verdicts(void)
{
    static const struct {
        gdouble values[N];
        gsize n;
        GrowthVerdict verdict;
    } cases[] = {
        {{0, 100, 200, 300, 400, 500, 600, 700}, 8, GROWTH_STILL_GROWING},
        {{0, 100, 90, 310, 380, 520, 570, 730}, 8, GROWTH_STILL_GROWING},
        {{0, 100, 200}, 3, GROWTH_STILL_GROWING},
        {{0, 150, 300, 450, 600, 600, 600, 601}, 8, GROWTH_PLATEAU},
        {{0, 0, 0, 0, 500, 500, 500, 500}, 8, GROWTH_ONE_OFF},
        {{0, 500, 500}, 3, GROWTH_ONE_OFF},
        {{0, 0, 500}, 3, GROWTH_ONE_OFF},
        {{700, 600, 500, 400, 300, 200, 100, 0}, 8, GROWTH_SHRINKING},
        {{500, 501, 499, 500, 501, 500, 499, 501}, 8, GROWTH_WITHIN_ERROR},
        {{500, 500, 500}, 3, GROWTH_WITHIN_ERROR},
        {{0, 900, 0, 900, 0, 900, 0, 0}, 8, GROWTH_WITHIN_ERROR},
        {{1000, 700, 1300, 900, 1250, 800, 1300, 1290}, 8, GROWTH_WITHIN_ERROR}, /* swings by 30 % */
        {{900, 1300, 1000, 720, 1290, 1100, 700, 1300}, 8, GROWTH_WITHIN_ERROR},
        {{0, 600, 900, 10, 620, 900, 5, 640}, 8, GROWTH_WITHIN_ERROR}, /* comes back to where it was */
    };

    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        GrowthRow result = analyse(cases[i].values, small_error, cases[i].n);
        g_test_message("case %u", (guint)i);
        g_assert_cmpint(result.verdict, ==, cases[i].verdict);
    }
}

/* The same numbers, known less well. */
static void
test_errors_count(void)
{
    static const gdouble values[N] = {0, 100, 200, 300, 400, 500, 600, 700};
    static const gdouble large_error[N] = {1e6, 1e6, 1e6, 1e6, 1e6, 1e6, 1e6, 1e6};

    g_assert_cmpint(analyse(values, large_error, N).verdict, ==, GROWTH_WITHIN_ERROR);
}

static void
test_slope_is_robust(void)
{
    static const gdouble values[N] = {0, 60, 120, 180, 1e9, 300, 360, 420};
    GrowthRow result = analyse(values, small_error, N);

    g_assert_cmpfloat_with_epsilon(result.slope, 1, 0.01);
    g_assert_cmpfloat_with_epsilon(result.slope_error, sqrt(1 / (60.0 * 60 * 42)), 1e-6);
}

/* Stacks that do not change are called so, except for the share that the significance level allows. */
static void
test_false_alarms(void)
{
    enum { RUNS = 2000 };
    g_autoptr(GRand) random = g_rand_new_with_seed(3);
    guint n_alarms = 0;

    for (guint run = 0; run < RUNS; run++) {
        gdouble values[N];
        gdouble variances[N];
        for (guint i = 0; i < N; i++) {
            gdouble noise = 0;
            for (guint j = 0; j < 12; j++)
                noise += g_rand_double(random) - 0.5;
            values[i] = 1000 + 30 * noise;
            variances[i] = 30 * 30;
        }
        n_alarms += analyse(values, variances, N).verdict != GROWTH_WITHIN_ERROR;
    }
    g_assert_cmpuint(n_alarms, <, RUNS * 5 / 100);
}

static Profile *
dump_at(guint leak)
{
    g_autofree char *text = g_strdup_printf("heap_v2/1\n  t*: 0: 0 [0: 0]\n@ 0x2100\n  t*: 1: %u [0: 0]\n"
                                            "@ 0x2200\n  t*: 1: 500 [0: 0]\n\nMAPPED_LIBRARIES:\n"
                                            "2000-9000 r-xp 00001000 fe:00 7   /bin/a\n",
                                            leak);
    Profile *profile = read_text(text, PROFILE_READ_DEFAULT);

    g_assert_cmpuint(profile_n_stacks(profile), ==, 2);
    return profile;
}

/* F3: heaps that swing by 30 % have errors of sampling far below their movement. */
static void
test_swings(void)
{
    enum { RUNS = 2000 };
    g_autoptr(GRand) random = g_rand_new_with_seed(5);
    guint n_alarms = 0;

    for (guint run = 0; run < RUNS; run++) {
        gdouble values[N];
        for (guint i = 0; i < N; i++)
            values[i] = 1000 * g_rand_double_range(random, 0.7, 1.3);
        n_alarms += analyse(values, small_error, N).verdict == GROWTH_STILL_GROWING;
    }
    g_assert_cmpuint(n_alarms, <, RUNS / 40);
}

static void
test_profiles(void)
{
    g_autoptr(Profile) a = dump_at(100);
    g_autoptr(Profile) b = dump_at(300);
    g_autoptr(Profile) c = dump_at(500);
    const Profile *profiles[] = {a, b, c};
    g_autoptr(GError) error = NULL;
    g_autoptr(Growth) growth = growth_new(profiles, times, G_N_ELEMENTS(profiles), PROFILE_INUSE_SPACE, &error);

    g_assert_no_error(error);
    g_autoptr(GrowthRows) rows = growth_rows(growth, (const guint32[]){1, 0}, 2);
    g_assert_cmpuint(rows->n_rows, ==, 2);
    g_assert_cmpuint(rows->rows[0].group, ==, 1);
    g_assert_cmpint(rows->rows[0].verdict, ==, GROWTH_STILL_GROWING);
    g_assert_cmpfloat_with_epsilon(rows->rows[0].slope, 200.0 / 60, 1e-9);
    /* F1: sampling is young, and the program grows by its own counters as fast, or not at all. */
    growth_set_filling(growth, 200.0 / 60);
    g_assert_cmpint(growth_total(growth)->verdict, ==, GROWTH_STILL_GROWING);
    growth_set_filling(growth, 1);
    g_assert_cmpint(growth_total(growth)->verdict, ==, GROWTH_FILLING);
    g_autoptr(GrowthRows) doubted = growth_rows(growth, (const guint32[]){1, 0}, 2);
    g_assert_cmpint(doubted->rows[0].verdict, ==, GROWTH_FILLING);
    g_assert_cmpint(doubted->rows[1].verdict, ==, GROWTH_WITHIN_ERROR);
    g_assert_cmpfloat(growth_rows_series(rows, 1)[1], ==, 300);
    g_assert_cmpint(rows->rows[1].verdict, ==, GROWTH_WITHIN_ERROR);
    g_autoptr(GrowthRows) sum = growth_rows(growth, (const guint32[]){0, 0}, 1);
    g_assert_cmpfloat(growth_rows_series(sum, 0)[2], ==, 1000);
    g_autoptr(GrowthRows) rest = growth_rows(growth, (const guint32[]){PROFILE_NONE, 0}, 1);
    g_assert_cmpfloat(growth_rows_series(rest, 0)[2], ==, 500);
    g_assert_cmpfloat(growth_total(growth)->last, ==, 1000);
    g_assert_cmpuint(growth_total(growth)->group, ==, PROFILE_NONE);
    g_assert_cmpfloat(profile_total(growth_profile(growth))->estimate[PROFILE_INUSE_SPACE], ==, 1000);
}

/* A dump of prof_accum:true, where 400 samples are held at one stack and grow, while 300 at the other come and go. */
static Profile *
counted_dump(guint born, guint freed, guint period)
{
    guint live = 400 + born - freed;
    guint requests = 300 + 10 * born;
    g_autofree char *text = g_strdup_printf(
        "heap_v2/%u\n  t*: 0: 0 [0: 0]\n@ 0x2100\n  t*: %u: %u [%u: %u]\n@ 0x2200\n  t*: 300: 4915200 [%u: "
        "%u]\n" MAPS,
        period, live, live * 16384, 400 + born, (400 + born) * 16384, requests, requests * 16384);

    return read_text(text, PROFILE_READ_DEFAULT);
}

static Growth *
counted_growth(const guint born[3], const guint freed[3], const guint period[3], ProfileValue value)
{
    g_autoptr(Profile) a = counted_dump(born[0], freed[0], period[0]);
    g_autoptr(Profile) b = counted_dump(born[1], freed[1], period[1]);
    g_autoptr(Profile) c = counted_dump(born[2], freed[2], period[2]);
    const Profile *profiles[] = {a, b, c};
    g_autoptr(GError) error = NULL;
    Growth *growth = growth_new(profiles, times, 3, value, &error);

    g_assert_no_error(error);
    return growth;
}

/* 24 births and no death are growth, long before they are beyond the errors of 400 samples; the other stack has 240
 * births and as many deaths. */
static void
test_counts(void)
{
    static const guint same[] = {1 << 19, 1 << 19, 1 << 19};
    static const guint none[] = {0, 0, 0};
    g_autoptr(Growth) growth = counted_growth((const guint[]){0, 12, 24}, none, same, PROFILE_INUSE_SPACE);
    g_autoptr(GrowthRows) rows = growth_rows(growth, (const guint32[]){0, 1}, 2);
    const GrowthRow *leak = &rows->rows[0];
    const GrowthRow *requests = &rows->rows[1];

    g_assert_cmpint(leak->verdict, ==, GROWTH_STILL_GROWING);
    g_assert_true(leak->is_counted);
    g_assert_cmpfloat(leak->births, ==, 24);
    g_assert_cmpfloat(leak->deaths, ==, 0);
    g_assert_cmpfloat_with_epsilon(leak->p, 0x1p-24, 1e-12);
    g_assert_cmpfloat(requests->births, ==, 240);
    g_assert_cmpfloat(requests->deaths, ==, 240);
    g_assert_cmpfloat(requests->p, >, 0.4);
    g_assert_cmpint(requests->verdict, ==, GROWTH_WITHIN_ERROR);
    g_assert_cmpfloat(growth_total(growth)->births, ==, 264);
    growth_ignore_counts(growth);
    g_assert_false(growth_total(growth)->is_counted);
    g_autoptr(GrowthRows) blind = growth_rows(growth, (const guint32[]){0, 1}, 2);
    g_assert_cmpint(blind->rows[0].verdict, ==, GROWTH_WITHIN_ERROR);
    g_assert_cmpfloat(blind->rows[0].births, ==, 0);

    g_autoptr(Growth) shrinks = counted_growth(none, (const guint[]){0, 12, 24}, same, PROFILE_INUSE_OBJECTS);
    g_autoptr(GrowthRows) shrunk = growth_rows(shrinks, (const guint32[]){0, 1}, 2);
    g_assert_cmpint(shrunk->rows[1].verdict, ==, GROWTH_SHRINKING);
    g_assert_cmpfloat_with_epsilon(shrunk->rows[1].p, 1, 1e-9);
}

/* Of a process that begins anew, of another period, and of what is no stock, nothing is counted. */
static void
test_counts_that_do_not_go_on(void)
{
    static const guint same[] = {1 << 19, 1 << 19, 1 << 19};
    static const guint other[] = {1 << 19, 1 << 19, 1 << 20};
    static const guint none[] = {0, 0, 0};
    static const guint rising[] = {0, 12, 24};
    g_autoptr(Growth) restarted = counted_growth((const guint[]){12, 0, 24}, none, same, PROFILE_INUSE_SPACE);
    g_autoptr(Growth) doubled = counted_growth(rising, none, other, PROFILE_INUSE_SPACE);
    g_autoptr(Growth) flow = counted_growth(rising, none, same, PROFILE_ALLOC_SPACE);

    g_assert_false(growth_total(restarted)->is_counted);
    g_assert_false(growth_total(doubled)->is_counted);
    g_assert_false(growth_total(flow)->is_counted);
}

static void
test_arguments(void)
{
    static const gdouble backwards[] = {0, 2, 1};
    g_autoptr(Profile) a = dump_at(100);
    const Profile *profiles[] = {a, a, a};
    g_autoptr(GError) error = NULL;

    g_assert_null(growth_new(profiles, times, 2, PROFILE_INUSE_SPACE, &error));
    g_assert_cmpstr(error->message, ==, "growth needs at least 3 profiles, not 2");
    g_clear_error(&error);
    g_assert_null(growth_new(profiles, backwards, 3, PROFILE_INUSE_SPACE, &error));
    g_assert_cmpstr(error->message, ==, "profile 3 is not later than the one before it");
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/profile/growth/verdicts", test_verdicts);
    g_test_add_func("/profile/growth/errors-count", test_errors_count);
    g_test_add_func("/profile/growth/slope-is-robust", test_slope_is_robust);
    g_test_add_func("/profile/growth/false-alarms", test_false_alarms);
    g_test_add_func("/profile/growth/swings", test_swings);
    g_test_add_func("/profile/growth/profiles", test_profiles);
    g_test_add_func("/profile/growth/counts", test_counts);
    g_test_add_func("/profile/growth/counts-that-do-not-go-on", test_counts_that_do_not_go_on);
    g_test_add_func("/profile/growth/arguments", test_arguments);
    return g_test_run();
}
