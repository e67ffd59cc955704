/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/significance.h"

#include <math.h>
#include <time.h>

static void
test_binomial(void)
{
    g_assert_cmpfloat(significance_binomial(0, 0), ==, 1);
    g_assert_cmpfloat_with_epsilon(significance_share(2, 1, 1 / 6.0), (3 * 5 + 1) / 216.0, 1e-12);
    g_assert_cmpfloat_with_epsilon(significance_share(0, 7, 1 / 6.0), 1, 1e-12);
    g_assert_cmpfloat_with_epsilon(significance_share(20000, 80001, 0.2), significance_share(20000, 79999, 0.2), 1e-2);
    g_assert_cmpfloat_with_epsilon(significance_binomial(1, 0), 0.5, 1e-12);
    g_assert_cmpfloat_with_epsilon(significance_binomial(6, 0), 1 / 64.0, 1e-12);
    g_assert_cmpfloat_with_epsilon(significance_binomial(3, 1), 5 / 16.0, 1e-12);
    g_assert_cmpfloat_with_epsilon(significance_binomial(0, 5), 1, 1e-12);
    /* Fast for any number that a dump may name. */
    g_assert_cmpfloat(significance_binomial(G_MAXUINT32 / 4, G_MAXUINT32), >, 0.999);
    g_assert_cmpfloat(significance_binomial(G_MAXUINT32, 0), <, 1e-9);
    g_assert_cmpfloat_with_epsilon(significance_binomial(50100, 50000), significance_binomial(49950, 49850), 1e-3);
    /* By the normal law with a correction for continuity. */
    g_assert_cmpfloat_with_epsilon(significance_binomial(5100, 4900), 0.5 * erfc((100 - 0.5) / 50 / sqrt(2)), 1e-4);
}

/* Each of millions of stacks of a dump may have such numbers. */
static void
test_many(void)
{
    enum { MANY = 1 << 20, SAMPLES = 100000, LONGEST_S = 5 };
    const clock_t begun = clock();
    gdouble sum = 0;

    for (guint64 i = 0; i < MANY; i++)
        sum +=
            significance_binomial(i % 100, SAMPLES - 100) + significance_binomial(SAMPLES / 2 - i % 100, SAMPLES / 2);
    g_assert_cmpfloat(sum, >, MANY);
    g_assert_cmpint(clock() - begun, <, LONGEST_S * CLOCKS_PER_SEC);
}

/* Both tails, against the sum of all terms. */
static void
test_tails(void)
{
    static const gdouble shares[] = {0.5, 1 / 6.0, 0.9};
    enum { N = 40 };

    for (gsize s = 0; s < G_N_ELEMENTS(shares); s++) {
        gdouble sum = 0;
        for (guint64 k = N + 1; k-- > 0;) {
            sum += exp(lgamma(N + 1) - lgamma((gdouble)k + 1) - lgamma((gdouble)(N - k) + 1)) *
                   pow(shares[s], (gdouble)k) * pow(1 - shares[s], (gdouble)(N - k));
            g_assert_cmpfloat_with_epsilon(significance_share(k, N - k, shares[s]), sum, 1e-12 + 1e-9 * sum);
        }
    }
    g_assert_cmpfloat(significance_share(G_MAXUINT64, G_MAXUINT64, 0.5), >, 0.4); /* their sum does not overflow */
}

/* Where the sum of the terms ends and a series begins: against the sum, up to four standard deviations. */
static void
test_series(void)
{
    static const gdouble shares[] = {0.1, 1 / 6.0, 0.5, 0.9};
    static const guint64 sizes[] = {1001, 5000, 90000};

    for (gsize i = 0; i < G_N_ELEMENTS(shares) * G_N_ELEMENTS(sizes); i++) {
        const gdouble share = shares[i % G_N_ELEMENTS(shares)];
        const guint64 n = sizes[i / G_N_ELEMENTS(shares)];
        const gdouble mean = (gdouble)n * share, sigma = sqrt(mean * (1 - share));
        gdouble sum = 0;
        for (guint64 k = n + 1; k-- > 0 && (gdouble)k > mean - 4 * sigma;) {
            sum += exp(lgamma((gdouble)n + 1) - lgamma((gdouble)k + 1) - lgamma((gdouble)(n - k) + 1) +
                       (gdouble)k * log(share) + (gdouble)(n - k) * log1p(-share));
            if ((gdouble)k < mean + 4 * sigma)
                g_assert_cmpfloat_with_epsilon(significance_share(k, n - k, share), sum,
                                               sum * (share == 0.5 ? 0.0001 : 0.011));
        }
    }
    g_assert_cmpfloat(significance_binomial(2000, 0), >=, 0);
    g_assert_cmpfloat(significance_binomial(2000, 0), <, 1e-9);
    g_assert_cmpfloat(significance_binomial(1, 2000), >, 0.999);
}

static void
test_increments(void)
{
    static const gdouble leak[] = {0, 12, 24, 36, 48, 60};
    static const gdouble swings[] = {500, 900, 300, 1100, 200, 600};
    static const gdouble falls[] = {60, 50, 40};

    g_assert_cmpfloat(significance_increments(leak, 6, 1), <, 0.001);
    g_assert_cmpfloat(significance_increments(leak, 6, 100), >, 0.05); /* less than one sample */
    g_assert_cmpfloat(significance_increments(swings, 6, 1), >, 0.2);
    g_assert_cmpfloat(significance_increments(falls, 3, 1), ==, 1);
    g_assert_cmpfloat(significance_increments(leak, 2, 1), ==, 1);
}

static guint
poisson(GRand *random, gdouble mean)
{
    gdouble limit = exp(-mean), product = g_rand_double(random);
    guint n = 0;

    while (product > limit) {
        product *= g_rand_double(random);
        n++;
    }
    return n;
}

/* Stacks whose samples are born and die at the same rate: the test without births is right about its error, and the one
 * with births is exact. */
static void
test_false_alarms(void)
{
    enum { RUNS = 4000, DUMPS = 6, SAMPLE = 512 };
    g_autoptr(GRand) random = g_rand_new_with_seed(11);
    guint by_increments = 0, by_births = 0;

    for (guint run = 0; run < RUNS; run++) {
        gdouble values[DUMPS] = {1000 * SAMPLE};
        guint births = 0, deaths = 0;
        for (guint i = 1; i < DUMPS; i++) {
            guint born = poisson(random, 8), died = poisson(random, 8);
            births += born;
            deaths += died;
            values[i] = values[i - 1] + SAMPLE * ((gdouble)born - (gdouble)died);
        }
        by_increments += significance_increments(values, DUMPS, SAMPLE) < 0.05;
        by_births += significance_binomial(births, deaths) < 0.05;
    }
    g_assert_cmpuint(by_births, <, RUNS * 6 / 100);
    g_assert_cmpuint(by_increments, <, RUNS * 8 / 100);
}

/* What the overlap of samples buys: a stack that holds 200 samples and gains 12 without a death. */
static void
test_power(void)
{
    gdouble values[] = {200, 203, 205, 207, 210, 212};

    g_assert_cmpfloat(12 / sqrt(200 + 212), <, 1.96); /* as if both were independent */
    g_assert_cmpfloat(significance_binomial(12, 0), <, 0.001);
    g_assert_cmpfloat(significance_increments(values, 6, 1), <, 0.01);
}

static void
test_select(void)
{
    static const gdouble p[] = {0.2, 0.001, 0.03, 0.012, 0.9};
    gboolean accepted[5];

    significance_select(p, 5, 0.05, accepted);
    g_assert_true(accepted[1] && accepted[3] && accepted[2]);
    g_assert_false(accepted[0] || accepted[4]);
    significance_select(p, 1, 0.05, accepted);
    g_assert_false(accepted[0]);
}

/* Tables of Student's law. */
static void
test_quantile(void)
{
    g_assert_cmpfloat_with_epsilon(significance_quantile(0.025, 10), 2.228, 0.001);
    g_assert_cmpfloat_with_epsilon(significance_quantile(0.0005, 29), 3.659, 0.001);
    g_assert_cmpfloat_with_epsilon(significance_quantile(0.5, 4), 0, 0.001);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/profile/significance/binomial", test_binomial);
    g_test_add_func("/profile/significance/many", test_many);
    g_test_add_func("/profile/significance/tails", test_tails);
    g_test_add_func("/profile/significance/series", test_series);
    g_test_add_func("/profile/significance/increments", test_increments);
    g_test_add_func("/profile/significance/false-alarms", test_false_alarms);
    g_test_add_func("/profile/significance/power", test_power);
    g_test_add_func("/profile/significance/select", test_select);
    g_test_add_func("/profile/significance/quantile", test_quantile);
    return g_test_run();
}
