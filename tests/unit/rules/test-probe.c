/* SPDX-License-Identifier: Apache-2.0 */
#include "rules/probe.h"

#include <string.h>

static void
test_parse(void)
{
    static const struct {
        const char *text;
        ProbeKind kind;
    } rows[] = {
        {"ledger(slab-holes)", PROBE_LEDGER},
        {"function(^std::map<int, (char|long)>::)", PROBE_FUNCTION},
        {"stack(^main;.*;keep$)", PROBE_STACK},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        char *why = NULL;
        Probe *probe = probe_parse(rows[i].text, &why);
        g_assert_nonnull(probe);
        g_assert_null(why);
        g_assert_cmpint(probe->kind, ==, rows[i].kind);
        g_assert_true(probe_is(rows[i].text));
        probe_free(probe);
    }
    g_assert_false(probe_is("held"));
    g_assert_false(probe_is("slope(function(x),1h)"));
}

static void
test_wrong(void)
{
    static const struct {
        const char *text, *why;
    } rows[] = {
        {"ledger(slab-hole)", "did you mean 'slab-holes'?"},
        {"ledger(nonsense)", "see 'jescope ledger TARGET'"},
        {"function()", "write it as"},
        {"function(a", "write it as"},
        {"stack(a)b", "write it as"},
        {"function([)", "is not a regular expression of 1 to 1000 characters: "},
        {"function((*NO_JIT)a)", "is not a regular expression"},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *why = NULL;
        g_assert_null(probe_parse(rows[i].text, &why));
        g_assert_nonnull(strstr(why, rows[i].why));
    }
}

static gboolean
sums(const char *text, gdouble *sums)
{
    static const char *const words[] = {"function(^keep$)", "stack(main;serve)", "function(serve|keep)",
                                        "ledger(slab-holes)"};
    g_autoptr(GPtrArray) probes = g_ptr_array_new_with_free_func((GDestroyNotify)probe_free);
    for (gsize i = 0; i < G_N_ELEMENTS(words); i++)
        g_ptr_array_add(probes, probe_parse(words[i], NULL));
    memset(sums, 0, G_N_ELEMENTS(words) * sizeof(*sums));
    return probes_sum(probes, text, strlen(text), 600 * (gint64)G_USEC_PER_SEC, sums);
}

/* A stack counts once, even if two of its functions match. */
static void
test_sums(void)
{
    gdouble sum[4];
    g_assert_true(sums("main;serve;keep 100\nmain;keeper 10\nkeep;keep 1\nmain;a b;serve<x, y> 1000\n", sum));
    g_assert_cmpfloat(sum[0], ==, 101);
    g_assert_cmpfloat(sum[1], ==, 100);
    g_assert_cmpfloat(sum[2], ==, 1111);
    g_assert_cmpfloat(sum[3], ==, 0);
    g_assert_true(sums("", sum));
    g_assert_cmpfloat(sum[0], ==, 0);
}

static void
test_not_a_report(void)
{
    static const char *const rows[] = {"keep\n", "keep 1", "keep x\n", "keep 99999999999999999999\n", "\xff 1\n", "\n"};
    gdouble sum[4];
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
        g_assert_false(sums(rows[i], sum));
}

/* Names that a hostile program has made to match slowly: the time of one match and of all of them is limited. */
static void
test_slow_names(void)
{
    g_autoptr(GPtrArray) probes = g_ptr_array_new_with_free_func((GDestroyNotify)probe_free);
    g_autoptr(GString) text = g_string_new(NULL);
    gdouble sum = 0;
    g_ptr_array_add(probes, probe_parse("function(^(a+)+$)", NULL));
    for (guint i = 0; i < 100000; i++)
        g_string_append_printf(text, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa%u! 1\n", i);
    g_assert_false(probes_sum(probes, text->str, text->len, 1000, &sum));
}

/* The time of a match, which cannot be interrupted, grows with the length of the text. */
static void
test_long_line(void)
{
    gdouble sum[4];
    GString *text = g_string_new("keep");
    while (text->len < (1 << 20) - 100)
        g_string_append(text, ";serve");
    g_autofree char *within = g_strconcat(text->str, " 1\n", NULL);
    while (text->len < (1 << 20) + 100)
        g_string_append(text, ";serve");
    g_autofree char *beyond = g_strconcat(text->str, " 1\n", NULL);
    g_string_free(text, TRUE);
    g_assert_true(sums(within, sum));
    g_assert_cmpfloat(sum[0], ==, 1);
    g_assert_false(sums(beyond, sum));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/probe/parse", test_parse);
    g_test_add_func("/probe/wrong", test_wrong);
    g_test_add_func("/probe/sums", test_sums);
    g_test_add_func("/probe/not-a-report", test_not_a_report);
    g_test_add_func("/probe/long-line", test_long_line);
    g_test_add_func("/probe/slow-names", test_slow_names);
    return g_test_run();
}
