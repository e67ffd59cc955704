/* SPDX-License-Identifier: Apache-2.0 */
/* The holes in slabs: whose objects keep them, and what would go back. */
#include "fixture.h"
#include "profile/capture.h"
#include "profile/holes.h"

#include <math.h>

#define SAMPLER "heap_v2/1\n#sampler jescope 1 since=1763779195000000 window=10000000\n"
#define CLASS   "jescope_class=1 size=4096 regions=4 slab=16384 slabs=32 live=38 nonfull=30\n"

typedef struct {
    guint stack; /* the address of its only frame */
    guint n;
    guint64 born;
    guint unused;
} Row;

/* N live objects of 4096 bytes each, all in different slabs unless full. */
static char *
dump_of(const Row *rows, gsize n, const char *classes)
{
    GString *text = g_string_new(SAMPLER);

    for (gsize i = 0; i < n; i++) {
        g_string_append_printf(text, "@ 0x%x\n  t*: 1: 4096 [1: 4096]\n", rows[i].stack);
        for (guint j = 0; j < rows[i].n; j++)
            g_string_append_printf(text, "#live %x 4096 %" G_GUINT64_FORMAT " 1 %u 4\n",
                                   0x10000000 * ((guint)i + 1) + j * 0x10000, rows[i].born, rows[i].unused);
    }
    g_string_append(text, MAPS);
    g_string_append(text, classes);
    return g_string_free(text, FALSE);
}

typedef struct {
    Profile *profile;
    ProfileWeight *weights;
    HolesSum sum;
} Result;

/* Each stack by itself, or all in group 0. */
static Result
compute(const char *text, gboolean together)
{
    Result result = {.profile = read_text(text, PROFILE_READ_DEFAULT)};
    guint32 n = profile_n_stacks(result.profile);
    g_autofree guint32 *groups = g_new0(guint32, n + 1);

    for (guint32 i = 0; i < n && !together; i++)
        groups[i] = i;
    g_assert_true(profile_has_value(result.profile, PROFILE_PINNED) &&
                  profile_has_value(result.profile, PROFILE_WHATIF));
    result.weights = g_new0(ProfileWeight, n + 1);
    holes_compute(result.profile, groups, PROFILE_WHATIF, result.weights, &result.sum);
    return result;
}

static void
clear(Result *result)
{
    g_free(result->weights);
    profile_free(result->profile);
}

/* Sessions are alone in their slabs, the cache is in full ones: what is free is the sessions', and nothing else. */
static void
test_addresses(void)
{
    const Row rows[] = {{0x2100, 30, 1000000, 3}, {0x2200, 8, 1000000, 0}};
    g_autofree char *text = dump_of(rows, G_N_ELEMENTS(rows), CLASS);
    Result result = compute(text, FALSE);

    g_assert_cmpfloat(result.sum.unused, ==, 90 * 4096);
    g_assert_cmpfloat(result.sum.attributed, ==, 90 * 4096);
    g_assert_true(result.sum.addressed);
    g_assert_cmpfloat_with_epsilon(result.weights[0].estimate[PROFILE_PINNED], 90 * 4096, 1e-6);
    g_assert_cmpfloat(result.weights[1].estimate[PROFILE_PINNED], ==, 0);
    g_assert_cmpfloat_with_epsilon(result.weights[0].estimate[PROFILE_WHATIF], 30 * 16384, 1e-6);
    g_assert_cmpfloat_with_epsilon(result.weights[1].estimate[PROFILE_WHATIF], 2 * 16384, 1e-6);
    g_assert_cmpfloat(result.weights[0].variance[PROFILE_WHATIF], >, 0);
    clear(&result);
}

/* What takes long is computed for those who ask for it. */
static void
test_pinned_only(void)
{
    const Row rows[] = {{0x2100, 30, 1000000, 3}, {0x2200, 8, 1000000, 0}};
    g_autofree char *text = dump_of(rows, G_N_ELEMENTS(rows), CLASS);
    Result result = compute(text, FALSE);

    holes_compute(result.profile, NULL, PROFILE_PINNED, result.weights, &result.sum);
    g_assert_cmpfloat_with_epsilon(result.weights[0].estimate[PROFILE_PINNED], 90 * 4096, 1e-6);
    g_assert_cmpfloat(result.weights[0].estimate[PROFILE_WHATIF], ==, 0);
    clear(&result);
}

/* What has just been allocated keeps no slab for long; what goes back without it goes back all the same. */
static void
test_young(void)
{
    const Row rows[] = {{0x2100, 30, 1000000, 3}, {0x2200, 8, 9000000, 3}};
    g_autofree char *text = dump_of(rows, G_N_ELEMENTS(rows), CLASS);
    Result result = compute(text, FALSE);

    g_assert_cmpfloat_with_epsilon(result.weights[0].estimate[PROFILE_PINNED], 90 * 4096, 1e-6);
    g_assert_cmpfloat(result.weights[1].estimate[PROFILE_PINNED], ==, 0);
    g_assert_cmpfloat(result.weights[1].estimate[PROFILE_WHATIF], >, 0);
    clear(&result);
}

/* 19 samples say nothing; 20 do, of the part of the live regions that they are. */
static void
test_few(void)
{
    const Row few[] = {{0x2100, 19, 1000000, 3}}, enough[] = {{0x2100, 20, 1000000, 3}};
    g_autofree char *silent = dump_of(few, 1, CLASS);
    g_autofree char *text = dump_of(enough, 1, CLASS);
    Result nothing = compute(silent, FALSE), result = compute(text, FALSE);

    g_assert_cmpfloat(nothing.sum.attributed, ==, 0);
    g_assert_cmpfloat(nothing.weights[0].estimate[PROFILE_PINNED], ==, 0);
    g_assert_cmpfloat(nothing.weights[0].estimate[PROFILE_WHATIF], ==, 0);
    g_assert_cmpfloat_with_epsilon(result.sum.attributed, 90 * 4096 * (20.0 / 38), 1e-6);
    g_assert_cmpfloat_with_epsilon(result.sum.covered, 20.0 / 38, 1e-9);
    clear(&nothing);
    clear(&result);
}

/* Two halves of every slab: alone neither gives much back, together all of it. */
static void
test_together(void)
{
    const Row rows[] = {{0x2100, 64, 1000000, 2}, {0x2200, 64, 1000000, 2}};
    g_autofree char *text = dump_of(rows, G_N_ELEMENTS(rows),
                                    "jescope_class=1 size=4096 regions=4 slab=16384 slabs=64 live=128 nonfull=64\n");
    Result apart = compute(text, FALSE), both = compute(text, TRUE);

    g_assert_cmpfloat_with_epsilon(apart.weights[0].estimate[PROFILE_WHATIF], 64 * 16384 / 4.0, 1);
    g_assert_cmpfloat_with_epsilon(both.weights[0].estimate[PROFILE_WHATIF] + both.weights[1].estimate[PROFILE_WHATIF],
                                   64 * 16384, 1);
    clear(&apart);
    clear(&both);
}

/* Of jemalloc's profiler the slabs are not known: shares of the class, without the objects that it keeps elsewhere. */
static void
test_rows(void)
{
    static const char text[] = "heap_v2/65536\n@ 0x2100\n  t*: 60: 245760 [0: 0]\n@ 0x2200\n  t*: 20: 81920 [0: 0]\n"
                               "@ 0x2300\n  t*: 10: 30000 [0: 0]\n" MAPS
                               "jescope_class=1 size=4096 regions=4 slab=16384 slabs=400 live=1240 nonfull=200\n";
    Result result = compute(text, FALSE);

    g_assert_false(result.sum.addressed);
    g_assert_cmpfloat(result.sum.unused, ==, 360 * 4096);
    g_assert_cmpfloat_with_epsilon(result.weights[0].estimate[PROFILE_PINNED], 360 * 4096 * 0.75, 1);
    g_assert_cmpfloat_with_epsilon(result.weights[1].estimate[PROFILE_PINNED], 360 * 4096 * 0.25, 1);
    g_assert_cmpfloat(result.weights[2].estimate[PROFILE_PINNED], ==, 0); /* objects of several sizes */
    /* 200 full slabs; of the others the mean is 2.2 of 4 regions. */
    g_assert_cmpfloat(result.weights[0].estimate[PROFILE_WHATIF], >,
                      16384 * (200 * pow(0.75, 4) + 200 * pow(0.75, 2.2)));
    g_assert_cmpfloat(result.weights[0].estimate[PROFILE_WHATIF], <, 16384 * (200 * pow(0.75, 4) + 200 * 0.75));
    clear(&result);
}

/* A merged profile does not know; without statistics neither. */
static void
test_unknown(void)
{
    const Row rows[] = {{0x2100, 30, 1000000, 3}};
    g_autofree char *bare = dump_of(rows, 1, "");
    g_autofree char *text = dump_of(rows, 1, CLASS);
    g_autoptr(Profile) without = read_text(bare, PROFILE_READ_DEFAULT);
    g_autoptr(Profile) with = read_text(text, PROFILE_READ_DEFAULT);
    const Profile *const twice[] = {with, with};
    g_autoptr(Profile) merged = profile_merge(twice, G_N_ELEMENTS(twice), NULL);

    g_assert_false(profile_has_value(without, PROFILE_PINNED));
    g_assert_false(profile_has_value(merged, PROFILE_WHATIF));
}

/* Numbers that no jemalloc writes: nothing but finite numbers come of it. */
static void
test_hostile(void)
{
    static const char *const classes[] = {
        "jescope_class=1 size=4096 regions=18446744073709551615 slab=1 slabs=18446744073709551615 live=5\n",
        "jescope_class=1 size=4096 regions=4 slab=18446744073709551615 slabs=4611686018427387903 live=1 nonfull=9\n",
        "jescope_class=1 size=4096 regions=4 slab=16384 slabs=1 live=4000\n",
        "jescope_class=1 size=4096 regions=4 slab=16384 slabs=1 live=4 nonfull=77\n",
        "jescope_class=1 size=4096 regions=4096 slab=16777216 slabs=9 live=4097 nonfull=8\n",
        "jescope_class=1\n",
        CLASS CLASS,
    };
    const Row rows[] = {{0x2100, 30, 18446744073709551615u, 3}, {0x2200, 30, 1, 4000000000u}, {0x2300, 30, 2, 3}};

    for (gsize i = 0; i < G_N_ELEMENTS(classes); i++) {
        g_autofree char *text = dump_of(rows, G_N_ELEMENTS(rows), classes[i]);
        Result result = compute(text, FALSE);
        for (guint32 j = 0; j < profile_n_stacks(result.profile); j++) {
            for (ProfileValue value = PROFILE_PINNED; value <= PROFILE_WHATIF; value++) {
                g_assert_cmpfloat(result.weights[j].estimate[value], >=, 0);
                g_assert_true(isfinite(result.weights[j].estimate[value]));
                g_assert_true(isfinite(result.weights[j].variance[value]));
            }
        }
        clear(&result);
    }
}

/* The time of holes_compute() for N stacks with two samples each, in slabs of REGIONS regions of which one is free. */
static double
seconds_of(guint n, guint regions)
{
    struct timespec begin, end;
    HolesSum sum;
    g_autoptr(GString) text = g_string_new(SAMPLER);

    for (guint i = 0; i < n; i++) {
        const guint64 slab = G_GUINT64_CONSTANT(0x10000000) + (guint64)i * regions * 4096;
        g_string_append_printf(text, "@ 0x%x\n  t*: 2: 8192 [2: 8192]\n", 0x2100 + 16 * i);
        for (guint64 at = slab; at < slab + G_GUINT64_CONSTANT(2) * 4096; at += 4096)
            g_string_append_printf(text, "#live %" G_GINT64_MODIFIER "x 4096 1 1 1 %u\n", at, regions);
    }
    g_string_append(text, MAPS);
    g_string_append_printf(text, "jescope_class=1 size=4096 regions=%u slab=%u slabs=%u live=%u nonfull=%u\n", regions,
                           regions * 4096, n, 2 * n, n);
    g_autoptr(Profile) profile = read_text(text->str, PROFILE_READ_DEFAULT);
    g_autofree ProfileWeight *weights = g_new0(ProfileWeight, profile_n_stacks(profile));
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
    holes_compute(profile, NULL, PROFILE_WHATIF, weights, &sum);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    g_assert_cmpuint(profile_n_stacks(profile), ==, n);
    g_assert_true(sum.addressed && weights[0].estimate[PROFILE_WHATIF] > 0);
    return (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9;
}

/* What is computed for a number of samples in large slabs is not computed again for each stack that has as many. */
static void
test_many_stacks(void)
{
    enum { N_STACKS = 150000 };
    double small = seconds_of(N_STACKS, 4), large = seconds_of(N_STACKS, 4096);

    g_test_message("slabs of 4 regions %.3f s, of 4096 %.3f s", small, large);
    g_assert_cmpfloat(large, <, 4 * small + 0.5);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/profile/holes/addresses", test_addresses);
    g_test_add_func("/profile/holes/pinned-only", test_pinned_only);
    g_test_add_func("/profile/holes/young", test_young);
    g_test_add_func("/profile/holes/few", test_few);
    g_test_add_func("/profile/holes/together", test_together);
    g_test_add_func("/profile/holes/rows", test_rows);
    g_test_add_func("/profile/holes/unknown", test_unknown);
    g_test_add_func("/profile/holes/hostile", test_hostile);
    g_test_add_func("/profile/holes/many-stacks", test_many_stacks);
    return g_test_run();
}
