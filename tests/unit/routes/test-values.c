/* SPDX-License-Identifier: Apache-2.0 */
#include "routes/values.h"

#include <glib.h>
#include <string.h>

/* Durations and sizes are tested where the command line reads them (tests/unit/cli). */

static void
test_numbers(void)
{
    uint64_t number = 7;
    int64_t negative = 7;
    g_assert_true(value_unsigned("18446744073709551615", &number));
    g_assert_cmpuint(number, ==, UINT64_MAX);
    static const char *const bad[] = {"", "-1", "+1", " 1", "1 ", "1x", "0x1", "18446744073709551616"};
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++)
        g_assert_false(value_unsigned(bad[i], &number));
    g_assert_cmpuint(number, ==, UINT64_MAX);
    g_assert_true(value_signed("-1", &negative));
    g_assert_cmpint(negative, ==, -1);
    g_assert_false(value_signed("9223372036854775808", &negative));
    g_assert_false(value_signed("--1", &negative));
    g_assert_false(value_signed("-", &negative));
}

static void
test_decimals(void)
{
    double number = 7;
    g_assert_true(value_decimal("12.25x", 5, &number));
    g_assert_cmpfloat(number, ==, 12.25);
    g_assert_true(value_decimal(".5", 2, &number));
    g_assert_cmpfloat(number, ==, 0.5);
    g_assert_false(value_decimal("1.2.3", 5, &number));
    g_assert_false(value_decimal(".", 1, &number));
    g_assert_false(value_decimal("", 0, &number));
    g_assert_false(value_decimal("1e3", 3, &number));
    char digits[801];
    memset(digits, '9', sizeof(digits));
    digits[400] = '.';
    g_assert_false(value_decimal(digits, 400, &number));
    g_assert_false(value_decimal(digits, sizeof(digits), &number));
    g_assert_true(value_decimal(digits, 300, &number));
}

static void
test_booleans(void)
{
    bool value = false;
    g_assert_true(value_boolean("yes", &value));
    g_assert_true(value);
    g_assert_true(value_boolean("0", &value));
    g_assert_false(value);
    g_assert_false(value_boolean("TRUE", &value));
    g_assert_false(value_boolean("", &value));
}

static void
test_log2(void)
{
    g_assert_cmpuint(value_log2_rounded(1), ==, 0);
    g_assert_cmpuint(value_log2_rounded(3), ==, 2);
    g_assert_cmpuint(value_log2_rounded(512 << 10), ==, 19);
    g_assert_cmpuint(value_log2_rounded(500000), ==, 19);
    g_assert_cmpuint(value_log2_rounded(300000), ==, 18);
    g_assert_cmpuint(value_log2_rounded(UINT64_C(1) << 63), ==, 63);
    g_assert_cmpuint(value_log2_rounded(UINT64_MAX), ==, 64);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/routes/values/numbers", test_numbers);
    g_test_add_func("/routes/values/decimals", test_decimals);
    g_test_add_func("/routes/values/booleans", test_booleans);
    g_test_add_func("/routes/values/log2", test_log2);
    return g_test_run();
}
