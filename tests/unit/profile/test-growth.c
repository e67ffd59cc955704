/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"
#include "profile/growth.h"

#include <math.h>

enum { N = 8 };

static const gdouble times[N] = {0, 60, 120, 180, 240, 300, 360, 420};
static const gdouble small_error[N] = {1, 1, 1, 1, 1, 1, 1, 1};

static GrowthStack
analyse(const gdouble *values, const gdouble *variances, gsize n)
{
    GrowthStack result = {0};

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
    };

    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        GrowthStack result = analyse(cases[i].values, small_error, cases[i].n);
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
    GrowthStack result = analyse(values, small_error, N);

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
            for (guint j = 0; j < 12; j++) {
                noise += g_rand_double(random) - 0.5;
            }
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

static void
test_profiles(void)
{
    g_autoptr(Profile) a = dump_at(100);
    g_autoptr(Profile) b = dump_at(300);
    g_autoptr(Profile) c = dump_at(500);
    const Profile *profiles[] = {a, b, c};
    g_autoptr(GError) error = NULL;
    g_autoptr(Growth) growth = growth_new(profiles, times, G_N_ELEMENTS(profiles), PROFILE_INUSE_SPACE, &error);
    guint32 n = 0;

    g_assert_no_error(error);
    const GrowthStack *stacks = growth_stacks(growth, &n);
    g_assert_cmpuint(n, ==, 2);
    g_assert_cmpint(stacks[0].verdict, ==, GROWTH_STILL_GROWING);
    g_assert_cmpfloat_with_epsilon(stacks[0].slope, 200.0 / 60, 1e-9);
    g_assert_cmpfloat(growth_series(growth, stacks[0].stack)[1], ==, 300);
    g_assert_cmpint(stacks[1].verdict, ==, GROWTH_WITHIN_ERROR);
    g_assert_cmpfloat(growth_total(growth)->last, ==, 1000);
    g_assert_cmpuint(growth_total(growth)->stack, ==, PROFILE_NONE);
    g_assert_cmpfloat(profile_total(growth_profile(growth))->estimate[PROFILE_INUSE_SPACE], ==, 1000);
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
    g_test_add_func("/profile/growth/profiles", test_profiles);
    g_test_add_func("/profile/growth/arguments", test_arguments);
    return g_test_run();
}
