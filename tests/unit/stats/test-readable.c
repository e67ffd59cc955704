/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/readable.h"

#include <math.h>
#include <string.h>

/* The result of "%.12g" and Python 2's ".0". */
static char *
reference(double bytes)
{
    static const struct {
        double unit;
        const char *name;
    } steps[] = {{1 << 30, " GB"}, {1 << 20, " MB"}, {1 << 10, " KB"}, {1, " B"}};
    guint i = 0;
    while (i < 3 && fabs(bytes) < steps[i].unit)
        i++;
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    g_ascii_formatd(text, sizeof(text), "%.12g", bytes / steps[i].unit);
    return g_strconcat(text, strpbrk(text, ".e") != NULL ? "" : ".0", steps[i].name, NULL);
}

static void
check_float(double bytes)
{
    g_autoptr(GString) out = g_string_new(NULL);
    g_autofree char *expected = reference(bytes);
    readable_append_float(out, bytes);
    g_assert_cmpstr(out->str, ==, expected);
}

static void
test_floats(void)
{
    static const double edges[] = {0,         1,         1023,          1024,         1025,          1048575,
                                   1048576,   346030080, 378961920,     123456789,    1073741823,    1073741824,
                                   -83886080, -1,        1099511627775, 999999999999, 1048575999999, 9007199254740991};
    for (gsize i = 0; i < G_N_ELEMENTS(edges); i++)
        check_float(edges[i]);
    for (guint i = 0; i < 200000; i++) {
        guint64 bits = ((guint64)g_test_rand_int() << 32 | (guint32)g_test_rand_int()) >> g_test_rand_int_range(11, 64);
        check_float((double)bits);
        check_float(-(double)(bits | 1));
    }
}

static void
test_integers(void)
{
    static const struct {
        gint64 bytes;
        const char *text;
    } rows[] = {{0, "0 B"},           {1536, "1 KB"},      {200 << 20, "200 MB"}, {-300000000, "-287 MB"},
                {1536 << 20, "1 GB"}, {-5242880, "-5 MB"}, {-5242881, "-6 MB"},   {1023, "1023 B"}};
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(GString) out = g_string_new(NULL);
        readable_append_integer(out, rows[i].bytes);
        g_assert_cmpstr(out->str, ==, rows[i].text);
    }
}

static void
test_percents(void)
{
    static const struct {
        double part, whole;
        const char *text;
    } rows[] = {{120, 160, "75.0%"}, {1, 3, "33.33%"},   {2, 1, "200.0%"},  {0, 7, "0.0%"},
                {2, 3, "66.66%"},    {1, 20000, "0.0%"}, {3, 4000, "0.07%"}};
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(GString) out = g_string_new(NULL);
        readable_append_percent(out, rows[i].part, rows[i].whole);
        g_assert_cmpstr(out->str, ==, rows[i].text);
    }
}

static void
test_sizes(void)
{
    static const struct {
        double bytes;
        const char *text;
    } rows[] = {{0, "0 B"},           {1023, "1023 B"},          {1024, "1.0 KiB"}, {1048524, "1023.9 KiB"},
                {1048575, "1.0 MiB"}, {-346030080, "-330.0 MiB"}};
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(GString) out = g_string_new(NULL);
        readable_append_size(out, rows[i].bytes, 0);
        g_assert_cmpstr(out->str, ==, rows[i].text);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/stats/readable/floats", test_floats);
    g_test_add_func("/stats/readable/integers", test_integers);
    g_test_add_func("/stats/readable/percents", test_percents);
    g_test_add_func("/stats/readable/sizes", test_sizes);
    return g_test_run();
}
