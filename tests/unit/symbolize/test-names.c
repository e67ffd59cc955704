/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/demangle.h"
#include "symbolize/names.h"

#include <string.h>
#include <time.h>

static void
test_each_language_is_demangled(void)
{
    static const struct {
        const char *linkage, *function;
    } cases[] = {
        {"main", "main"},
        {"_ZN5store3putERKSs", "store::put(std::string const&)"},
        {"_ZN4core3fmt5Write9write_fmt17h1234567890abcdefE", "core::fmt::Write::write_fmt"},
        {"_RNvCskwGfYPst2Cb_3foo3bar", "foo::bar"},
        {"_D4test3fooFiZv", "test.foo(int)"},
        {"_Zzz", "_Zzz"},
        {"_Dmain", "D main"},
        {"_start", "_start"},
        {"_ZN5store3putEi.isra.0", "store::put(int) [clone .isra.0]"},
        {"", ""},
    };
    g_autoptr(Names) names = names_new();
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        Name name = names_function(names, cases[i].linkage, strlen(cases[i].linkage));
        g_assert_cmpstr(name.function, ==, cases[i].function);
        g_assert_cmpstr(name.system_name, ==, cases[i].linkage);
    }
}

static void
test_one_copy_of_each(void)
{
    g_autoptr(Names) names = names_new();
    Name first = names_function(names, "_Z1fv(cut)", 5);
    Name second = names_function(names, "_Z1fv", 5);
    g_assert_cmpstr(first.function, ==, "f()");
    g_assert_true(first.function == second.function && first.system_name == second.system_name);
    Name plain = names_function(names, "plain", 5);
    g_assert_true(plain.function == plain.system_name);
    g_assert_true(names_string(names, "plain", 5) == plain.function);
}

static void
test_endless_name_stays_mangled(void)
{
    g_autoptr(Names) names = names_new();
    g_autoptr(GString) linkage = g_string_new("_Z1f");
    for (guint i = 0; i < 20000; i++)
        g_string_append_c(linkage, 'i');
    Name name = names_function(names, linkage->str, linkage->len);
    g_assert_cmpstr(name.function, ==, linkage->str);
}

/* "S" and a number in base 36, less one; the first is S_. */
static void
append_substitution(GString *to, guint number)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    g_string_append_c(to, 'S');
    if (number > 36)
        g_string_append_c(to, digits[(number - 1) / 36]);
    if (number > 0)
        g_string_append_c(to, digits[(number - 1) % 36]);
    g_string_append_c(to, '_');
}

/* f(A, P<A, A>, P<P<A, A>, P<A, A> >, ...): each level doubles, so that 500 characters are 2^41 pairs. */
static void
test_name_that_stands_for_terabytes(void)
{
    g_autoptr(Names) names = names_new();
    g_autoptr(GString) linkage = g_string_new("_Z1f1A1PIS_S_E");
    for (guint level = 2; level < 42; level++) {
        g_string_append(linkage, "S0_I");
        append_substitution(linkage, level);
        append_substitution(linkage, level);
        g_string_append_c(linkage, 'E');
    }
    g_assert_cmpstr(names_function(names, linkage->str, linkage->len).function, ==, linkage->str);
    Name shallow = names_function(names, "_Z1f1A1PIS_S_ES0_IS1_S1_E", 25);
    g_assert_cmpstr(shallow.function, ==, "f(A, P<A, A>, P<P<A, A>, P<A, A> >)");
}

/* A conversion operator may have template arguments or not, and so may each of these: 2^60 ways. */
static void
test_name_that_can_be_read_in_many_ways(void)
{
    g_autoptr(Names) names = names_new();
    const gint64 began = g_get_monotonic_time();
    for (guint i = 0; i < 2 * DEMANGLE_LOSSES; i++) {
        g_autoptr(GString) linkage = g_string_new("_ZN1Acv");
        for (guint level = 0; level < 60 + i; level++)
            g_string_append(linkage, "T_I");
        g_string_append_c(linkage, 'i');
        for (guint level = 0; level < 60 + i; level++)
            g_string_append_c(linkage, 'E');
        g_string_append(linkage, "Ev");
        g_assert_cmpstr(names_function(names, linkage->str, linkage->len).function, ==, linkage->str);
    }
    const gint64 took = g_get_monotonic_time() - began;
    g_assert_cmpint(took, <, (DEMANGLE_LOSSES * DEMANGLE_PATIENCE_S + 5) * G_USEC_PER_SEC);
    g_assert_cmpstr(names_function(names, "_ZN5store3putERKSs", 18).function, ==, "store::put(std::string const&)");
}

/* A reference of D to what is DISTANCE before it, in base 26. */
static void
append_back_reference(GString *to, gsize distance)
{
    g_string_append_c(to, 'Q');
    if (distance >= 26)
        g_string_append_c(to, (char)('A' + distance / 26));
    g_string_append_c(to, (char)('a' + distance % 26));
}

/* A function of D with a struct, an array of it with it as key, an array of such arrays, and so on: each level doubles.
 */
static char *
doubling_name(guint number, guint levels)
{
    GString *linkage = g_string_new(NULL);
    gsize last;
    g_string_printf(linkage, "_D9f%08uF", number);
    last = linkage->len;
    g_string_append(linkage, "S20aaaaaaaaaaaaaaaaaaaa");
    for (guint level = 0; level < levels; level++) {
        const gsize begin = linkage->len;
        g_string_append_c(linkage, 'H');
        append_back_reference(linkage, linkage->len - last);
        append_back_reference(linkage, linkage->len - last);
        last = begin;
    }
    g_string_append(linkage, "Zv");
    return g_string_free(linkage, FALSE);
}

/* Each takes a fraction of a second and no more, but there are so many that all together take minutes. */
static void
demangle_many_that_take_long(void)
{
    enum { MANY = 2000, LEVELS = 16 };
    const clock_t began = clock();
    for (guint i = 0; i < MANY; i++) {
        g_autofree char *linkage = doubling_name(i, LEVELS);
        g_autofree char *plain = demangle(linkage);
        g_assert_null(plain); /* longer than any is kept */
    }
    g_assert_cmpint(clock() - began, <, 2 * DEMANGLE_MOST_OVER_S * CLOCKS_PER_SEC);
    g_autofree char *without = demangle("_ZN5store3putEi");
    g_assert_cmpstr(without, ==, "store::put(int)");
}

/* In a process of its own, since it counts for all names of a process. */
static void
test_many_names_that_take_long(void)
{
    if (g_test_subprocess()) {
        demangle_many_that_take_long();
        return;
    }
    g_autofree char *few = doubling_name(1, 1);
    g_autofree char *plain = demangle(few);
    g_assert_cmpstr(plain, ==, "f00000001(aaaaaaaaaaaaaaaaaaaa, aaaaaaaaaaaaaaaaaaaa[aaaaaaaaaaaaaaaaaaaa])");
    g_test_trap_subprocess(NULL, 0, G_TEST_SUBPROCESS_DEFAULT);
    g_test_trap_assert_passed();
}

/* Names that are parts of one string of 64 KiB, at thousands of addresses. */
static void
test_long_names_are_cut_together(void)
{
    enum { LONGEST = 64 * 1024, MANY = 2 * NAMES_MOST_OVER / LONGEST };
    g_autoptr(Names) names = names_new();
    g_autofree char *text = g_strnfill(LONGEST, 'f');
    gsize sum = 0;
    for (guint i = 0; i < MANY; i++)
        sum += strlen(names_function(names, text + i, LONGEST - i).function);
    g_assert_cmpuint(sum, <=, NAMES_MOST_OVER + MANY * (gsize)(NAME_COMMON + strlen("…")));
    g_assert_cmpuint(strlen(names_string(names, text, LONGEST)), ==, LONGEST); /* the first was kept */
    const char *cut = names_string(names, text, LONGEST - MANY);
    g_assert_true(g_str_has_suffix(cut, "f…") && strlen(cut) == NAME_COMMON + strlen("…"));
    g_assert_cmpuint(strlen(names_string(names, text, NAME_COMMON)), ==, NAME_COMMON);
}

/* The end of a cut name is not within a character. */
static void
test_where_a_name_is_cut(void)
{
    NameBudget budget = {.over = NAMES_MOST_OVER};
    g_autoptr(GString) text = g_string_new("f");
    while (text->len <= NAME_COMMON)
        g_string_append(text, "ü");
    g_autofree char *cut = name_budget_cut(&budget, text->str);
    g_assert_true(g_utf8_validate(cut, -1, NULL));
    g_assert_cmpuint(strlen(cut), ==, NAME_COMMON - 1 + strlen("…"));
}

/* A path of a dump, whose last component is longer than any file's name: there may be any number of addresses in it. */
static void
test_placeholder_of_a_long_path(void)
{
    g_autoptr(Names) names = names_new();
    g_autofree char *path = g_strnfill(1 << 20, 'f');
    const ProfileObject object = {.path = path};
    const Symbol one = names_unknown(names, &object, 0x10), other = names_unknown(names, &object, 0x20);
    g_assert_true(one.frames->function != other.frames->function);
    g_assert_cmpuint(strlen(one.frames->function), <, NAME_COMMON);
}

static void
test_frames_stay_apart(void)
{
    g_autoptr(Names) names = names_new();
    g_autoptr(GPtrArray) all = g_ptr_array_new();
    static const guint32 sizes[] = {1, 4095, 1, 5000, 3, 4096, 2};
    for (guint32 i = 0; i < G_N_ELEMENTS(sizes); i++) {
        SymbolFrame *frames = names_frames(names, sizes[i]);
        for (guint32 k = 0; k < sizes[i]; k++) {
            g_assert_cmpuint(frames[k].line, ==, 0);
            frames[k].line = i + 1;
        }
        g_ptr_array_add(all, frames);
    }
    for (guint32 i = 0; i < G_N_ELEMENTS(sizes); i++) {
        const SymbolFrame *frames = all->pdata[i];
        g_assert_cmpuint(frames[0].line, ==, i + 1);
        g_assert_cmpuint(frames[sizes[i] - 1].line, ==, i + 1);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/names/each-language-is-demangled", test_each_language_is_demangled);
    g_test_add_func("/names/one-copy-of-each", test_one_copy_of_each);
    g_test_add_func("/names/endless-name-stays-mangled", test_endless_name_stays_mangled);
    g_test_add_func("/names/name-that-stands-for-terabytes", test_name_that_stands_for_terabytes);
    g_test_add_func("/names/many-names-that-take-long", test_many_names_that_take_long);
    g_test_add_func("/names/name-that-can-be-read-in-many-ways", test_name_that_can_be_read_in_many_ways);
    g_test_add_func("/names/long-names-are-cut-together", test_long_names_are_cut_together);
    g_test_add_func("/names/where-a-name-is-cut", test_where_a_name_is_cut);
    g_test_add_func("/names/placeholder-of-a-long-path", test_placeholder_of_a_long_path);
    g_test_add_func("/names/frames-stay-apart", test_frames_stay_apart);
    return g_test_run();
}
