/* SPDX-License-Identifier: Apache-2.0 */
#include "report/names.h"

static void
test_shorten(void)
{
    static const struct {
        const char *name, *shortened;
    } cases[] = {
        {"main", "main"},
        {"foo(int, char const*)", "foo"},
        {"std::vector<int, std::allocator<int> >::push_back(int const&)", "std::vector::push_back"},
        {"void app::run<int>(std::map<int, char>)", "app::run"},
        {"Widget::name() const", "Widget::name"},
        {"operator new(unsigned long)", "operator new"},
        {"operator new[](unsigned long)", "operator new[]"},
        {"operator<(A const&, A const&)", "operator<"},
        {"((", "(("},
        {")(", ")("},
        {"", ""},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *shortened = name_shorten(cases[i].name);
        g_assert_cmpstr(shortened, ==, cases[i].shortened);
    }
}

static void
test_shorten_is_linear(void)
{
    g_autofree char *open = g_strnfill(1 << 20, '(');
    g_autofree char *close = g_strnfill(1 << 20, ')');
    g_autofree char *nested = g_strconcat("f", open, close, NULL);
    g_autofree char *shortened = name_shorten(nested);

    g_assert_cmpstr(shortened, ==, "f");
}

static void
test_allocator(void)
{
    static const char *const inside[] = {"malloc",
                                         "calloc",
                                         "je_malloc",
                                         "_rjem_realloc",
                                         "operator new",
                                         "imalloc_body",
                                         "je_prof_backtrace",
                                         "__rust_alloc",
                                         "tc_new",
                                         "tcmalloc::Sampler::Record",
                                         "je_malloc_default",
                                         "mallocx",
                                         "posix_memalign",
                                         "operator new[]"};
    static const char *const outside[] = {"zmalloc", "main", "malloc_trim_all", "my_calloc",
                                          "je_",     "_",    "operator delete"};

    for (gsize i = 0; i < G_N_ELEMENTS(inside); i++)
        g_assert_true(name_is_allocator(inside[i]));
    for (gsize i = 0; i < G_N_ELEMENTS(outside); i++)
        g_assert_false(name_is_allocator(outside[i]));
}

static void
test_allocator_object(void)
{
    g_assert_true(name_is_allocator_object("/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"));
    g_assert_true(name_is_allocator_object("libtcmalloc_minimal.so.4"));
    g_assert_false(name_is_allocator_object("/opt/libjemalloc.so/libapp.so"));
    g_assert_false(name_is_allocator_object("/usr/bin/redis-server"));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/report/names/shorten", test_shorten);
    g_test_add_func("/report/names/shorten-is-linear", test_shorten_is_linear);
    g_test_add_func("/report/names/allocator", test_allocator);
    g_test_add_func("/report/names/allocator-object", test_allocator_object);
    return g_test_run();
}
