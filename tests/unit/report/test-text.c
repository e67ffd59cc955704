/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

static const char base_text[] = "--- symbol\n0x1000 malloc\n0x3000 main\n0x4000 recurse\n0x7000 gone\n---\n--- heap\n"
                                "heap profile: 5: 90 [0: 0] @ heapprofile\n"
                                "1: 50 [0: 0] @ 0x1000 0x4001 0x3001\n"
                                "4: 40 [0: 0] @ 0x1000 0x7001 0x3001\n\nMAPPED_LIBRARIES:\n";

/* Of the one frame without a name. */
#define NAMELESS                                                                                                       \
    "no function names in /bin/app (6.2% of what is shown passes through it): the file was not found; use --pid "      \
    "while "                                                                                                           \
    "the process runs (also in a container), --sysroot with the directory that holds its files, or record with "       \
    "--symbolize\n"

static void
check(const char *format, const Fixture *base, const ReportOptions *options, const char *expected)
{
    g_autofree char *text = NULL;
    g_auto(Fixture) fixture;

    fixture_init(&fixture, fixture_text, PROFILE_READ_DEFAULT);
    text = fixture_report(&fixture, base, format, options);
    g_assert_cmpstr(text, ==, expected);
}

static void
test_table(void)
{
    static const char *const notes[] = {"a note", NULL};
    ReportOptions options;

    report_options_init(&options);
    options.notes = notes;
    check("text", NULL, &options,
          "fixture: 640 B ± 0 B in use, 4 stacks, every allocation counted\n"
          "a note\n" NAMELESS "\n"
          "       flat  flat%   sum%         cum   cum%  function\n"
          "      300 B  46.9%  46.9%       300 B  46.9%  shop::Cart<int>::push_back\n"
          "      200 B  31.2%  78.1%       200 B  31.2%  recurse\n"
          "      100 B  15.6%  93.8%       100 B  15.6%  make_node\n"
          "       40 B   6.2% 100.0%        40 B   6.2%  [app+0x5000]\n"
          "        0 B   0.0% 100.0%       640 B 100.0%  main\n"
          "        0 B   0.0% 100.0%       100 B  15.6%  insert\n");
}

static void
test_headline(void)
{
    ReportOptions options;
    g_auto(Fixture) base;

    report_options_init(&options);
    fixture_init(&base, base_text, PROFILE_READ_DEFAULT);
    check("headline", NULL, &options, "held most: shop::Cart<int>::push_back 300 B\n");
    check("headline", &base, &options, "grew most: shop::Cart<int>::push_back +300 B\n");
}

static void
test_limit_and_sort(void)
{
    ReportOptions options;

    report_options_init(&options);
    options.limit = 2;
    options.sort = REPORT_SORT_CUMULATIVE;
    options.flags = REPORT_SHOW_ERRORS | REPORT_EXACT;
    check("text", NULL, &options,
          "fixture: 640 B ± 0 B in use, 4 stacks, every allocation counted\n" NAMELESS "\n"
          "       flat       error  flat%   sum%         cum       error   cum%  function\n"
          "          0         ± 0   0.0%   0.0%         640         ± 0 100.0%  main\n"
          "        300         ± 0  46.9%  46.9%         300         ± 0  46.9%  shop::Cart<int>::push_back\n"
          "4 more not shown (-n 0 shows all)\n");
}

static void
test_jeprof_layout(void)
{
    ReportOptions options;

    report_options_init(&options);
    options.flags = REPORT_JEPROF_LAYOUT | REPORT_EXACT;
    check("text", NULL, &options,
          "Total: 640 B\n"
          "     300  46.9%  46.9%      300  46.9% shop::Cart::push_back\n"
          "     200  31.2%  78.1%      200  31.2% recurse\n"
          "     100  15.6%  93.8%      100  15.6% make_node (inline)\n"
          "      40   6.2% 100.0%       40   6.2% [app+0x5000]\n"
          "       0   0.0% 100.0%      100  15.6% insert\n"
          "       0   0.0% 100.0%      640 100.0% main\n");
    options.flags = REPORT_JEPROF_LAYOUT;
    options.value = PROFILE_INUSE_OBJECTS;
    options.limit = 1;
    check("text", NULL, &options,
          "Total: 10 objects\n"
          "       4  40.0%  40.0%        4  40.0% [app+0x5000]\n");
}

static void
test_difference(void)
{
    ReportOptions options;
    g_auto(Fixture) base;

    fixture_init(&base, base_text, PROFILE_READ_DEFAULT);
    report_options_init(&options);
    options.sort = REPORT_SORT_CHANGE;
    check("text", &base, &options,
          "fixture: 640 B ± 0 B in use, 4 stacks, every allocation counted\n"
          "against fixture: 90 B ± 0 B in use, 2 stacks, every allocation counted\n" NAMELESS "\n"
          "     change           before      after  cum change        function\n"
          "     +300 B              0 B      300 B      +300 B        shop::Cart<int>::push_back\n"
          "     +150 B             50 B      200 B      +150 B        recurse\n"
          "     +100 B              0 B      100 B      +100 B        make_node\n"
          "      +40 B              0 B       40 B       +40 B        [app+0x5000]\n"
          "      -40 B             40 B        0 B       -40 B        gone\n"
          "        0 B              0 B        0 B      +550 B        main\n"
          "        0 B              0 B        0 B      +100 B        insert\n");
    check("folded", &base, &options,
          "main;shop::Cart<int>::push_back(int const&) 0 300\n"
          "main;recurse 50 0\n"
          "main;recurse;recurse 0 200\n"
          "main;insert;make_node 0 100\n"
          "main;[app+0x5000] 0 40\n"
          "main;gone 40 0\n");
}

/* One sample of a small object represents many: a change of one sample is within noise. */
static void
test_noise(void)
{
    static const char now_text[] =
        "heap_v2/524288\n  t*: 4: 400 [0: 0]\n@ 0x1000\n  t*: 4: 400 [0: 0]\n  t1: 4: 400 [0: 0]\n"
        "\nMAPPED_LIBRARIES:\n";
    static const char before_text[] = "heap_v2/524288\n  t*: 3: 300 [0: 0]\n@ 0x1000\n  t*: 3: 300 [0: 0]\n"
                                      "  t1: 3: 300 [0: 0]\n\nMAPPED_LIBRARIES:\n";
    g_auto(Fixture) now;
    g_auto(Fixture) before;
    ReportOptions options;
    g_autofree char *text = NULL;

    fixture_init(&now, now_text, PROFILE_READ_DEFAULT);
    fixture_init(&before, before_text, PROFILE_READ_DEFAULT);
    report_options_init(&options);
    text = fixture_report(&now, &before, "text", &options);
    g_assert_nonnull(g_strstr_len(text, -1, "noise"));
}

static void
test_tree(void)
{
    ReportOptions options;

    report_options_init(&options);
    options.min_fraction = 0.1;
    check("tree", NULL, &options,
          "fixture: 640 B ± 0 B in use, 4 stacks, every allocation counted\n" NAMELESS "\n"
          "       total  total%        self  call\n"
          "       640 B  100.0%              main\n"
          "       300 B   46.9%       300 B  ├─ shop::Cart<int>::push_back\n"
          "       200 B   31.2%              ├─ recurse\n"
          "       200 B   31.2%       200 B  │  recurse\n"
          "       100 B   15.6%              └─ insert\n"
          "       100 B   15.6%       100 B     make_node\n");
    options.flags = REPORT_CALLERS;
    options.min_fraction = 0.05;
    check("tree", NULL, &options,
          "fixture: 640 B ± 0 B in use, 4 stacks, every allocation counted\n" NAMELESS "\n"
          "       total  total%        self  call\n"
          "       300 B   46.9%              ├─ shop::Cart<int>::push_back\n"
          "       300 B   46.9%       300 B  │  main\n"
          "       200 B   31.2%              ├─ recurse\n"
          "       200 B   31.2%              │  recurse\n"
          "       200 B   31.2%       200 B  │  main\n"
          "       100 B   15.6%              ├─ make_node\n"
          "       100 B   15.6%              │  insert\n"
          "       100 B   15.6%       100 B  │  main\n"
          "        40 B    6.2%              └─ [app+0x5000]\n"
          "        40 B    6.2%        40 B     main\n");
}

static void
test_empty(void)
{
    static const char empty_text[] = "heap_v2/524288\n  t*: 0: 0 [0: 0]\n\nMAPPED_LIBRARIES:\n";
    g_auto(Fixture) fixture;
    ReportOptions options;

    fixture_init(&fixture, empty_text, PROFILE_READ_DEFAULT);
    report_options_init(&options);
    for (guint i = 0; i < report_n_formats; i++) {
        g_autoptr(GBytes) bytes = fixture_report_bytes(&fixture, NULL, report_formats[i].name, &options);
        g_assert_nonnull(bytes);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/report/text/headline", test_headline);
    g_test_add_func("/report/text/table", test_table);
    g_test_add_func("/report/text/limit-and-sort", test_limit_and_sort);
    g_test_add_func("/report/text/jeprof-layout", test_jeprof_layout);
    g_test_add_func("/report/text/difference", test_difference);
    g_test_add_func("/report/text/noise", test_noise);
    g_test_add_func("/report/text/tree", test_tree);
    g_test_add_func("/report/text/empty", test_empty);
    return g_test_run();
}
