/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of demangled names, against the demangler's own idea of a name without parameters. */
#include "report/function-name.h"

#include <libiberty/demangle.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *name, *plain, *elided, *last;
} NameCase;

static void
test_parts(void)
{
    static const NameCase cases[] = {
        {"zmalloc", "zmalloc", "zmalloc", "zmalloc"},
        {"hold.part.0", "hold", "hold", "hold"},
        {"hold.constprop.1.isra.0", "hold", "hold", "hold"},
        {"hold.lto_priv.0", "hold.lto_priv.0", "hold.lto_priv.0", "hold.lto_priv.0"},
        {"void ns::f<int>(char const*) const [clone .cold]", "ns::f<int>", "ns::f<...>", "f<int>"},
        {"node::Buffer::(anonymous namespace)::Create(int const&)", "node::Buffer::(anonymous namespace)::Create",
         "node::Buffer::(anonymous namespace)::Create", "Create"},
        {"main::{lambda(int)#1}::operator()(int) const", "main::{lambda(int)#1}::operator()",
         "main::{lambda(int)#1}::operator()", "operator()"},
        {"shop::run(int)::Local::go()", "shop::run(int)::Local::go", "shop::run(int)::Local::go", "go"},
        {"A::g(int) const::{lambda()#2}::operator()() const", "A::g(int) const::{lambda()#2}::operator()",
         "A::g(int) const::{lambda()#2}::operator()", "operator()"},
        {"A::operator<(A const&) const", "A::operator<", "A::operator<", "operator<"},
        {"std::ostream& ns::operator<< <ns::Map>(std::ostream&, int)", "ns::operator<< <ns::Map>",
         "ns::operator<< <ns::Map>", "operator<< <ns::Map>"},
        {"A::operator->()", "A::operator->", "A::operator->", "operator->"},
        {"A::operator unsigned long() const", "A::operator unsigned long", "A::operator unsigned long",
         "operator unsigned long"},
        {"operator new(unsigned long)", "operator new", "operator new", "operator new"},
        {"<alloc::vec::Vec<T> as core::ops::drop::Drop>::drop", "<alloc::vec::Vec<T> as core::ops::drop::Drop>::drop",
         "<alloc::vec::Vec<...> as core::ops::drop::Drop>::drop", "drop"},
        {"<F as core::ops::FnOnce<(A, B)>>::call_once", "<F as core::ops::FnOnce<(A, B)>>::call_once",
         "<F as core::ops::FnOnce<...>>::call_once", "call_once"},
        {"app.shop.hold(int)", "app.shop.hold", "app.shop.hold", "app.shop.hold"},
        {"app.Cart!(int).Cart.fill(int)", "app.Cart!(int).Cart.fill", "app.Cart!(...).Cart.fill",
         "app.Cart!(int).Cart.fill"},
        {"app.run(int).inner(ulong)", "app.run(int).inner", "app.run(int).inner", "app.run(int).inner"},
        {"app.run().__lambda4(int)", "app.run().__lambda4", "app.run().__lambda4", "app.run().__lambda4"},
        {"[libc.so.6+0x271ca]", "[libc.so.6+0x271ca]", "[libc.so.6+0x271ca]", "[libc.so.6+0x271ca]"},
        {"((", "((", "((", "(("},
        {"a<b", "a<b", "a<b", "a<b"},
        {"", "", "", ""},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *plain = function_name_plain(cases[i].name);
        g_autofree char *elided = function_name_elide(plain);
        g_assert_cmpstr(plain, ==, cases[i].plain);
        g_assert_cmpstr(elided, ==, cases[i].elided);
        g_assert_cmpstr(function_name_last(plain), ==, cases[i].last);
    }
}

/* The demangler prints a name without parameters and return type if it is not asked for them. */
static void
check_mangled(const char *mangled)
{
    char *whole = cplus_demangle(mangled, DMGL_AUTO | DMGL_PARAMS | DMGL_ANSI);
    char *bare = cplus_demangle(mangled, DMGL_AUTO | DMGL_ANSI);
    g_autofree char *plain = whole ? function_name_plain(whole) : NULL;
    g_autofree char *expected = bare ? function_name_unclone(bare) : NULL;

    if (plain && expected)
        g_assert_cmpstr(plain, ==, expected);
    free(whole);
    free(bare);
}

static gboolean
is_function_name(const char *name)
{
    static const char *const others[] = {"_ZT", "_ZGV", "_ZGT", "_ZGR", "_ZTh", "_ZTv"};

    if (!g_str_has_prefix(name, "_Z") || strstr(name, "cvMS") || strstr(name, "cvFv"))
        return FALSE;
    for (guint i = 0; i < G_N_ELEMENTS(others); i++)
        if (g_str_has_prefix(name, others[i]))
            return FALSE;
    return TRUE;
}

/* Every function that the C++ library of this machine exports. */
static void
test_library(void)
{
    g_autofree char *output = NULL;
    g_auto(GStrv) lines = NULL;
    guint checked = 0;
    static const char script[] =
        "nm -D --defined-only \"$(cc -print-file-name=libstdc++.so.6)\" 2>/dev/null | sed 's/.* //; s/@.*//'";
    g_auto(GStrv) arguments = g_strsplit("sh\n-c\n", "\n", 3);

    g_free(arguments[2]);
    arguments[2] = g_strdup(script);
    if (!g_spawn_sync(NULL, arguments, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, &output, NULL, NULL, NULL) || !output ||
        !*output) {
        g_test_skip("no nm, or no libstdc++.so.6 that it can read");
        return;
    }
    lines = g_strsplit(output, "\n", -1);
    for (guint i = 0; lines[i]; i++) {
        if (!is_function_name(lines[i]))
            continue;
        check_mangled(lines[i]);
        checked++;
    }
    g_assert_cmpuint(checked, >, 1000);
}

/* Hostile names cost no more than their length. */
static void
test_is_linear(void)
{
    static const char *const pieces[] = {"(", "<", "a<", "f(", "operator<", "{", "::<", "a<b>", "(anonymous "};

    for (guint i = 0; i < G_N_ELEMENTS(pieces); i++) {
        g_autoptr(GString) name = g_string_new("f");
        while (name->len < 1 << 20)
            g_string_append(name, pieces[i]);
        g_autofree char *plain = function_name_plain(name->str);
        g_autofree char *elided = function_name_elide(name->str);
        g_assert_nonnull(plain);
        g_assert_nonnull(elided);
        g_assert_nonnull(function_name_last(name->str));
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/report/function-name/parts", test_parts);
    g_test_add_func("/report/function-name/library", test_library);
    g_test_add_func("/report/function-name/is-linear", test_is_linear);
    return g_test_run();
}
