/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#define HEADER "heap_v2/1\n  t*: 3: 300 [0: 0]\n  t0: 3: 300 [0: 0] main thread\n  t7: 0: 0 [0: 0]\n"

static void
test_jemalloc(void)
{
    g_autoptr(Profile) profile = read_text(HEADER "@ 0x2100 0x2201 0x0\n  t*: 2: 200 [5: 500]\n  t0: 2: 200 [5: 500]\n"
                                                  "@ 0x2100\n  t*: 1: 100 [1: 100]\n  t7: 1: 100 [1: 100]\n"
                                                  "@ 0x2100 0x2201\n  t*: 1: 1 [1: 1]\n" MAPS,
                                           PROFILE_READ_DEFAULT);

    g_assert_cmpuint(profile_n_stacks(profile), ==, 2); /* trailing zeros do not make another stack */
    g_assert_cmpfloat(stack_value(profile, "2100 2200", PROFILE_INUSE_SPACE), ==, 201);
    g_assert_cmpfloat(stack_value(profile, "2100 2200", PROFILE_ALLOC_OBJECTS), ==, 6);
    g_assert_cmpfloat(stack_value(profile, "2100", PROFILE_ALLOC_SPACE), ==, 100);
    g_assert_cmpfloat(profile_total(profile)->estimate[PROFILE_INUSE_OBJECTS], ==, 4);
    g_assert_cmpuint(profile_n_threads(profile), ==, 2);
    g_assert_cmpstr(profile_threads(profile)[0].name, ==, "main thread");
    g_assert_cmpuint(profile_threads(profile)[1].uid, ==, 7);
    g_assert_null(profile_lost(profile));
    g_assert_cmpuint(profile_n_mappings(profile), ==, 1);
    g_assert_cmphex(profile_locations(profile)[0].file_offset, ==, 0x1100);
}

static void
test_threads(void)
{
    g_autoptr(Profile) profile =
        read_text(HEADER "@ 0x2100\n  t*: 3: 300 [0: 0]\n  t0: 2: 200 [0: 0]\n  t9: 1: 100 [0: 0]\n"
                         "@ 0x2200\n  t*: 1: 5 [0: 0]\n" MAPS,
                  PROFILE_READ_THREADS);

    g_assert_cmpuint(profile_n_stacks(profile), ==, 3);
    g_assert_cmpuint(profile_stacks(profile)[0].first, ==, profile_stacks(profile)[1].first);
    g_assert_cmpuint(profile_threads(profile)[profile_stacks(profile)[1].thread].uid, ==, 9);
    g_assert_cmpuint(profile_stacks(profile)[2].thread, ==, PROFILE_NONE);
    g_assert_cmpfloat(profile_total(profile)->estimate[PROFILE_INUSE_SPACE], ==, 305);
}

static void
test_one_line(void)
{
    g_autoptr(Profile) old = read_text("heap profile: 3: 300 [5: 500] @ heap_v2/512\n"
                                       "2: 200 [5: 500] @ 0x2100 0x2201 0x0\n\n" MAPS,
                                       PROFILE_READ_DEFAULT);
    g_autoptr(Profile) padded = read_text("heap profile:    53:    38236 [  5525:  1284029] @ heapprofile\n"
                                          "     1:     4096 [     2:     8192] @ 0x00002100 0x0000000000002201\n" MAPS,
                                          PROFILE_READ_DEFAULT);

    g_assert_cmpuint(profile_period(old), ==, 512);
    g_assert_cmpfloat(stack_value(old, "2100 2200", PROFILE_INUSE_SPACE), >, 1000);
    g_assert_cmpuint(profile_period(padded), ==, 1);
    g_assert_cmpfloat(stack_value(padded, "2100 2200", PROFILE_ALLOC_SPACE), ==, 8192);
}

static void
test_header_kinds(void)
{
    static const struct {
        const char *kind;
        guint64 period;
    } kinds[] = {{"heapprofile", 1}, {"growth", 1},          {"growthz", 1},    {"fragmentation", 1},
                 {"heap/1024", 512}, {"heap_v2/1024", 1024}, {"heapz_v2/8", 8}, {"heap/1", 1}};

    for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++) {
        g_autofree char *text = g_strdup_printf("heap profile: 0: 0 [0: 0] @ %s\n" MAPS, kinds[i].kind);
        g_autoptr(Profile) profile = read_text(text, PROFILE_READ_DEFAULT);
        g_assert_cmpuint(profile_period(profile), ==, kinds[i].period);
        g_assert_cmpuint(profile_n_stacks(profile), ==, 0);
    }
}

static void
test_symbolized(void)
{
    g_autoptr(Profile) profile = read_text(
        "--- symbol\nbinary=/bin/a\n0x0000000000002200 inlined--outer(int, char)\n0x2100 leaf\n"
        "0x2301 as in the dump\n---\n--- heap\n" HEADER "@ 0x2100 0x2201 0x2301 0x2401\n  t*: 2: 200 [5: 500]\n" MAPS,
        PROFILE_READ_DEFAULT);

    g_assert_cmpstr(profile_embedded_symbol(profile, 0), ==, "leaf");
    g_assert_cmpstr(profile_embedded_symbol(profile, 1), ==, "inlined--outer(int, char)");
    g_assert_cmpstr(profile_embedded_symbol(profile, 2), ==, "as in the dump");
    g_assert_null(profile_embedded_symbol(profile, 3));
}

static void
test_extremes(void)
{
    g_autoptr(Profile) profile = read_text(HEADER "@\n  t*: 1: 18446744073709551615 [0: 0]\n@ 0xffffffffffffffff 0x0 "
                                                  "0x00000000000000000012\n  t*: 1: 1 [0: 0]\n" MAPS,
                                           PROFILE_READ_DEFAULT);

    g_assert_cmpfloat(stack_value(profile, "", PROFILE_INUSE_SPACE), ==, 18446744073709551615.0);
    g_assert_true(has_stack(profile, "ffffffffffffffff 0 11")); /* a zero that ends nothing stays */
}

static void
test_leak_summary(void)
{
    g_autoptr(Profile) profile =
        read_text("<jemalloc>: Leak approximation summary: ~1 bytes\n" HEADER MAPS, PROFILE_READ_DEFAULT);

    g_assert_cmpuint(profile_n_stacks(profile), ==, 0);
}

static void
test_errors(void)
{
    static const struct {
        const char *text;
        ProfileError code;
        const char *message;
    } cases[] = {
        {"", PROFILE_ERROR_NOT_A_PROFILE, "x.heap is empty, not a heap profile"},
        {"\x7f"
         "ELF\n",
         PROFILE_ERROR_NOT_A_PROFILE,
         "x.heap is not a heap profile: it begins with \"\\x7fELF\", not with heap_v2/N, \"heap profile:\" or \"--- "
         "symbol\""},
        {"heap_v2/0\n", PROFILE_ERROR_MALFORMED,
         "x.heap:1:9: found \"0\", expected a sampling period from 1 on and the end of the line"},
        {"heap_v2/12\r\n", PROFILE_ERROR_MALFORMED,
         "x.heap:1:9: found \"12\\x0d\", expected a sampling period from 1 on and the end of the line"},
        {HEADER "@ 0x21z0\n", PROFILE_ERROR_MALFORMED,
         "x.heap:5:7: found \"z0\", expected a blank or the end of the line"},
        {HEADER "@ 2100\n", PROFILE_ERROR_MALFORMED,
         "x.heap:5:3: found \"2100\", expected an address 0x... of at most 64 bits"},
        {HEADER "@ 0x12345678901234567\n", PROFILE_ERROR_MALFORMED,
         "x.heap:5:3: found \"0x12345678901234567\", expected an address 0x... of at most 64 bits"},
        {HEADER "@ 0x2100\n  t*: 1: 18446744073709551616 [0: 0]\n", PROFILE_ERROR_MALFORMED,
         "x.heap:6:10: found \"18446744073709551616\", expected a decimal number of at most 64 bits"},
        {HEADER "@ 0x2100\n  t*: 1: 1 [0: 0] extra\n", PROFILE_ERROR_MALFORMED,
         "x.heap:6:18: found a blank, expected the end of the line"},
        {HEADER "@ 0x2100\n@ 0x2200\n", PROFILE_ERROR_MALFORMED,
         "x.heap:6:1: found \"@\", expected the stack's \"t*:\" row"},
        {HEADER "@ 0x2100\n  t1: 1: 1 [0: 0]\n", PROFILE_ERROR_MALFORMED,
         "x.heap:6:1: found a blank, expected the \"t*:\" row first"},
        {HEADER "  t*: 1 1\n", PROFILE_ERROR_MALFORMED, "x.heap:5:8: found a blank, expected ':'"},
        {HEADER "@ 0x2100\n  t*: 1: 1 [0: 0]\nMAPPED", PROFILE_ERROR_TRUNCATED,
         "x.heap:7:7: the file ends within a line"},
        {HEADER "@ 0x2100\n  t*: 1: 1 [0: 0]\n", PROFILE_ERROR_TRUNCATED,
         "x.heap:7:1: the file ends before MAPPED_LIBRARIES"},
        {HEADER MAPS "2000-9000 r-xp 0000g000 fe:00 7 /bin/a\n", PROFILE_ERROR_MALFORMED,
         "x.heap:9:20: found \"g000\", expected a blank"},
        {"heap profile: 0: 0 [0: 0] @ contention\n", PROFILE_ERROR_MALFORMED,
         "x.heap:1:29: found \"contention\", expected heapprofile, heap_v2/N, growth or fragmentation"},
        {"heap profile: 0: 0 [0: 0] @ heap_v2\n", PROFILE_ERROR_MALFORMED,
         "x.heap:1:36: found the end of the line, expected '/' and a sampling period from 1 on"},
        {"--- symbol\nmain\n", PROFILE_ERROR_MALFORMED,
         "x.heap:2:1: found \"main\", expected an address 0x..., a blank and a name"},
        {"heap_v2/", PROFILE_ERROR_TRUNCATED, "x.heap:1:9: the file ends within a line"},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
        assert_fails(cases[i].text, cases[i].code, cases[i].message);
}

static void
test_nul(void)
{
    static const char text[] = HEADER "@ 0x2100\0 0x2200\n";
    g_autoptr(GBytes) bytes = g_bytes_new_static(text, sizeof(text) - 1);
    g_autoptr(GError) error = NULL;

    g_assert_null(profile_read_bytes(bytes, "x.heap", PROFILE_READ_DEFAULT, &error));
    g_assert_cmpstr(error->message, ==, "x.heap:5:9: found \"\\x00\", expected a blank or the end of the line");
}

static void
test_partial_damage(void)
{
    g_autoptr(Profile) profile =
        read_text(HEADER "@ 0x2100\n  t*: 1: 1x [0: 0]\n  t0: 1: 1 [0: 0]\n" /* the stack goes, with its rows */
                         "@ 0x2200\n  t*: 1: 7 [0: 0]\n  t0: 1: junk\n"      /* the stack stays */
                         "@ 0x2300\n@ 0x2400\n  t*: 1: 9 [0: 0]\n" MAPS "nonsense\n",
                  PROFILE_READ_PARTIAL);
    const ProfileLoss *loss = profile_lost(profile);

    g_assert_cmpuint(profile_n_stacks(profile), ==, 2);
    g_assert_cmpfloat(stack_value(profile, "2200", PROFILE_INUSE_SPACE), ==, 7);
    g_assert_cmpfloat(stack_value(profile, "2400", PROFILE_INUSE_SPACE), ==, 9);
    g_assert_nonnull(loss);
    g_assert_cmpuint(loss->lines, ==, 3 + 1 + 1 + 1);
    g_assert_cmpuint(loss->bytes, ==,
                     strlen("@ 0x2100\n  t*: 1: 1x [0: 0]\n  t0: 1: 1 [0: 0]\n  t0: 1: junk\n@ 0x2300\n"
                            "nonsense\n"));
    g_assert_cmpstr(loss->reason, ==, "x.heap:6:11: found \"x\", expected a blank");
    g_assert_cmpuint(profile_n_mappings(profile), ==, 1);
}

static void
test_partial_cut(void)
{
    g_autoptr(Profile) within =
        read_text(HEADER "@ 0x2100\n  t*: 1: 1 [0: 0]\n@ 0x2200\n  t*: 1: 1", PROFILE_READ_PARTIAL);
    g_autoptr(Profile) between = read_text(HEADER "@ 0x2100\n  t*: 1: 1 [0: 0]\n", PROFILE_READ_PARTIAL);

    g_assert_cmpuint(profile_n_stacks(within), ==, 1);
    g_assert_cmpuint(profile_lost(within)->lines, ==, 2);
    g_assert_cmpuint(profile_lost(within)->bytes, ==, strlen("@ 0x2200\n  t*: 1: 1"));
    g_assert_cmpuint(profile_n_stacks(between), ==, 1);
    g_assert_cmpuint(profile_lost(between)->bytes, ==, 0);
    g_assert_cmpstr(profile_lost(between)->reason, ==, "x.heap:7:1: the file ends before MAPPED_LIBRARIES");
}

static void
test_partial_needs_header(void)
{
    g_autoptr(GBytes) bytes = g_bytes_new_static("junk\n", 5);
    g_autoptr(GError) error = NULL;

    g_assert_null(profile_read_bytes(bytes, "x.heap", PROFILE_READ_PARTIAL, &error));
    g_assert_error(error, PROFILE_ERROR, PROFILE_ERROR_NOT_A_PROFILE);
}

/* Memory follows distinct stacks: many more lines than stacks, some of them split between blocks of input. */
static void
test_repeated_lines(void)
{
    enum { N = 40000, DISTINCT = 97 };
    g_autoptr(GString) text = g_string_new(HEADER);

    for (guint i = 0; i < N; i++) {
        g_string_append_printf(text, "@ 0x2100 0x%x 0x7f0000000000 0x7f0000000%03x\n  t*: 1: 16 [1: 16]\n", 0x3000,
                               1 + i % DISTINCT);
    }
    g_string_append(text, MAPS);
    g_autoptr(Profile) profile = read_text(text->str, PROFILE_READ_DEFAULT);
    g_assert_cmpuint(profile_n_stacks(profile), ==, DISTINCT);
    g_assert_cmpuint(profile_n_locations(profile), ==, DISTINCT + 3);
    g_assert_cmpfloat(profile_total(profile)->estimate[PROFILE_INUSE_SPACE], ==, 16.0 * N);
}

static void
test_maps(void)
{
    g_autoptr(Profile) profile = read_text(
        HEADER "@ 0x2100 0xa001 0xb001 0xc001 0xd001\n  t*: 1: 1 [0: 0]\n" MAPS
               "a000-b000 r-xp 00000000 fe:00 8   /opt/a b/c (deleted)\nb000-c000 r-xp 00000000 00:00 0 [vdso]\n"
               "c000-d000 rwxp 00000000 00:00 0 \n",
        PROFILE_READ_DEFAULT);
    const ProfileLocation *locations = profile_locations(profile);
    const ProfileObject *objects = profile_objects(profile);

    g_assert_cmpstr(objects[locations[1].object].path, ==, "/opt/a b/c");
    g_assert_cmpuint(objects[locations[1].object].flags, ==, PROFILE_OBJECT_DELETED);
    g_assert_cmpuint(objects[locations[2].object].flags, ==, PROFILE_OBJECT_VDSO);
    g_assert_cmpuint(objects[locations[3].object].flags, ==, PROFILE_OBJECT_ANONYMOUS);
    g_assert_cmphex(locations[3].file_offset, ==, 0xc000);
    g_assert_cmpuint(locations[4].object, ==, PROFILE_NONE);
    g_assert_cmpuint(locations[4].mapping, ==, PROFILE_NONE);
}

/* No file has a longer path, of which the name is looked at for each address in it. */
static void
test_long_path(void)
{
    g_autofree char *path = g_strnfill(2 * PATH_MAX, 'f');
    g_autofree char *text =
        g_strdup_printf(HEADER "@ 0xa100\n  t*: 1: 1 [0: 0]\n" MAPS "a000-b000 r-xp 00000000 fe:00 8   /%s\n", path);
    g_autoptr(Profile) profile = read_text(text, PROFILE_READ_DEFAULT);

    g_assert_cmpuint(strlen(profile_objects(profile)[profile_locations(profile)[0].object].path), ==, PATH_MAX);
}

static void
test_no_file(void)
{
    g_autoptr(GError) error = NULL;

    g_assert_null(profile_read_file("/nonexistent/x", PROFILE_READ_DEFAULT, &error));
    g_assert_error(error, G_FILE_ERROR, G_FILE_ERROR_NOENT);
    g_assert_cmpstr(error->message, ==, "cannot open /nonexistent/x: No such file or directory");
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/profile/reader/jemalloc", test_jemalloc);
    g_test_add_func("/profile/reader/threads", test_threads);
    g_test_add_func("/profile/reader/one-line", test_one_line);
    g_test_add_func("/profile/reader/header-kinds", test_header_kinds);
    g_test_add_func("/profile/reader/symbolized", test_symbolized);
    g_test_add_func("/profile/reader/extremes", test_extremes);
    g_test_add_func("/profile/reader/leak-summary", test_leak_summary);
    g_test_add_func("/profile/reader/errors", test_errors);
    g_test_add_func("/profile/reader/nul", test_nul);
    g_test_add_func("/profile/reader/partial-damage", test_partial_damage);
    g_test_add_func("/profile/reader/partial-cut", test_partial_cut);
    g_test_add_func("/profile/reader/partial-needs-header", test_partial_needs_header);
    g_test_add_func("/profile/reader/repeated-lines", test_repeated_lines);
    g_test_add_func("/profile/reader/maps", test_maps);
    g_test_add_func("/profile/reader/long-path", test_long_path);
    g_test_add_func("/profile/reader/no-file", test_no_file);
    return g_test_run();
}
