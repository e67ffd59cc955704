/* SPDX-License-Identifier: Apache-2.0 */
#include "report/units.h"

static void
test_sizes(void)
{
    static const struct {
        gdouble amount;
        UnitsFlags flags;
        const char *text;
    } cases[] = {
        {0, UNITS_PLAIN, "0 B"},
        {-0.0, UNITS_PLAIN, "0 B"},
        {1023, UNITS_PLAIN, "1023 B"},
        {1024, UNITS_PLAIN, "1.0 KiB"},
        {1023.99 * 1024, UNITS_PLAIN, "1.0 MiB"},
        {12.34 * 1048576, UNITS_PLAIN, "12.3 MiB"},
        {12.34 * 1048576, UNITS_SIGNED, "+12.3 MiB"},
        {-5 * 1073741824.0, UNITS_SIGNED, "-5.0 GiB"},
        {0, UNITS_SIGNED, "0 B"},
        {123456789, UNITS_EXACT, "123456789"},
        {18446744073709551615.0, UNITS_PLAIN, "16.0 EiB"},
        {1e25, UNITS_PLAIN, "8673617.4 EiB"},
        {1e300, UNITS_PLAIN, "1.000e+300"},
    };
    char buffer[UNITS_BUFFER];

    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
        g_assert_cmpstr(units_format(buffer, PROFILE_INUSE_SPACE, cases[i].amount, cases[i].flags), ==, cases[i].text);
}

static void
test_objects(void)
{
    char buffer[UNITS_BUFFER];

    g_assert_cmpstr(units_format(buffer, PROFILE_ALLOC_OBJECTS, 1234567.4, UNITS_PLAIN), ==, "1234567");
    g_assert_cmpstr(units_format(buffer, PROFILE_INUSE_OBJECTS, 3, UNITS_SIGNED), ==, "+3");
}

static void
test_percent(void)
{
    char buffer[UNITS_BUFFER];

    g_assert_cmpstr(units_percent(buffer, 1, 3), ==, "33.3%");
    g_assert_cmpstr(units_percent(buffer, 1, 0), ==, "-");
    g_assert_cmpstr(units_percent(buffer, -0.00001, 1), ==, "0.0%");
}

static void
test_round(void)
{
    g_assert_cmpint(units_round(1.5), ==, 2);
    g_assert_cmpint(units_round(-1.5), ==, -2);
    g_assert_cmpint(units_round(1e300), ==, G_MAXINT64);
    g_assert_cmpint(units_round(-1e300), ==, G_MININT64);
}

/* What a graph shows beside a value: through the bytes, the sum of an age is a mean. */
static void
test_other(void)
{
    g_assert_cmpint(value_other(PROFILE_INUSE_SPACE), ==, PROFILE_INUSE_OBJECTS);
    g_assert_cmpint(value_other(PROFILE_FREED_OBJECTS), ==, PROFILE_FREED_SPACE);
    g_assert_cmpint(value_other(PROFILE_AGE), ==, PROFILE_INUSE_SPACE);
    g_assert_cmpint(value_other(PROFILE_LIFETIME), ==, PROFILE_FREED_SPACE);
    g_assert_cmpint(value_other(PROFILE_CHURN), ==, PROFILE_FREED_SPACE);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/report/units/sizes", test_sizes);
    g_test_add_func("/report/units/objects", test_objects);
    g_test_add_func("/report/units/percent", test_percent);
    g_test_add_func("/report/units/round", test_round);
    g_test_add_func("/report/units/other", test_other);
    return g_test_run();
}
