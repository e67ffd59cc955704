/* SPDX-License-Identifier: Apache-2.0 */
#include "jemalloc/version.h"

#include <glib.h>

static void
test_parses(void)
{
    JemallocVersion version;
    g_assert_true(jemalloc_version_parse("5.3.0-0-g54eaed1d8b56b1aa528be3bdd1877e59c56fa90c", &version));
    g_assert_cmpuint(version.major, ==, 5);
    g_assert_cmpuint(version.minor, ==, 3);
    g_assert_cmpuint(version.bugfix, ==, 0);
    g_assert_true(jemalloc_version_parse("10.20.30", &version));
    g_assert_cmpuint(version.bugfix, ==, 30);
}

static void
test_refuses(void)
{
    static const char *const bad[] = {"", "5", "5.3", "5.3.", "5..0", "v5.3.0", "5.3.0x", "99999.0.0", "-5.3.0"};
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        JemallocVersion version = {1, 2, 3};
        g_assert_false(jemalloc_version_parse(bad[i], &version));
        g_assert_cmpuint(version.major * 100 + version.minor * 10 + version.bugfix, ==, 123);
    }
}

static void
test_quirks_have_borders(void)
{
    const unsigned zero = JEMALLOC_QUIRK_ZERO_BACKGROUND_THREADS;
    g_assert_cmpuint(jemalloc_quirks(&(JemallocVersion){5, 0, 1}) & zero, ==, 0);
    g_assert_cmpuint(jemalloc_quirks(&(JemallocVersion){5, 1, 0}) & zero, ==, zero);
    g_assert_cmpuint(jemalloc_quirks(&(JemallocVersion){5, 2, 1}) & zero, ==, zero);
    g_assert_cmpuint(jemalloc_quirks(&(JemallocVersion){5, 3, 0}) & zero, ==, zero);
    g_assert_cmpuint(jemalloc_quirks(&(JemallocVersion){5, 3, 1}) & zero, ==, 0);
    g_assert_cmpuint(jemalloc_quirks(NULL) & zero, ==, zero);
}

static void
test_harmful_writes(void)
{
    const unsigned zero = JEMALLOC_QUIRK_ZERO_BACKGROUND_THREADS;
    g_assert_cmpint(jemalloc_harm(zero, "max_background_threads", 0), ==, JEMALLOC_HARMFUL);
    g_assert_cmpint(jemalloc_harm(zero, "max_background_threads", 1), ==, JEMALLOC_HARMLESS);
    g_assert_cmpint(jemalloc_harm(zero, "background_thread", 1), ==, JEMALLOC_HARMFUL_WITHOUT_THREADS);
    g_assert_cmpint(jemalloc_harm(zero, "background_thread", 0), ==, JEMALLOC_HARMLESS);
    g_assert_cmpint(jemalloc_harm(zero, "prof.active", 0), ==, JEMALLOC_HARMLESS);
    g_assert_cmpint(jemalloc_harm(0, "max_background_threads", 0), ==, JEMALLOC_HARMLESS);
    g_assert_cmpint(jemalloc_harm(0, "background_thread", 1), ==, JEMALLOC_HARMLESS);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/jemalloc/version/parses", test_parses);
    g_test_add_func("/jemalloc/version/refuses", test_refuses);
    g_test_add_func("/jemalloc/version/quirks-have-borders", test_quirks_have_borders);
    g_test_add_func("/jemalloc/version/harmful-writes", test_harmful_writes);
    return g_test_run();
}
