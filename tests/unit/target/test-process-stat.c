/* SPDX-License-Identifier: Apache-2.0 */
#include "target/process-stat.h"

#include <string.h>

#define TO_FLAGS " Z 7 42 42 0 -1 4194564"
#define TO_STACK TO_FLAGS " 1 2 3 4 5 6 7 8 9 10 11 12 815 13 14 15 16 17 140736414613680"

static void
test_fields(void)
{
    static const char *const names[] = {"redis-server", "a b) c", ")", "", "x\n) S 1 2"};
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autofree char *stat =
            g_strconcat("42 (", names[i], ")" TO_STACK " 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 11\n", NULL);
        const char *name = NULL;
        gsize length = 0;
        guint64 number = 0;
        g_assert_true(process_stat_name(stat, &name, &length));
        g_assert_cmpmem(name, length, names[i], strlen(names[i]));
        g_assert_cmpint(process_stat_state(stat), ==, 'Z');
        g_assert_true(process_stat_number(stat, PROCESS_STAT_PARENT, &number));
        g_assert_cmpuint(number, ==, 7);
        g_assert_true(process_stat_number(stat, PROCESS_STAT_FLAGS, &number));
        g_assert_cmpuint(number, ==, 4194564);
        g_assert_true(process_stat_number(stat, PROCESS_STAT_START_TIME, &number));
        g_assert_cmpuint(number, ==, 815);
        g_assert_true(process_stat_number(stat, PROCESS_STAT_STACK, &number));
        g_assert_cmpuint(number, ==, G_GUINT64_CONSTANT(140736414613680));
        g_assert_true(process_stat_number(stat, PROCESS_STAT_EXIT_CODE, &number));
        g_assert_cmpuint(number, ==, 11);
    }
}

static void
test_incomplete(void)
{
    static const char *const stats[] = {NULL,     "",        "42",       "42 (x",     "42 x)",
                                        "42 (x)", "42 (x) ", "42 (x) S", "42 (x) S x"};
    for (gsize i = 0; i < G_N_ELEMENTS(stats); i++) {
        guint64 number = 5;
        g_assert_false(process_stat_number(stats[i], PROCESS_STAT_PARENT, &number));
        g_assert_false(process_stat_number(stats[i], PROCESS_STAT_STACK, &number));
        g_assert_cmpuint(number, ==, 5);
    }
    const char *name;
    gsize length;
    for (gsize i = 0; i < 5; i++)
        g_assert_false(process_stat_name(stats[i], &name, &length));
    for (gsize i = 0; i < 7; i++)
        g_assert_cmpint(process_stat_state(stats[i]), ==, '\0');
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/process-stat/fields", test_fields);
    g_test_add_func("/process-stat/incomplete", test_incomplete);
    return g_test_run();
}
