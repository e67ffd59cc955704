/* SPDX-License-Identifier: Apache-2.0 */
#include "rules/amount.h"

static const AmountUnit bytes = {AMOUNT_BYTES, FALSE}, bytes_per_second = {AMOUNT_BYTES, TRUE},
                        share = {AMOUNT_SHARE, FALSE}, count = {AMOUNT_COUNT, FALSE}, time_unit = {AMOUNT_TIME, FALSE};

static void
test_parse(void)
{
    const struct {
        const char *text;
        AmountUnit unit;
        gdouble value;
    } rows[] = {
        {"2GiB", bytes, 2147483648.0},
        {"512", bytes, 512},
        {"1MiB/s", bytes_per_second, 1048576},
        {"60MiB/m", bytes_per_second, 1048576},
        {"-1KiB/s", bytes_per_second, -1024},
        {"90%", share, 0.9},
        {"12.5%", share, 0.125},
        {"1000", count, 1000},
        {"-3", count, -3},
        {"5ms", time_unit, 0.005},
        {"24KiB/d", bytes_per_second, 24576 / 86400.0},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        gdouble value = 0;
        g_assert_true(amount_parse(rows[i].text, rows[i].unit, &value));
        g_assert_cmpfloat_with_epsilon(value, rows[i].value, 1e-9);
    }
}

static void
test_wrong(void)
{
    const struct {
        const char *text;
        AmountUnit unit;
    } rows[] = {{"", bytes},
                {"2 GiB", bytes},
                {"2GiB/s", bytes},
                {"2GiB", bytes_per_second},
                {"2GiB/w", bytes_per_second},
                {"90", share},
                {"%", share},
                {"--1", count},
                {"1e9", count},
                {"nan", count},
                {"-", count},
                {"5", (AmountUnit){AMOUNT_TIME, TRUE}},
                {"/s", bytes_per_second}};
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        gdouble value = 7;
        g_assert_false(amount_parse(rows[i].text, rows[i].unit, &value));
        g_assert_cmpfloat(value, ==, 7);
    }
}

/* The examples are valid amounts. */
static void
test_examples(void)
{
    for (guint kind = AMOUNT_BYTES; kind <= AMOUNT_TIME; kind++)
        for (guint rate = 0; rate < 2; rate++) {
            AmountUnit unit = {(AmountKind)kind, rate != 0};
            gdouble value;
            g_assert_true(amount_parse(amount_example(unit), unit, &value));
        }
}

static void
test_format(void)
{
    const struct {
        gdouble value;
        AmountUnit unit;
        const char *text;
    } rows[] = {
        {2147483648.0, bytes, "2 GiB"},
        {1023, bytes, "1023 B"},
        {0.925, share, "92.5 %"},
        {100, count, "100"},
        {0.005, time_unit, "5 ms"},
        {90, time_unit, "90 s"},
        {1048576, bytes_per_second, "1 MiB/s"},
        {0.5, bytes_per_second, "30 B/m"},
        {-2048, bytes_per_second, "-2 KiB/s"},
        {0, bytes_per_second, "0 B/s"},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *text = amount_format(rows[i].value, rows[i].unit);
        g_assert_cmpstr(text, ==, rows[i].text);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/amount/parse", test_parse);
    g_test_add_func("/amount/wrong", test_wrong);
    g_test_add_func("/amount/examples", test_examples);
    g_test_add_func("/amount/format", test_format);
    return g_test_run();
}
