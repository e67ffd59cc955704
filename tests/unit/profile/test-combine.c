/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#define DUMP(stack, row, maps) "heap_v2/1\n  t*: 0: 0 [0: 0]\n@ " stack "\n  t*: " row "\n\nMAPPED_LIBRARIES:\n" maps

/* The same program, at two places. */
static const char first_run[] = DUMP("0x2100 0x2201", "2: 200 [3: 300]", "2000-9000 r-xp 00001000 fe:00 7   /bin/a\n");
static const char second_run[] =
    DUMP("0x72100 0x72201", "1: 50 [9: 900]", "72000-79000 r-xp 00001000 fe:01 7   /bin/a\n");
static const char other_file[] = DUMP("0x2100 0x2201", "1: 50 [9: 900]", "2000-9000 r-xp 00001000 fe:00 8   /bin/a\n");

static void
test_merge_across_layouts(void)
{
    g_autoptr(Profile) first = read_text(first_run, PROFILE_READ_DEFAULT);
    g_autoptr(Profile) second = read_text(second_run, PROFILE_READ_DEFAULT);
    const Profile *both[] = {first, second};
    g_autoptr(Profile) merged = profile_merge(both, G_N_ELEMENTS(both), NULL);

    g_assert_cmpuint(profile_n_stacks(merged), ==, 1);
    g_assert_cmpuint(profile_n_objects(merged), ==, 1);
    g_assert_cmpuint(profile_n_mappings(merged), ==, 2);
    g_assert_cmpfloat(stack_value(merged, "2100 2200", PROFILE_INUSE_SPACE), ==, 250);
    g_assert_cmpfloat(stack_value(merged, "2100 2200", PROFILE_ALLOC_OBJECTS), ==, 12);
    g_assert_cmpfloat(profile_total(merged)->estimate[PROFILE_ALLOC_SPACE], ==, 1200);
}

/* One path, two inodes: a program replaced between the dumps. */
static void
test_replaced_file(void)
{
    g_autoptr(Profile) first = read_text(first_run, PROFILE_READ_DEFAULT);
    g_autoptr(Profile) second = read_text(other_file, PROFILE_READ_DEFAULT);
    const Profile *both[] = {first, second};
    g_autoptr(Profile) merged = profile_merge(both, G_N_ELEMENTS(both), NULL);

    g_assert_cmpuint(profile_n_stacks(merged), ==, 2);
    g_assert_cmpuint(profile_n_objects(merged), ==, 2);
    g_assert_cmpuint(profile_n_locations(merged), ==, 4); /* although the addresses are equal */
}

static void
test_deleted_later(void)
{
    g_autoptr(Profile) first = read_text(first_run, PROFILE_READ_DEFAULT);
    g_autoptr(Profile) second =
        read_text(DUMP("0x2100 0x2201", "1: 1 [0: 0]", "2000-9000 r-xp 00001000 fe:00 7   /bin/a (deleted)\n"),
                  PROFILE_READ_DEFAULT);
    const Profile *both[] = {first, second};
    g_autoptr(Profile) merged = profile_merge(both, G_N_ELEMENTS(both), NULL);

    g_assert_cmpuint(profile_n_stacks(merged), ==, 1);
    g_assert_cmpuint(profile_objects(merged)[0].flags, ==, PROFILE_OBJECT_DELETED);
}

/* Threads of two processes are the same only by number and name; symbols and losses come along. */
static void
test_details(void)
{
    g_autoptr(Profile) first = read_text("--- symbol\n0x2100 f\n---\n--- heap\nheap_v2/1\n  t*: 0: 0 [0: 0]\n"
                                         "  t1: 0: 0 [0: 0] net\n@ 0x2100\n  t*: 1: 1 [0: 0]\n  t1: 1: 1 [0: 0]\n" MAPS,
                                         PROFILE_READ_THREADS);
    g_autoptr(Profile) second = read_text("heap_v2/1\n  t*: 0: 0 [0: 0]\n  t1: 0: 0 [0: 0] disk\n@ 0x2100\n"
                                          "  t*: 1: 1 [0: 0]\n  t1: 1: 1 [0: 0]\n",
                                          PROFILE_READ_THREADS | PROFILE_READ_PARTIAL);
    const Profile *all[] = {first, second, first};
    g_autoptr(Profile) merged = profile_merge(all, G_N_ELEMENTS(all), NULL);

    g_assert_cmpuint(profile_n_threads(merged), ==, 2);
    g_assert_cmpuint(profile_n_stacks(merged), ==, 2);
    g_assert_cmpstr(profile_embedded_symbol(merged, 0), ==, "f");
    g_assert_nonnull(profile_lost(merged));
    g_assert_cmpstr(profile_lost(merged)->reason, ==, profile_lost(second)->reason);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/profile/combine/across-layouts", test_merge_across_layouts);
    g_test_add_func("/profile/combine/replaced-file", test_replaced_file);
    g_test_add_func("/profile/combine/deleted-later", test_deleted_later);
    g_test_add_func("/profile/combine/details", test_details);
    return g_test_run();
}
