/* SPDX-License-Identifier: Apache-2.0 */
/* The statistics of a target as lines of a log. */
#include "cli/jem-stats.h"

#include <string.h>
#include <sys/resource.h>

#define MIB (1L << 20)

/* "LINE" of "DATE: INFO (alloc): LINE". */
static const char *
without_date(const char *line)
{
    const char *mark = strstr(line, ": INFO (alloc): ");
    g_assert_nonnull(mark);
    return mark + strlen(": INFO (alloc): ");
}

static void
test_lines(void)
{
    static const char text[] = "one\n\n\ttwo\x1b[31m\n\xff\n\0hidden\nlast";
    static const char *const shown[] = {"\ttwo?[31m", "?", "last"};
    g_autofree char *out = NULL;
    gsize size = 0;
    FILE *log = open_memstream(&out, &size);

    g_assert_cmpuint(jem_stats_log(log, text, sizeof(text) - 1), ==, 0);
    fclose(log);
    g_auto(GStrv) lines = g_strsplit(out, "\n", -1);
    g_assert_cmpuint(g_strv_length(lines), ==, 5);
    g_assert_cmpstr(without_date(lines[0]), ==, "one");
    for (gsize i = 0; i < G_N_ELEMENTS(shown); i++)
        g_assert_cmpstr(without_date(lines[i + 1]), ==, shown[i]);
}

static void
test_a_long_line_is_cut(void)
{
    g_autofree char *text = g_strnfill(5000, 'x'), *out = NULL;
    gsize size = 0;
    FILE *log = open_memstream(&out, &size);

    g_assert_cmpuint(jem_stats_log(log, text, 5000), ==, 0);
    fclose(log);
    g_assert_cmpuint(strspn(without_date(out), "x"), ==, 999);
}

static void
test_no_text(void)
{
    g_assert_cmpuint(jem_stats_log(stderr, NULL, 0), ==, 0);
}

static long
resident_kib(void)
{
    struct rusage used;
    g_assert_cmpint(getrusage(RUSAGE_SELF, &used), ==, 0);
    return used.ru_maxrss;
}

/* An array of the lines would take 42 bytes for each. */
static void
test_many_lines_take_no_memory(void)
{
    g_autofree char *text = g_strnfill(16 * MIB, '\n');
    const long before = resident_kib();

    g_assert_cmpuint(jem_stats_log(stderr, text, 16 * MIB), ==, 0);
    g_assert_cmpint(resident_kib() - before, <, 64 * 1024);
}

/* Two bytes of the target become 45 of the log. */
static void
test_the_log_is_bounded(void)
{
    const gsize length = 8 * MIB;
    g_autofree char *text = g_malloc(length);
    FILE *log = tmpfile();

    for (gsize i = 0; i < length; i++)
        text[i] = i % 2 == 0 ? 'x' : '\n';
    const gsize left_out = jem_stats_log(log, text, length);
    g_assert_cmpuint(left_out, >, length / 2);
    g_assert_cmpuint(left_out, <, length);
    g_assert_cmpint(ftell(log), >=, 64 * MIB);
    g_assert_cmpint(ftell(log), <, 64 * MIB + 2000);
    fclose(log);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/cli/jem-stats/lines", test_lines);
    g_test_add_func("/cli/jem-stats/a-long-line-is-cut", test_a_long_line_is_cut);
    g_test_add_func("/cli/jem-stats/no-text", test_no_text);
    g_test_add_func("/cli/jem-stats/many-lines-take-no-memory", test_many_lines_take_no_memory);
    g_test_add_func("/cli/jem-stats/the-log-is-bounded", test_the_log_is_bounded);
    return g_test_run();
}
