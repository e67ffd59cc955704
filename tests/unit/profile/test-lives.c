/* SPDX-License-Identifier: Apache-2.0 */
/* Dumps of jescope's sampler: what is read from them, what is refused, and that the estimates hold the truth. */
#include "fixture.h"
#include "profile/lives.h"

#include <math.h>
#include <string.h>

#define SAMPLER                                                                                                        \
    "#sampler jescope 1 since=1763779195000000 window=10000000 dropped=2 dropped_bytes=8192 thinned=1 later=x\n"
#define HEADER "heap_v2/1\n" SAMPLER "  t*: 0: 0 [0: 0]\n  t17: 0: 0 [0: 0] main\n"
#define STACK  "@ 0x2100 0x2201\n  t*: 2: 300 [5: 600]\n"
#define LIVES                                                                                                          \
    "#live 7f0012340000 100 4000000 17\n#live 7f0012340080 200 9000000 18\n#died 100 3 6000000 abaac8b38c000\n"

static const ProfileWeight *
total_of(const Profile *profile)
{
    return profile_total(profile);
}

static void
test_read(void)
{
    g_autoptr(Profile) profile = read_text(HEADER STACK LIVES "# another comment\n" MAPS, PROFILE_READ_DEFAULT);
    const ProfileSampler *sampler = profile_sampler(profile);
    guint32 n_samples, n_deaths;
    const ProfileSample *samples = profile_samples(profile, &n_samples);
    const ProfileDeaths *deaths = profile_deaths(profile, &n_deaths);

    g_assert_nonnull(sampler);
    g_assert_cmpuint(sampler->since, ==, 1763779195000000);
    g_assert_cmpuint(sampler->window, ==, 10000000);
    g_assert_cmpuint(sampler->dropped, ==, 2);
    g_assert_cmpuint(sampler->dropped_bytes, ==, 8192);
    g_assert_cmpuint(sampler->thinned, ==, 1);
    g_assert_cmpuint(n_samples, ==, 2);
    g_assert_cmphex(samples[1].address, ==, 0x7f0012340080);
    g_assert_cmpuint(samples[1].size, ==, 200);
    g_assert_cmpuint(samples[1].born, ==, 9000000);
    g_assert_cmpuint(samples[1].thread, ==, 18);
    g_assert_cmpuint(samples[1].stack, ==, 0);
    g_assert_cmpuint(n_deaths, ==, 1);
    g_assert_cmpuint(deaths[0].n, ==, 3);
    g_assert_cmpfloat_with_epsilon(deaths[0].lifetimes, 6, 1e-9);
    g_assert_cmpfloat_with_epsilon(deaths[0].squares, 3020, 1e-6);
}

static void
test_values(void)
{
    g_autoptr(Profile) profile = read_text(HEADER STACK LIVES MAPS, PROFILE_READ_DEFAULT);
    static const gdouble expected[PROFILE_N_VALUES] = {5, 600, 2, 300, 3, 300, 30, 800, 600};
    gdouble mean, variance;

    for (guint value = 0; value < PROFILE_PINNED; value++) {
        g_assert_true(profile_has_value(profile, value));
        g_assert_cmpfloat_with_epsilon(total_of(profile)->estimate[value], expected[value], 1e-9);
        g_assert_cmpfloat(total_of(profile)->variance[value], ==, 0);
    }
    g_assert_cmpfloat(total_of(profile)->births, ==, 5);
    g_assert_cmpfloat(total_of(profile)->deaths, ==, 3);
    g_assert_true(profile_mean(total_of(profile), PROFILE_AGE, &mean, &variance));
    g_assert_cmpfloat_with_epsilon(mean, 800 / 300.0, 1e-9);
    g_assert_true(profile_mean(total_of(profile), PROFILE_LIFETIME, &mean, &variance));
    g_assert_cmpfloat_with_epsilon(mean, 2, 1e-9);
    g_assert_false(profile_mean(&(ProfileWeight){0}, PROFILE_AGE, &mean, &variance));
}

/* Of one thread only what lives is known. */
static void
test_threads(void)
{
    g_autoptr(Profile) profile = read_text(HEADER STACK LIVES MAPS, PROFILE_READ_THREADS);
    guint32 n_samples;
    const ProfileSample *samples = profile_samples(profile, &n_samples);

    for (guint32 i = 0; i < n_samples; i++) {
        guint32 thread = profile_stacks(profile)[samples[i].stack].thread;
        g_assert_cmpuint(profile_threads(profile)[thread].uid, ==, samples[i].thread);
        g_assert_cmpfloat(profile_weights(profile)[samples[i].stack].estimate[PROFILE_INUSE_SPACE], ==,
                          samples[i].size);
    }
    g_assert_true(profile_has_value(profile, PROFILE_INUSE_SPACE) && profile_has_value(profile, PROFILE_AGE));
    g_assert_false(profile_has_value(profile, PROFILE_ALLOC_SPACE) || profile_has_value(profile, PROFILE_LIFETIME));
}

static void
test_jemalloc_knows(void)
{
    g_autoptr(Profile) plain = read_text("heap_v2/1\n@ 0x2100\n  t*: 1: 8 [0: 0]\n" MAPS, PROFILE_READ_DEFAULT);
    g_autoptr(Profile) accum = read_text("heap_v2/1\n@ 0x2100\n  t*: 1: 8 [3: 40]\n" MAPS, PROFILE_READ_DEFAULT);
    const Profile *const both[] = {plain, accum};
    g_autoptr(Profile) merged = profile_merge(both, G_N_ELEMENTS(both), NULL);

    g_assert_null(profile_sampler(plain));
    g_assert_false(profile_has_value(plain, PROFILE_ALLOC_SPACE) || profile_has_value(plain, PROFILE_FREED_SPACE));
    g_assert_true(profile_has_value(plain, PROFILE_INUSE_OBJECTS) && profile_has_value(accum, PROFILE_FREED_OBJECTS));
    g_assert_false(profile_has_value(accum, PROFILE_AGE) || profile_has_value(accum, PROFILE_CHURN));
    g_assert_cmpfloat(total_of(accum)->estimate[PROFILE_FREED_OBJECTS], ==, 2);
    g_assert_cmpfloat(total_of(accum)->estimate[PROFILE_FREED_SPACE], ==, 32);
    g_assert_cmpfloat(total_of(accum)->births, ==, 3);
    g_assert_cmpfloat(total_of(accum)->deaths, ==, 2);
    g_assert_false(profile_has_value(merged, PROFILE_ALLOC_SPACE));
}

static void
test_merge(void)
{
    g_autoptr(Profile) profile = read_text(HEADER STACK LIVES MAPS, PROFILE_READ_DEFAULT);
    const Profile *const twice[] = {profile, profile};
    g_autoptr(Profile) merged = profile_merge(twice, G_N_ELEMENTS(twice), NULL);
    gdouble mean, variance;
    guint32 n;

    g_assert_true(profile_has_value(merged, PROFILE_LIFETIME));
    g_assert_true(profile_mean(total_of(merged), PROFILE_LIFETIME, &mean, &variance));
    g_assert_cmpfloat_with_epsilon(mean, 2, 1e-9);
    g_assert_null(profile_sampler(merged));
    profile_samples(merged, &n);
    g_assert_cmpuint(n, ==, 0);
}

static void
test_refused(void)
{
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"heap_v2/1\n#sampler jescope 2\n", "x.heap:2:1: found \"#sampler\", expected #sampler jescope 1"},
        {"heap_v2/1\n#sampler jescope 1 since=1\n",
         "x.heap:2:1: found \"#sampler\", expected \"window=\" and a number from 1 on"},
        {"heap_v2/1\n#sampler jescope 1 window=x\n",
         "x.heap:2:27: found \"x\", expected a decimal number of at most 64 bits"},
        {"heap_v2/1\n" STACK "#live 7f00 1 2 3\n",
         "x.heap:4:1: found \"#live\", expected \"#sampler jescope 1\" in the second line of such a dump"},
        {"heap_v2/1\n" SAMPLER "@ 0x2100\n#live 7f00 1 2 3\n",
         "x.heap:4:1: found \"#live\", expected a stack's \"t*:\" row first"},
        {"heap_v2/1\n" SAMPLER STACK "\n#died 1 2 3 4\n",
         "x.heap:6:1: found \"#died\", expected a stack's \"t*:\" row first"},
        {"heap_v2/1\n" SAMPLER STACK "#live 7f00 0 2 3\n", "x.heap:5:12: found \"0\", expected a size from 1 on"},
        {"heap_v2/1\n" SAMPLER STACK "#live 7f00 1 2 4294967296\n",
         "x.heap:5:16: found \"4294967296\", expected a thread's number of at most 32 bits"},
        {"heap_v2/1\n" SAMPLER STACK "#live 7f00 1 2\n", "x.heap:5:15: found the end of the line, expected a blank"},
        {"heap_v2/1\n" SAMPLER STACK "#died 1 0 3 4\n", "x.heap:5:9: found \"0\", expected a number from 1 on"},
        {"heap_v2/1\n" SAMPLER STACK "#died 1 2 3 123456789012345678901234567890123\n",
         "x.heap:5:13: found \"123456789012345678901234\", expected a hexadecimal number of at most 32 digits"},
        {"heap_v2/1\n" SAMPLER STACK "#died 1 2 3 4 5\n", "x.heap:5:14: found a blank, expected the end of the line"},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *text = g_strconcat(cases[i].text, MAPS, NULL);
        assert_fails(text, PROFILE_ERROR_MALFORMED, cases[i].message);
    }
}

/* What a partial read drops never leaves a sample without its stack. */
static void
test_partial(void)
{
    g_autoptr(Profile) profile = read_text(
        HEADER "@ 0x2100\n#live 7f00 1 2 3\n  t*: 1: 1 [0: 0]\n@ 0x2300\n  t*: 1: 1 [0: 0]\n#live 7f00 1 2 x\n"
               "#live 7f00 8 2 3\n" MAPS,
        PROFILE_READ_PARTIAL);
    guint32 n;
    const ProfileSample *samples = profile_samples(profile, &n);

    g_assert_nonnull(profile_lost(profile));
    g_assert_cmpuint(n, ==, 1);
    g_assert_cmpuint(samples[0].stack, <, profile_n_stacks(profile));
    g_assert_cmpfloat(stack_value(profile, "2300", PROFILE_INUSE_SPACE), ==, 8);
}

static void
assert_holds(gdouble estimate, gdouble variance, gdouble truth, gboolean wide)
{
    ProfileInterval interval = profile_interval(estimate, variance, 3.5);
    gdouble half = wide ? 3.5 * sqrt(variance) : 0;

    g_assert_cmpfloat(truth, >=, (wide ? estimate - half : interval.low) - 1e-6 * fabs(truth));
    g_assert_cmpfloat(truth, <=, (wide ? estimate + half : interval.high) + 1e-6 * fabs(truth));
}

/* tests/data/sampler/simulate knows what it has simulated: every estimate is within 3.5 of its errors. */
static void
test_simulated(void)
{
    static const ProfileValue columns[] = {PROFILE_ALLOC_OBJECTS, PROFILE_ALLOC_SPACE,   PROFILE_INUSE_OBJECTS,
                                           PROFILE_INUSE_SPACE,   PROFILE_FREED_OBJECTS, PROFILE_FREED_SPACE};
    g_autofree char *dump =
        g_test_build_filename(G_TEST_DIST, "..", "..", "data", "sampler", "simulated.heap.gz", NULL);
    g_autofree char *table = g_test_build_filename(G_TEST_DIST, "..", "..", "data", "sampler", "simulated.tsv", NULL);
    g_autofree char *text = NULL;
    g_autoptr(Profile) profile = profile_read_file(dump, PROFILE_READ_DEFAULT, NULL);

    g_assert_nonnull(profile);
    g_assert_true(g_file_get_contents(table, &text, NULL, NULL));
    g_auto(GStrv) lines = g_strsplit(g_strchomp(text), "\n", -1);
    g_assert_cmpuint(g_strv_length(lines), ==, profile_n_stacks(profile));
    for (guint i = 0; lines[i] != NULL; i++) {
        g_auto(GStrv) cells = g_strsplit(lines[i], "\t", -1);
        const ProfileWeight *weight = &profile_weights(profile)[i];
        for (guint j = 0; j < G_N_ELEMENTS(columns); j++)
            assert_holds(weight->estimate[columns[j]], weight->variance[columns[j]], g_ascii_strtod(cells[1 + j], NULL),
                         FALSE);
        for (guint j = 0; j < 2; j++) {
            gdouble mean, variance;
            gdouble truth = g_ascii_strtod(cells[7 + j], NULL);
            gboolean has = profile_mean(weight, j == 0 ? PROFILE_AGE : PROFILE_LIFETIME, &mean, &variance);
            g_assert_cmpint(has, ==, truth != 0);
            if (has)
                assert_holds(mean, variance, truth, TRUE);
        }
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/profile/lives/read", test_read);
    g_test_add_func("/profile/lives/values", test_values);
    g_test_add_func("/profile/lives/threads", test_threads);
    g_test_add_func("/profile/lives/jemalloc-knows", test_jemalloc_knows);
    g_test_add_func("/profile/lives/merge", test_merge);
    g_test_add_func("/profile/lives/refused", test_refused);
    g_test_add_func("/profile/lives/partial", test_partial);
    g_test_add_func("/profile/lives/simulated", test_simulated);
    return g_test_run();
}
