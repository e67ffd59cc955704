/* SPDX-License-Identifier: Apache-2.0 */
/* Trimming, filters, granularity and threads, seen through folded output. */
#include "fixture.h"

#include "report/view.h"

#include <string.h>

static void
check(const Fixture *fixture, const ReportOptions *options, const char *expected)
{
    g_autofree char *folded = fixture_report(fixture, NULL, "folded", options);

    g_assert_cmpstr(folded, ==, expected);
}

static void
test_trims_allocator(void)
{
    g_auto(Fixture) fixture;
    ReportOptions options;

    fixture_init(&fixture, fixture_text, PROFILE_READ_DEFAULT);
    report_options_init(&options);
    check(&fixture, &options,
          "main;shop::Cart<int>::push_back(int const&) 300\n"
          "main;recurse;recurse 200\n"
          "main;insert;make_node 100\n"
          "main;[app+0x5000] 40\n");
    options.flags = REPORT_KEEP_ALLOCATOR;
    options.focus = NULL;
    check(&fixture, &options,
          "main;shop::Cart<int>::push_back(int const&);malloc 300\n"
          "main;recurse;recurse;malloc 200\n"
          "main;insert;make_node;malloc 100\n"
          "main;[app+0x5000];malloc 40\n");
}

/* Functions called by the allocator (hooks, atfork) belong to it: everything inside its outermost frame is removed. */
static void
test_trims_up_to_the_last_allocator_frame(void)
{
    g_auto(Fixture) fixture;
    ReportOptions options;

    fixture_init(&fixture,
                 "--- symbol\n0x1000 malloc\n0x2000 hook\n0x3000 main\n---\n--- heap\n"
                 "heap profile: 1: 8 [1: 8] @ heapprofile\n1: 8 [1: 8] @ 0x1000 0x2001 0x1001 0x3001\n"
                 "2: 16 [2: 16] @ 0x1000\n3: 32 [3: 32] @\n\nMAPPED_LIBRARIES:\n",
                 PROFILE_READ_DEFAULT);
    report_options_init(&options);
    check(&fixture, &options, "[no stack] 32\nmalloc 16\nmain 8\n");
}

typedef struct {
    const char *focus, *ignore, *retain, *exclude;
    const char *expected;
} FilterCase;

static GRegex *
regex(const char *pattern)
{
    return pattern ? g_regex_new(pattern, G_REGEX_RAW, 0, NULL) : NULL;
}

static void
test_filters(void)
{
    static const FilterCase cases[] = {
        {"recurse", NULL, NULL, NULL, "main;recurse;recurse 200\n"},
        {"make_node", NULL, NULL, NULL, "main;insert;make_node 100\n"},
        {"^shop::Cart::push_back$", NULL, NULL, NULL, "main;shop::Cart<int>::push_back(int const&) 300\n"},
        {"^0000000000004000$", NULL, NULL, NULL, "main;recurse;recurse 200\n"},
        {"nothing", NULL, NULL, NULL, ""},
        {NULL, "Cart|recurse", NULL, NULL, "main;insert;make_node 100\nmain;[app+0x5000] 40\n"},
        {"main", "main", NULL, NULL, ""},
        {NULL, NULL, "main|recurse", NULL, "main 440\nmain;recurse;recurse 200\n"},
        {NULL, NULL, NULL, "main|make_node",
         "shop::Cart<int>::push_back(int const&) 300\nrecurse;recurse 200\ninsert 100\n[app+0x5000] 40\n"},
        {NULL, NULL, NULL, ".", ""},
        /* focus looks at what exclude left over */
        {"make_node", NULL, NULL, "make_node", ""},
        {"malloc", NULL, NULL, NULL, ""},
    };
    g_auto(Fixture) fixture;

    fixture_init(&fixture, fixture_text, PROFILE_READ_DEFAULT);
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GRegex) focus = regex(cases[i].focus);
        g_autoptr(GRegex) ignore = regex(cases[i].ignore);
        g_autoptr(GRegex) retain = regex(cases[i].retain);
        g_autoptr(GRegex) exclude = regex(cases[i].exclude);
        ReportOptions options;
        report_options_init(&options);
        options.focus = focus;
        options.ignore = ignore;
        options.retain = retain;
        options.exclude = exclude;
        check(&fixture, &options, cases[i].expected);
    }
}

/* Frames above the outermost match are gone, and so are stacks without one. */
static void
test_show_from(void)
{
    static const struct {
        const char *show_from;
        const char *expected;
    } cases[] = {
        {"recurse", "recurse;recurse 200\n"},
        {"insert|push_back", "shop::Cart<int>::push_back(int const&) 300\ninsert;make_node 100\n"},
        {"main", "main;shop::Cart<int>::push_back(int const&) 300\nmain;recurse;recurse 200\n"
                 "main;insert;make_node 100\nmain;[app+0x5000] 40\n"},
        {"no such function", ""},
    };
    g_auto(Fixture) fixture;

    fixture_init(&fixture, fixture_text, PROFILE_READ_DEFAULT);
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GRegex) show_from = regex(cases[i].show_from);
        ReportOptions options;
        report_options_init(&options);
        options.show_from = show_from;
        check(&fixture, &options, cases[i].expected);
    }
}

static void
test_granularity(void)
{
    static const struct {
        ReportGranularity by;
        const char *expected;
    } cases[] = {
        {REPORT_BY_OBJECT, "/bin/app 640\n"},
        {REPORT_BY_FILE, "[app] 640\n"},
        {REPORT_BY_ADDRESS, "0x0000000000003000 main;0x0000000000005000 shop::Cart<int>::push_back(int const&) 300\n"
                            "0x0000000000003000 main;0x0000000000004000 recurse;0x0000000000004000 recurse 200\n"
                            "0x0000000000003000 main;0x0000000000002000 insert;0x0000000000002000 make_node 100\n"
                            "0x0000000000003000 main;0x0000000000006000 [app+0x5000] 40\n"},
    };
    g_auto(Fixture) fixture;
    ReportOptions options;

    fixture_init(&fixture, fixture_text, PROFILE_READ_DEFAULT);
    report_options_init(&options);
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        options.by = cases[i].by;
        check(&fixture, &options, cases[i].expected);
    }
}

static void
test_values(void)
{
    static const char *const expected[PROFILE_N_PPROF_VALUES] = {
        [PROFILE_ALLOC_OBJECTS] = "main;[app+0x5000] 8\n",
        [PROFILE_ALLOC_SPACE] = "main;shop::Cart<int>::push_back(int const&) 600\n",
        [PROFILE_INUSE_OBJECTS] = "main;[app+0x5000] 4\n",
        [PROFILE_INUSE_SPACE] = "main;shop::Cart<int>::push_back(int const&) 300\n",
    };
    g_auto(Fixture) fixture;
    ReportOptions options;

    fixture_init(&fixture, fixture_text, PROFILE_READ_DEFAULT);
    report_options_init(&options);
    for (guint value = 0; value < PROFILE_N_PPROF_VALUES; value++) {
        g_autofree char *folded = NULL;
        options.value = value;
        folded = fixture_report(&fixture, NULL, "folded", &options);
        g_assert_true(g_str_has_prefix(folded, expected[value]));
    }
}

static const char threads_text[] = "heap_v2/1\n"
                                   "  t*: 3: 300 [0: 0]\n"
                                   "  t1: 1: 100 [0: 0] main thread\n"
                                   "  t7: 2: 200 [0: 0] worker\n"
                                   "@ 0x1000 0x2001\n"
                                   "  t*: 3: 300 [0: 0]\n"
                                   "  t1: 1: 100 [0: 0]\n"
                                   "  t7: 2: 200 [0: 0]\n"
                                   "\nMAPPED_LIBRARIES:\n";

static void
test_threads(void)
{
    static const struct {
        const char *thread, *count;
    } cases[] = {{"1", " 100\n"}, {"t7", " 200\n"}, {"worker", " 200\n"}, {"main thread", " 100\n"}};
    g_auto(Fixture) fixture;
    ReportOptions options;

    fixture_init(&fixture, threads_text, PROFILE_READ_THREADS);
    report_options_init(&options);
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *folded = NULL;
        options.thread = cases[i].thread;
        folded = fixture_report(&fixture, NULL, "folded", &options);
        g_assert_true(g_str_has_suffix(folded, cases[i].count));
    }
}

static void
test_unknown_thread(void)
{
    g_autoptr(GOutputStream) out = g_memory_output_stream_new_resizable();
    g_autoptr(GError) error = NULL;
    g_auto(Fixture) fixture;
    ReportOptions options;

    fixture_init(&fixture, threads_text, PROFILE_READ_THREADS);
    report_options_init(&options);
    options.thread = "2";
    g_assert_false(report_write(&report_formats[0], &fixture.input, NULL, &options, out, &error));
    g_assert_error(error, REPORT_ERROR, REPORT_ERROR_NO_THREAD);
}

static void
check_by(const char *text, ProfileReadFlags flags, ReportGranularity by, const char *expected)
{
    g_auto(Fixture) fixture;
    ReportOptions options;

    fixture_init(&fixture, text, flags);
    report_options_init(&options);
    options.by = by;
    check(&fixture, &options, expected);
}

static void
test_by_thread(void)
{
    check_by(threads_text, PROFILE_READ_THREADS, REPORT_BY_THREAD,
             "thread 7 worker;[0x2000];[0x1000] 200\nthread 1 main thread;[0x2000];[0x1000] 100\n");
    check_by(fixture_text, PROFILE_READ_THREADS, REPORT_BY_THREAD,
             "[no thread];main;shop::Cart<int>::push_back(int const&) 300\n"
             "[no thread];main;recurse;recurse 200\n"
             "[no thread];main;insert;make_node 100\n"
             "[no thread];main;[app+0x5000] 40\n");
}

/* One stack, of 2 objects of 64 bytes and 3 of 4096 by their samples, and of 2483 bytes in the mean by its row. */
static const char sizes_text[] = "heap_v2/1\n#sampler jescope 1 since=1 window=10000000\n"
                                 "  t*: 5: 12416 [5: 12416]\n"
                                 "@ 0x1000 0x2001\n  t*: 5: 12416 [5: 12416]\n"
                                 "#live 7000 64 1 11\n#live 7100 64 1 12\n"
                                 "#live 8000 4096 1 11\n#live 9000 4096 1 11\n#live a000 4096 1 12\n"
                                 "\nMAPPED_LIBRARIES:\n";

static const char fewer_text[] = "heap_v2/1\n#sampler jescope 1 since=1 window=10000000\n"
                                 "  t*: 1: 64 [1: 64]\n"
                                 "@ 0x1000 0x2001\n  t*: 1: 64 [1: 64]\n"
                                 "#live 7000 64 1 11\n"
                                 "\nMAPPED_LIBRARIES:\n";

static void
test_by_size(void)
{
    check_by(sizes_text, PROFILE_READ_SIZES, REPORT_BY_SIZE,
             "size class 4 KiB;[0x2000];[0x1000] 12288\nsize class 64 B;[0x2000];[0x1000] 128\n");
    check_by(sizes_text, PROFILE_READ_DEFAULT, REPORT_BY_SIZE,
             "several sizes, mean up to 2.5 KiB;[0x2000];[0x1000] 12416\n");
    check_by(sizes_text, PROFILE_READ_THREADS, REPORT_BY_THREAD,
             "thread 11;[0x2000];[0x1000] 8256\nthread 12;[0x2000];[0x1000] 4160\n");
    check_by(threads_text, PROFILE_READ_DEFAULT, REPORT_BY_SIZE,
             "several sizes, mean up to 112 B;[0x2000];[0x1000] 300\n");
}

/* The rows are the groups alone; filters see their names; from the allocation up, a group is still outermost. */
static void
test_groups_in_reports(void)
{
    g_autoptr(GRegex) focus = regex("^size class 64 B$");
    g_auto(Fixture) fixture;
    ReportOptions options;

    fixture_init(&fixture, sizes_text, PROFILE_READ_SIZES);
    report_options_init(&options);
    options.by = REPORT_BY_SIZE;
    options.flags = REPORT_EXACT;
    g_autofree char *table = fixture_report(&fixture, NULL, "text", &options);
    g_assert_nonnull(strstr(table, "12288  99.0%  99.0%       12288  99.0%  size class 4 KiB\n"));
    g_assert_nonnull(strstr(table, "size class 64 B\n"));
    g_assert_null(strstr(table, "0x2000"));
    options.flags |= REPORT_CALLERS;
    g_autofree char *tree = fixture_report(&fixture, NULL, "tree", &options);
    const char *group = strstr(tree, "size class 4 KiB");
    const char *inner = group != NULL ? strstr(group, "0x1000") : NULL;
    g_assert_nonnull(inner);
    g_assert_nonnull(strstr(inner, "0x2000"));
    options.focus = focus;
    check(&fixture, &options, "size class 64 B;[0x2000];[0x1000] 128\n");
    /* In a difference, a class is the same node on both sides. */
    options.focus = NULL;
    g_auto(Fixture) before;
    fixture_init(&before, fewer_text, PROFILE_READ_SIZES);
    g_autofree char *change = fixture_report(&fixture, &before, "text", &options);
    g_auto(GStrv) parts = g_strsplit(change, "size class 64 B", -1);
    g_assert_cmpuint(g_strv_length(parts), ==, 2);
}

/* A file may have any name. */
static void
test_name_of_a_file(void)
{
    static const char *const formats[] = {"text",      "tree",       "stacks", "source", "flamegraph",
                                          "callgraph", "speedscope", "json",   "page"};
    g_auto(Fixture) now = {0}, base = {0};
    ReportOptions options;

    fixture_init(&now, fixture_text, PROFILE_READ_DEFAULT);
    fixture_init(&base, fixture_text, PROFILE_READ_DEFAULT);
    now.input.name = "now\x1b[31m\xff\u202e";
    base.input.name = "base\x1b[31m\xff\u202e";
    report_options_init(&options);
    for (gsize i = 0; i < G_N_ELEMENTS(formats); i++) {
        for (guint sides = 1; sides <= VIEW_N_SIDES; sides++) {
            g_autofree char *report = fixture_report(&now, sides == 2 ? &base : NULL, formats[i], &options);
            g_assert_true(g_utf8_validate(report, -1, NULL));
            g_assert_null(strchr(report, '\x1b'));
            g_assert_null(strstr(report, "\u202e"));
        }
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/report/view/trims-allocator", test_trims_allocator);
    g_test_add_func("/report/view/trims-up-to-the-last-allocator-frame", test_trims_up_to_the_last_allocator_frame);
    g_test_add_func("/report/view/filters", test_filters);
    g_test_add_func("/report/view/show-from", test_show_from);
    g_test_add_func("/report/view/granularity", test_granularity);
    g_test_add_func("/report/view/values", test_values);
    g_test_add_func("/report/view/threads", test_threads);
    g_test_add_func("/report/view/unknown-thread", test_unknown_thread);
    g_test_add_func("/report/view/by-thread", test_by_thread);
    g_test_add_func("/report/view/by-size", test_by_size);
    g_test_add_func("/report/view/groups-in-reports", test_groups_in_reports);
    g_test_add_func("/report/view/name-of-a-file", test_name_of_a_file);
    return g_test_run();
}
