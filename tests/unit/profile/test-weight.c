/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The estimates and what they say of their own error, against a simulated sampler: every allocation of size s is kept
 * with probability 1 - exp(-s/R), and the counts are written as jemalloc before and from 5.3.0 on writes them. All
 * seeds are fixed. bench/sampling-error does the same with jemalloc itself.
 */
#include "fixture.h"
#include "profile/weight.h"

#include <math.h>
#include <string.h>

static void
test_formula(void)
{
    ProfileWeight weight;

    weight_from_counts(&(DumpCounts){10, 40960, 3, 192}, 4096, &weight);
    gdouble p = 1 - exp(-1);
    g_assert_cmpfloat_with_epsilon(weight.estimate[PROFILE_INUSE_OBJECTS], 10 / p, 1e-9);
    g_assert_cmpfloat_with_epsilon(weight.estimate[PROFILE_INUSE_SPACE], 40960 / p, 1e-6);
    g_assert_cmpfloat_with_epsilon(weight.variance[PROFILE_INUSE_OBJECTS], 10 * (1 - p) / (p * p) + 100 / 768.0, 1e-9);
    g_assert_cmpfloat_with_epsilon(sqrt(weight.variance[PROFILE_INUSE_SPACE]), 4096 * sqrt(10 * (1 - p)) / p, 1e-6);
    g_assert_cmpfloat_with_epsilon(weight.estimate[PROFILE_ALLOC_OBJECTS], 3 / (1 - exp(-64 / 4096.0)), 1e-6);
}

static void
test_unsampled(void)
{
    ProfileWeight weight;

    weight_from_counts(&(DumpCounts){7, 777, 8, 888}, 1, &weight);
    for (int value = 0; value < PROFILE_N_PPROF_VALUES; value++) {
        static const gdouble expected[] = {8, 888, 7, 777};
        g_assert_cmpfloat(weight.estimate[value], ==, expected[value]);
        g_assert_cmpfloat(weight.variance[value], ==, 0);
    }
}

static void
test_odd_counts(void)
{
    ProfileWeight weight;

    weight_from_counts(&(DumpCounts){0, 64, 5, 0}, 4096, &weight);
    g_assert_cmpfloat(weight.estimate[PROFILE_INUSE_SPACE], ==, 64);
    g_assert_cmpfloat(weight.estimate[PROFILE_ALLOC_OBJECTS], ==, 5);
    weight_from_counts(&(DumpCounts){G_MAXUINT64, 1, 1, G_MAXUINT64}, G_MAXUINT64, &weight);
    for (int value = 0; value < PROFILE_N_PPROF_VALUES; value++)
        g_assert_true(isfinite(weight.estimate[value]) && isfinite(weight.variance[value]));
}

/* Allocations of one size behind a stack. */
typedef struct {
    guint32 size;
    guint32 n;
} Group;

static guint32
sample_group(GRand *random, const Group *group, gdouble p)
{
    guint32 n = 0;

    /* The gaps between kept ones are geometric. */
    for (gdouble at = 0;; n++) {
        at += p < 1 ? floor(log(g_rand_double(random)) / log1p(-p)) + 1 : 1;
        if (at > group->n)
            return n;
    }
}

/* As jemalloc before 5.3.0: raw sums over kept allocations. */
static DumpCounts
dump_raw(GRand *random, const Group *groups, gsize n_groups, guint64 period)
{
    DumpCounts counts = {0};

    for (gsize i = 0; i < n_groups; i++) {
        guint32 n = sample_group(random, &groups[i], -expm1(-(gdouble)groups[i].size / (gdouble)period));
        counts.inuse_objects += n;
        counts.inuse_bytes += (guint64)n * groups[i].size;
    }
    return counts;
}

/* As jemalloc from 5.3.0 on: sums of estimates, in eighths of an object, turned back so that jeprof's scaling restores
 * them. */
static DumpCounts
dump_adjusted(GRand *random, const Group *groups, gsize n_groups, guint64 period)
{
    gdouble objects = 0;
    gdouble bytes = 0;

    for (gsize i = 0; i < n_groups; i++) {
        gdouble p = -expm1(-(gdouble)groups[i].size / (gdouble)period);
        guint32 n = sample_group(random, &groups[i], p);
        objects += n * rint(8 / p) / 8;
        bytes += n * rint(groups[i].size / p);
    }
    gdouble back = objects > 0 ? -expm1(-bytes / objects / (gdouble)period) : 0;
    return (DumpCounts){.inuse_objects = (guint64)rint(objects * back), .inuse_bytes = (guint64)rint(bytes * back)};
}

typedef DumpCounts (*DumpFunc)(GRand *random, const Group *groups, gsize n_groups, guint64 period);

/* How many of n runs have the truth in their own 95 % interval. Runs where the stack is not seen claim nothing. */
static gdouble
coverage(DumpFunc dump, const Group *groups, gsize n_groups, guint64 period, ProfileValue value)
{
    enum { RUNS = 1000 };
    g_autoptr(GRand) random = g_rand_new_with_seed(20240229);
    gdouble truth = 0;
    guint n_seen = 0;
    guint n_inside = 0;

    for (gsize i = 0; i < n_groups; i++)
        truth += (gdouble)groups[i].n * (value == PROFILE_INUSE_SPACE ? groups[i].size : 1);
    for (guint run = 0; run < RUNS; run++) {
        DumpCounts counts = dump(random, groups, n_groups, period);
        ProfileWeight weight;
        weight_from_counts(&counts, period, &weight);
        ProfileInterval interval = profile_interval(weight.estimate[value], weight.variance[value], 1.96);
        n_seen += counts.inuse_objects > 0;
        n_inside +=
            counts.inuse_objects > 0 && truth >= interval.low * (1 - 1e-4) && truth <= interval.high * (1 + 1e-4);
    }
    g_assert_cmpuint(n_seen, >, RUNS / 2);
    return (gdouble)n_inside / n_seen;
}

static const Group small_ones[] = {{64, 60000}};
static const Group pages[] = {{4096, 3000}};
static const Group mixed[] = {{32, 9000}, {96, 9000}, {320, 6000}, {1024, 3000}, {4096, 1000}};
static const Group two_far_apart[] = {{64, 20000}, {4096, 5000}};

static const struct {
    const Group *groups;
    gsize n;
} populations[] = {
    {small_ones, G_N_ELEMENTS(small_ones)},
    {pages, G_N_ELEMENTS(pages)},
    {mixed, G_N_ELEMENTS(mixed)},
    {two_far_apart, G_N_ELEMENTS(two_far_apart)},
};

/* 95 % of 1000 runs, give or take three standard errors of such a count: 93 % to 97 %. */
static void
test_bytes_from_530(void)
{
    for (guint lg = 12; lg <= 19; lg++) {
        for (gsize i = 0; i < G_N_ELEMENTS(populations); i++) {
            gdouble share =
                coverage(dump_adjusted, populations[i].groups, populations[i].n, (guint64)1 << lg, PROFILE_INUSE_SPACE);
            g_test_message("2^%u, population %u: %.3f", lg, (guint)i, share);
            g_assert_cmpfloat(share, >, 0.925);
        }
    }
}

static void
test_bytes_before_530(void)
{
    for (guint lg = 16; lg <= 19; lg++) { /* sizes far below the period: there the mean of a mix does no harm */
        for (gsize i = 0; i < G_N_ELEMENTS(populations); i++) {
            gdouble share =
                coverage(dump_raw, populations[i].groups, populations[i].n, (guint64)1 << lg, PROFILE_INUSE_SPACE);
            g_test_message("2^%u, population %u: %.3f", lg, (guint)i, share);
            g_assert_cmpfloat(share, >, 0.925);
        }
    }
}

/* Objects of one size are as sure as their bytes; of a mix, as sure as the assumed spread of sizes is right. */
static void
test_objects(void)
{
    static const gdouble least[] = {0.925, 0.925, 0.85};

    for (guint lg = 12; lg <= 19; lg++) {
        for (gsize i = 0; i < G_N_ELEMENTS(least); i++) {
            gdouble share = coverage(dump_adjusted, populations[i].groups, populations[i].n, (guint64)1 << lg,
                                     PROFILE_INUSE_OBJECTS);
            g_test_message("2^%u, population %u: %.3f", lg, (guint)i, share);
            g_assert_cmpfloat(share, >, least[i]);
        }
    }
}

/* An interval that is always right says nothing: it must not be much wider than needed either. */
static void
test_not_too_wide(void)
{
    gdouble share = coverage(dump_adjusted, small_ones, 1, 1 << 14, PROFILE_INUSE_SPACE);

    g_assert_cmpfloat(share, <, 0.975);
}

/* The mean of all runs is the truth: no bias in either direction, applied once. */
static void
test_unbiased(void)
{
    enum { RUNS = 4000 };
    g_autoptr(GRand) random = g_rand_new_with_seed(7);
    gdouble sum = 0;
    gdouble truth = 0;

    for (gsize i = 0; i < G_N_ELEMENTS(mixed); i++)
        truth += (gdouble)mixed[i].n * mixed[i].size;
    for (guint run = 0; run < RUNS; run++) {
        DumpCounts counts = dump_adjusted(random, mixed, G_N_ELEMENTS(mixed), 1 << 15);
        ProfileWeight weight;
        weight_from_counts(&counts, 1 << 15, &weight);
        sum += weight.estimate[PROFILE_INUSE_SPACE];
    }
    g_assert_cmpfloat_with_epsilon(sum / RUNS / truth, 1, 0.005);
}

static void
test_interval(void)
{
    ProfileInterval none = profile_interval(100, 0, 1.96);
    ProfileInterval one = profile_interval(4096, 4096.0 * 4096, 1.96);
    ProfileInterval many = profile_interval(1e9, 1e12, 1.96);
    ProfileInterval negative = profile_interval(-10, 25, 2);

    g_assert_cmpfloat(none.low, ==, 100);
    g_assert_cmpfloat(none.high, ==, 100);
    g_assert_cmpfloat(one.low, >, 0); /* a single sample: between a sixth of what it stands for and six times as much */
    g_assert_cmpfloat_with_epsilon(one.low / 4096, 0.1765, 0.001);
    g_assert_cmpfloat_with_epsilon(one.high / 4096, 5.665, 0.001);
    g_assert_cmpfloat_with_epsilon(many.high - 1e9, 1.96e6, 2e3);
    g_assert_cmpfloat(negative.low, ==, -20);
    g_assert_cmpfloat(negative.high, ==, 0);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/profile/weight/formula", test_formula);
    g_test_add_func("/profile/weight/unsampled", test_unsampled);
    g_test_add_func("/profile/weight/odd-counts", test_odd_counts);
    g_test_add_func("/profile/weight/bytes-from-5.3.0", test_bytes_from_530);
    g_test_add_func("/profile/weight/bytes-before-5.3.0", test_bytes_before_530);
    g_test_add_func("/profile/weight/objects", test_objects);
    g_test_add_func("/profile/weight/not-too-wide", test_not_too_wide);
    g_test_add_func("/profile/weight/unbiased", test_unbiased);
    g_test_add_func("/profile/weight/interval", test_interval);
    return g_test_run();
}
