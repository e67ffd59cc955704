/* SPDX-License-Identifier: Apache-2.0 */
/* One function under one name, two under two; wrappers; the order of ties. */
#include "fixture.h"

#include "report/functions.h"
#include "report/wrappers.h"

#include <string.h>
#include <time.h>

typedef struct {
    guint side;
    const char *function, *linkage; /* linkage NULL: the function has none */
    const char *object;
    guint32 line;
    const char *display; /* expected */
    guint identity;      /* expected: equal numbers are one function */
} FrameCase;

static void
check_frames(const FrameCase *cases, gsize n)
{
    g_autoptr(Functions) functions = functions_new();
    g_autofree guint32 *noted = g_new(guint32, n);

    for (gsize i = 0; i < n; i++) {
        const SymbolFrame frame = {.function = cases[i].function,
                                   .system_name = cases[i].linkage ? cases[i].linkage : cases[i].function,
                                   .start_line = cases[i].line,
                                   .known = TRUE};
        noted[i] = functions_note(functions, cases[i].side, &frame, cases[i].object);
    }
    functions_seal(functions);
    for (gsize i = 0; i < n; i++) {
        guint32 function = functions_of(functions, noted[i]);
        g_assert_cmpstr(functions_get(functions, function)->display, ==, cases[i].display);
        for (gsize j = 0; j < i; j++)
            g_assert_cmpint(function == functions_of(functions, noted[j]), ==, cases[i].identity == cases[j].identity);
    }
}

static void
test_overloads(void)
{
    static const FrameCase cases[] = {
        {0, "a::f(int)", "_ZN1a1fEi", "/bin/app", 1, "a::f(int)", 1},
        {0, "a::f(char const*)", "_ZN1a1fEPKc", "/bin/app", 2, "a::f(char const*)", 2},
        {0, "a::g(int)", "_ZN1a1gEi", "/bin/app", 3, "a::g", 3},
        {0, "a::g(int) [clone .cold]", "_ZN1a1gEi.cold", "/bin/app", 3, "a::g", 3},
        {0, "std::vector<int>::resize(unsigned long)", "_ZNSt6vectorIiE6resizeEm", "/usr/lib/libx.so.1", 9,
         "std::vector<int>::resize", 4},
        {0, "std::vector<int>::resize(unsigned long)", "_ZNSt6vectorIiE6resizeEm", "/bin/app", 9,
         "std::vector<int>::resize", 4},
    };

    check_frames(cases, G_N_ELEMENTS(cases));
}

/* The same function is found again in another build, whose lines and library versions moved. */
static void
test_static_functions(void)
{
    static const FrameCase cases[] = {
        {0, "init", NULL, "/bin/app", 10, "init [app]", 1},
        {0, "init", NULL, "/usr/lib/libx.so.1.2", 10, "init [libx]", 2},
        {1, "init", NULL, "/bin/app", 12, "init [app]", 1},
        {1, "init", NULL, "/usr/lib/libx.so.1.3", 11, "init [libx]", 2},
        {0, "only", NULL, "/opt/app-1/app", 5, "only", 3},
        {1, "only", NULL, "/opt/app-2/app-new", 7, "only", 3},
        {0, "twice", NULL, "/bin/app", 20, "twice [app, line 20]", 4},
        {0, "twice", NULL, "/bin/app", 40, "twice [app, line 40]", 5},
        {1, "twice", NULL, "/bin/app", 21, "twice [app, line 20]", 4},
        {1, "twice", NULL, "/bin/app", 41, "twice [app, line 40]", 5},
    };

    check_frames(cases, G_N_ELEMENTS(cases));
}

/* An inlined copy has no linkage name, the function itself has one. */
static void
test_linkage_is_adopted(void)
{
    static const FrameCase cases[] = {
        {0, "a::(anonymous namespace)::f(int)", "_ZN1a12_GLOBAL__N_11fEi", "/bin/app", 7, "a::(anonymous namespace)::f",
         1},
        {0, "a::(anonymous namespace)::f", NULL, "/bin/app", 7, "a::(anonymous namespace)::f", 1},
        {0, "main::{lambda(int)#1}::operator()(int) const", "_ZZ4mainENKUliE_clEi", "/bin/app", 30,
         "main::{lambda(int)#1}::operator()", 2},
        {0, "main::{lambda(int)#2}::operator()(int) const", "_ZZ4mainENKUliE0_clEi", "/bin/app", 31,
         "main::{lambda(int)#2}::operator()", 3},
        {0, "main::{lambda}::operator()", NULL, "/bin/app", 31, "main::{lambda(int)#2}::operator()", 3},
        {0, "main::{lambda}::operator()", NULL, "/bin/app", 50, "main::{lambda}::operator()", 4},
    };

    check_frames(cases, G_N_ELEMENTS(cases));
}

static void
test_long_names(void)
{
    static const FrameCase cases[] = {
        {0,
         "std::map<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >, "
         "int>::operator[](int const&)",
         "_Zx", "/bin/app", 0, "std::map<...>::operator[]", 1},
        {0, "shop::Cart<int>::add(int)", "_Zy", "/bin/app", 0, "shop::Cart<int>::add", 2},
    };

    check_frames(cases, G_N_ELEMENTS(cases));
}

static void
test_known_wrappers(void)
{
    static const char *const wrappers[] = {"zmalloc",
                                           "g_malloc0",
                                           "isc__mem_get",
                                           "std::vector<int>::push_back",
                                           "__gnu_cxx::new_allocator<int>::allocate",
                                           "alloc::raw_vec::finish_grow",
                                           "<alloc::vec::Vec<u8> as core::clone::Clone>::clone",
                                           "<T as alloc::slice::hack::ConvertVec>::to_vec",
                                           "<u8 as alloc::vec::spec_from_elem::SpecFromElem>::from_elem",
                                           "<shop::Item as alloc::vec::spec_from_elem::SpecFromElem>::from_elem",
                                           "<(u8, i32) as core::clone::Clone>::clone",
                                           "<&mut core::str::Chars as core::iter::Iterator>::next",
                                           "shop::PoolAllocator<int>::allocate",
                                           "shop::Item::operator new",
                                           "<tikv_jemallocator::Jemalloc as core::alloc::GlobalAlloc>::alloc",
                                           "node::Malloc<char>"};
    static const char *const programs[] = {"main",
                                           "allocate",
                                           "shop::allocate",
                                           "shop::Room::allocate",
                                           "<shop::Item as core::clone::Clone>::clone",
                                           "<u64 as shop::Store>::keep",
                                           "stdx::f",
                                           "zmallocate_seats",
                                           "core_loop",
                                           "operator delete"};

    for (gsize i = 0; i < G_N_ELEMENTS(wrappers); i++)
        g_assert_true(wrapper_is_known(wrappers[i]));
    for (gsize i = 0; i < G_N_ELEMENTS(programs); i++)
        g_assert_false(wrapper_is_known(programs[i]));
}

static const char wrapped_text[] = "--- symbol\n"
                                   "0x1000 malloc\n0x2000 zmalloc\n0x3000 b_handle\n0x4000 a_serve\n0x5000 main\n"
                                   "0x6000 pool_get\n---\n--- heap\n"
                                   "heap profile: 2: 200 [0: 0] @ heapprofile\n"
                                   "1: 100 [0: 0] @ 0x1000 0x2001 0x3001 0x4001 0x5001\n"
                                   "1: 100 [0: 0] @ 0x1000 0x6001 0x4001 0x5001\n"
                                   "1: 8 [0: 0] @ 0x1000 0x2001\n"
                                   "\nMAPPED_LIBRARIES:\n";

static void
check_text(const ReportOptions *options, const char *expected)
{
    g_auto(Fixture) fixture;
    g_autofree char *text = NULL;

    fixture_init(&fixture, wrapped_text, PROFILE_READ_DEFAULT);
    text = fixture_report(&fixture, NULL, "text", options);
    g_assert_cmpstr(text, ==, expected);
}

/* Wrappers go to their callers, one alone stays; of equal rows the nearest to the allocation comes first, not the first
 * in the alphabet. */
static void
test_folding(void)
{
    ReportOptions options;
    g_autoptr(GRegex) fold = g_regex_new("^pool_", G_REGEX_RAW, 0, NULL);

    report_options_init(&options);
    check_text(&options, "fixture: 208 B ± 0 B in use, 3 stacks, every allocation counted\n"
                         "charged to their callers: zmalloc (48.1%); --wrappers shows them\n\n"
                         "       flat  flat%   sum%         cum   cum%  function\n"
                         "      100 B  48.1%  48.1%       100 B  48.1%  b_handle\n"
                         "      100 B  48.1%  96.2%       100 B  48.1%  pool_get\n"
                         "        8 B   3.8% 100.0%         8 B   3.8%  zmalloc\n"
                         "        0 B   0.0% 100.0%       200 B  96.2%  a_serve\n"
                         "        0 B   0.0% 100.0%       200 B  96.2%  main\n");
    options.fold = fold;
    check_text(&options, "fixture: 208 B ± 0 B in use, 3 stacks, every allocation counted\n"
                         "charged to their callers: zmalloc (48.1%), pool_get (48.1%); --wrappers shows them\n\n"
                         "       flat  flat%   sum%         cum   cum%  function\n"
                         "      100 B  48.1%  48.1%       200 B  96.2%  a_serve\n"
                         "      100 B  48.1%  96.2%       100 B  48.1%  b_handle\n"
                         "        8 B   3.8% 100.0%         8 B   3.8%  zmalloc\n"
                         "        0 B   0.0% 100.0%       200 B  96.2%  main\n");
    options.flags = REPORT_WRAPPERS;
    check_text(&options, "fixture: 208 B ± 0 B in use, 3 stacks, every allocation counted\n\n"
                         "       flat  flat%   sum%         cum   cum%  function\n"
                         "      108 B  51.9%  51.9%       108 B  51.9%  zmalloc\n"
                         "      100 B  48.1% 100.0%       100 B  48.1%  pool_get\n"
                         "        0 B   0.0% 100.0%       200 B  96.2%  a_serve\n"
                         "        0 B   0.0% 100.0%       200 B  96.2%  main\n"
                         "        0 B   0.0% 100.0%       100 B  48.1%  b_handle\n");
}

/* Formats for other tools keep complete stacks. */
static void
test_exports_are_whole(void)
{
    g_auto(Fixture) fixture;
    g_autofree char *folded = NULL;
    g_autofree char *symbolized = NULL;
    ReportOptions options;

    report_options_init(&options);
    fixture_init(&fixture, wrapped_text, PROFILE_READ_DEFAULT);
    folded = fixture_report(&fixture, NULL, "folded", &options);
    g_assert_cmpstr(folded, ==, "main;a_serve;b_handle;zmalloc 100\nmain;a_serve;pool_get 100\nzmalloc 8\n");
    symbolized = fixture_report(&fixture, NULL, "symbolized", &options);
    g_assert_nonnull(strstr(symbolized, "0x0000000000002000 zmalloc\n"));
    g_assert_nonnull(strstr(symbolized, "@ 0x1000 0x2001 0x3001 0x4001 0x5001\n"));
}

/* Debug information may have one long name at any number of lines: 4 ms for each. */
static void
test_long_name_at_many_lines(void)
{
    enum { LONG = 60000, MANY = 10000, LONGEST_S = 30 };
    g_autoptr(Functions) functions = functions_new();
    g_autofree char *name = g_strnfill(LONG, 'f');
    const clock_t begun = clock();
    guint32 last = 0;

    for (guint i = 0; i < MANY; i++) {
        const SymbolFrame frame = {.function = name, .system_name = name, .start_line = i + 1, .known = TRUE};
        last = functions_note(functions, 0, &frame, "/bin/app");
    }
    functions_seal(functions);
    g_assert_cmpuint(functions_n(functions), ==, MANY);
    g_assert_true(g_str_has_suffix(functions_get(functions, functions_of(functions, last))->name, "…"));
    g_assert_cmpint(clock() - begun, <, LONGEST_S * CLOCKS_PER_SEC);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/report/functions/overloads", test_overloads);
    g_test_add_func("/report/functions/static", test_static_functions);
    g_test_add_func("/report/functions/linkage-is-adopted", test_linkage_is_adopted);
    g_test_add_func("/report/functions/long-names", test_long_names);
    g_test_add_func("/report/functions/long-name-at-many-lines", test_long_name_at_many_lines);
    g_test_add_func("/report/functions/known-wrappers", test_known_wrappers);
    g_test_add_func("/report/functions/folding", test_folding);
    g_test_add_func("/report/functions/exports-are-whole", test_exports_are_whole);
    return g_test_run();
}
