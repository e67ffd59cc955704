/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/outliers.h"

#include <math.h>

enum { N = 7 };

static guint
count(const gdouble *values, gdouble variance)
{
    gdouble variances[N], distances[N];
    guint found = 0;
    for (guint i = 0; i < N; i++)
        variances[i] = variance;
    gdouble median = outliers_distances(values, variances, N, distances);
    for (guint i = 0; i < N; i++)
        found += outliers_is(values[i], median, distances[i]);
    return found;
}

static void
test_one_differs(void)
{
    static const gdouble even[N] = {100, 101, 99, 100.5, 98.5, 100.2, 99.4};
    static const gdouble high[N] = {100, 101, 99, 160, 98.5, 100.2, 99.4};
    static const gdouble three[N] = {100, 300, 301, 160, 98.5, 100.2, 99.4}; /* fewer than half */
    g_assert_cmpuint(count(even, 0), ==, 0);
    g_assert_cmpuint(count(high, 0), ==, 1);
    g_assert_cmpuint(count(three, 0), ==, 3);
}

/* The same values, known less well. */
static void
test_sampling_error_counts(void)
{
    static const gdouble high[N] = {100, 101, 99, 160, 98.5, 100.2, 99.4};
    g_assert_cmpuint(count(high, 60 * 60), ==, 0);
}

static void
test_equal_hosts(void)
{
    static const gdouble same[N] = {5, 5, 5, 5, 5, 5, 5};
    static const gdouble one[N] = {5, 5, 5, 5, 9, 5, 5};
    static const gdouble near[N] = {100, 100, 100, 100, 104, 100, 100}; /* certain, and too small to report */
    g_assert_cmpuint(count(same, 0), ==, 0);
    g_assert_cmpuint(count(one, 0), ==, 1);
    g_assert_cmpuint(count(near, 0), ==, 0);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/outliers/one-differs", test_one_differs);
    g_test_add_func("/outliers/sampling-error", test_sampling_error_counts);
    g_test_add_func("/outliers/equal", test_equal_hosts);
    return g_test_run();
}
