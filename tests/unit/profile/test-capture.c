/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/capture.h"
#include "profile/profile.h"

#include <string.h>

static const char dump[] = "heap_v2/65536\n  t*: 4: 512 [0: 0]\n@ 0x1000\n  t*: 3: 384 [0: 0]\n@ 0x2000\n"
                           "  t*: 1: 1048576 [0: 0]\n\nMAPPED_LIBRARIES:\n";

static const ProfileCapture all = {.time = 1763779200123456,
                                   .pid = 4711,
                                   .start = 99,
                                   .since = 1763779190000000,
                                   .until = 1763779200000000,
                                   .flags = CAPTURE_HAS_MEMORY | CAPTURE_STARTED_OFF,
                                   .allocated = 10 << 20,
                                   .unheld = 1 << 20,
                                   .large = 16384,
                                   .resident = 20 << 20,
                                   .outside = 5};

static Profile *
read_with(const char *line)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *text = g_strconcat(dump, line, NULL);
    g_autoptr(GBytes) bytes = g_bytes_new(text, strlen(text));
    Profile *profile = profile_read_bytes(bytes, "dump", PROFILE_READ_DEFAULT, &error);
    g_assert_no_error(error);
    return profile;
}

static void
test_round_trip(void)
{
    g_autofree char *line = capture_format(&all);
    g_autoptr(Profile) profile = read_with(line);
    g_assert_nonnull(profile_capture(profile));
    g_assert_cmpmem(profile_capture(profile), sizeof(all), &all, sizeof(all));
    g_autoptr(Profile) plain = read_with("");
    g_assert_null(profile_capture(plain));
}

static void
test_hostile_lines(void)
{
    static const char *const foreign[] = {"build=x\n", "jescope_capture=2 time=5\n", "jescope_capture=1x\n", "\n"};
    ProfileCapture capture = {.time = 7};
    for (gsize i = 0; i < G_N_ELEMENTS(foreign); i++) {
        g_assert_false(capture_parse(foreign[i], &capture));
        g_assert_cmpuint(capture.time, ==, 7);
    }
    g_assert_true(
        capture_parse("jescope_capture=1 time time= =5  pid=9 timex=3 start=99999999999999999999999\n", &capture));
    g_assert_cmpuint(capture.time, ==, 0);
    g_assert_cmpuint(capture.pid, ==, 9);
    g_assert_cmpuint(capture.start, ==, G_MAXUINT64);
    g_autoptr(Profile) profile = read_with("jescope_capture=1 flags=16 allocated=5 large=18446744073709551615\n");
    guint64 held = 1;
    g_assert_true(profile_held(profile, &held));
    g_assert_cmpuint(held, ==, 0);
}

/* Three samples of 128 bytes count as 16 KiB each; the one of 1 MiB as itself. */
static void
test_held(void)
{
    g_autofree char *line = capture_format(&all);
    g_autoptr(Profile) profile = read_with(line);
    guint64 held;
    g_assert_cmpuint(profile_sampling_overhead(profile, 16384), ==, 3 * (16384 - 128));
    g_assert_true(profile_held(profile, &held));
    g_assert_cmpuint(held, ==, (9 << 20) - 3 * (16384 - 128));
    g_autoptr(Profile) plain = read_with("");
    g_assert_false(profile_held(plain, &held));
}

/* Dumps of several processes in one file are added up, and so is what they held. */
static void
test_several_dumps(void)
{
    g_autofree char *line = capture_format(&all);
    g_autofree char *both = g_strconcat(line, dump, line, NULL);
    g_autoptr(Profile) one = read_with(line);
    g_autoptr(Profile) two = read_with(both);
    guint64 held_by_one = 0, held_by_two = 0;
    g_assert_cmpfloat_with_epsilon(profile_total(two)->estimate[PROFILE_INUSE_SPACE],
                                   2 * profile_total(one)->estimate[PROFILE_INUSE_SPACE], 1);
    g_assert_cmpuint(profile_period(two), ==, 65536);
    g_assert_true(profile_held(one, &held_by_one) && profile_held(two, &held_by_two));
    g_assert_cmpuint(ABS((gint64)(held_by_two - 2 * held_by_one)), <=, 2);
    g_assert_cmpuint(profile_capture(two)->pid, ==, 0);
    g_autofree char *unknown = g_strconcat(line, dump, NULL);
    g_autoptr(Profile) half = read_with(unknown);
    g_assert_null(profile_capture(half));
}

/* Each dump of a file brings its own names: the same address means another function in another process. */
static void
test_several_named_dumps(void)
{
    static const char named[] = "--- symbol\n0x1000 %s\n---\n--- heap\nheap_v2/1\n  t*: 1: %u [0: 0]\n@ 0x1000\n"
                                "  t*: 1: %u [0: 0]\n\nMAPPED_LIBRARIES:\n1000-9000 r-xp 00000000 08:01 %u /bin/%s\n";
    g_autofree char *first = g_strdup_printf(named, "one", 10, 10, 17, "one");
    g_autofree char *second = g_strdup_printf(named, "two", 20, 20, 18, "two");
    g_autofree char *text = g_strconcat(first, second, NULL);
    g_autoptr(GBytes) bytes = g_bytes_new(text, strlen(text));
    g_autoptr(GError) error = NULL;
    g_autoptr(Profile) both = profile_read_bytes(bytes, "both", PROFILE_READ_DEFAULT, &error);

    g_assert_no_error(error);
    g_assert_true(profile_is_joined(both));
    g_assert_cmpuint(profile_n_locations(both), ==, 2);
    g_assert_cmpstr(profile_embedded_symbol(both, 0), ==, "one");
    g_assert_cmpstr(profile_embedded_symbol(both, 1), ==, "two");
    g_assert_cmpfloat(profile_total(both)->estimate[PROFILE_INUSE_SPACE], ==, 30);
    /* Names stand before a dump, not within it. */
    g_autofree char *twice = g_strconcat("--- symbol\n---\n--- heap\n", first, NULL);
    g_autoptr(GBytes) bad = g_bytes_new(twice, strlen(twice));
    g_assert_null(profile_read_bytes(bad, "twice", PROFILE_READ_DEFAULT, &error));
    g_assert_error(error, PROFILE_ERROR, PROFILE_ERROR_NOT_A_PROFILE);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/profile/capture/round-trip", test_round_trip);
    g_test_add_func("/profile/capture/hostile-lines", test_hostile_lines);
    g_test_add_func("/profile/capture/held", test_held);
    g_test_add_func("/profile/capture/several-dumps", test_several_dumps);
    g_test_add_func("/profile/capture/several-named-dumps", test_several_named_dumps);
    return g_test_run();
}
