/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

/* Locations: 0 malloc, 1 operator new, 2 a, 3 b, 4 main. */
static const char dump[] = "heap_v2/1\n  t*: 0: 0 [0: 0]\n  t1: 0: 0 [0: 0] one\n  t2: 0: 0 [0: 0] two\n"
                           "@ 0x2100 0x2201 0x2301 0x2401 0x2501\n  t*: 1: 1 [0: 0]\n  t1: 1: 1 [0: 0]\n"
                           "@ 0x2100 0x2301 0x2501\n  t*: 1: 10 [0: 0]\n  t1: 1: 10 [0: 0]\n"
                           "@ 0x2100 0x2301 0x2201 0x2401 0x2501\n  t*: 1: 100 [0: 0]\n  t2: 1: 100 [0: 0]\n" MAPS;

enum { MALLOC, NEW, A, B, MAIN, N_LOCATIONS };

static const guint8 allocator[N_LOCATIONS] = {[MALLOC] = 1, [NEW] = 1};
static const guint8 only_a[N_LOCATIONS] = {[A] = 1};
static const guint8 only_b[N_LOCATIONS] = {[B] = 1};
static const guint8 nothing[N_LOCATIONS] = {0};

static void
check(ProfileFilter filter, guint32 n_stacks, gdouble total)
{
    g_autoptr(Profile) profile = read_text(dump, PROFILE_READ_THREADS);
    g_autoptr(Profile) filtered = profile_filter(profile, &filter, NULL);

    g_assert_cmpuint(profile_n_locations(profile), ==, N_LOCATIONS);
    g_assert_cmpuint(profile_n_locations(filtered), ==, N_LOCATIONS);
    g_assert_cmpuint(profile_n_stacks(filtered), ==, n_stacks);
    g_assert_cmpfloat(profile_total(filtered)->estimate[PROFILE_INUSE_SPACE], ==, total);
}

static void
test_rules(void)
{
    check((ProfileFilter){.thread = PROFILE_NONE}, 3, 111);
    check((ProfileFilter){.focus = only_b, .thread = PROFILE_NONE}, 2, 101);
    check((ProfileFilter){.ignore = only_b, .thread = PROFILE_NONE}, 1, 10);
    check((ProfileFilter){.retain = only_b, .thread = PROFILE_NONE}, 2, 101);
    check((ProfileFilter){.retain = nothing, .thread = PROFILE_NONE}, 0, 0);
    check((ProfileFilter){.focus = nothing, .thread = PROFILE_NONE}, 0, 0);
    check((ProfileFilter){.exclude = allocator, .thread = PROFILE_NONE}, 3, 111);
    check((ProfileFilter){.exclude = only_a, .focus = only_a, .thread = PROFILE_NONE}, 0, 0);
    check((ProfileFilter){.thread = 0}, 2, 11);
    check((ProfileFilter){.thread = 1, .ignore = only_b}, 0, 0);
}

static void
test_trim(void)
{
    g_autoptr(Profile) profile = read_text(dump, PROFILE_READ_DEFAULT);
    g_autoptr(Profile) trimmed =
        profile_filter(profile, &(ProfileFilter){.trim = allocator, .thread = PROFILE_NONE}, NULL);
    g_autoptr(Profile) cut = profile_filter(profile, &(ProfileFilter){.cut = allocator, .thread = PROFILE_NONE}, NULL);
    g_autoptr(Profile) both =
        profile_filter(profile, &(ProfileFilter){.trim = allocator, .cut = only_b, .thread = PROFILE_NONE}, NULL);

    g_assert_true(has_stack(trimmed, "2300 2400 2500"));
    g_assert_true(has_stack(trimmed, "2300 2500"));
    g_assert_true(has_stack(trimmed, "2300 2200 2400 2500"));
    g_assert_cmpfloat(stack_value(cut, "2400 2500", PROFILE_INUSE_SPACE), ==, 100);
    g_assert_cmpfloat(stack_value(cut, "2300 2400 2500", PROFILE_INUSE_SPACE), ==, 1);
    g_assert_cmpfloat(stack_value(both, "2500", PROFILE_INUSE_SPACE), ==, 101);
}

static void
test_all_trimmed(void)
{
    g_autoptr(Profile) profile = read_text(dump, PROFILE_READ_DEFAULT);
    static const guint8 everything[N_LOCATIONS] = {1, 1, 1, 1, 1};
    g_autoptr(Profile) trimmed =
        profile_filter(profile, &(ProfileFilter){.trim = everything, .thread = PROFILE_NONE}, NULL);

    g_assert_cmpuint(profile_n_stacks(trimmed), ==, 1); /* the weight is not lost with the frames */
    g_assert_cmpuint(profile_stacks(trimmed)[0].depth, ==, 0);
    g_assert_cmpfloat(stack_value(trimmed, "", PROFILE_INUSE_SPACE), ==, 111);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/profile/filter/rules", test_rules);
    g_test_add_func("/profile/filter/trim", test_trim);
    g_test_add_func("/profile/filter/all-trimmed", test_all_trimmed);
    return g_test_run();
}
