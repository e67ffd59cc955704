/* SPDX-License-Identifier: Apache-2.0 */
#include "rules/window.h"

#define SECOND G_GINT64_CONSTANT(1000000)
#define MIB    1048576.0

static Quantity
parse(const char *text)
{
    Quantity quantity;
    char *why = NULL;
    g_assert_true(quantity_parse(text, &quantity, &why));
    return quantity;
}

static gdouble
noise(GRand *random)
{
    gdouble sum = 0;
    for (guint i = 0; i < 12; i++)
        sum += g_rand_double(random) - 0.5;
    return sum;
}

static void
test_rate(void)
{
    Quantity quantity = parse("rate(zero_reallocs)");
    Window *window = window_new(&quantity);
    WindowValue value;
    g_assert_false(window_value(window, &value));
    window_add(window, 10 * SECOND, 100);
    g_assert_false(window_value(window, &value));
    window_add(window, 20 * SECOND, 150);
    g_assert_true(window_value(window, &value));
    g_assert_cmpfloat(value.value, ==, 5);
    window_add(window, 15 * SECOND, 160); /* the clock was set back */
    g_assert_false(window_value(window, &value));
    window_free(window);
    quantity_clear(&quantity);
}

/* The interval contains the true slope 95 times in 100, and contains 0 if nothing grows. */
static void
test_slope(void)
{
    Quantity quantity = parse("slope(held,10m)");
    guint inside = 0, runs = 400;
    g_autoptr(GRand) random = g_rand_new_with_seed(7);
    for (guint run = 0; run < runs; run++) {
        Window *window = window_new(&quantity);
        WindowValue value;
        for (guint i = 0; i <= 60; i++) {
            g_assert_true(i > 54 || !window_value(window, &value)); /* the window is not filled */
            window_add(window, (1 + 10 * (gint64)i) * SECOND,
                       100 * MIB + 10 * i * 0.01 * MIB + 2 * MIB * noise(random));
        }
        g_assert_true(window_value(window, &value));
        g_assert_cmpfloat(value.low, <, value.value);
        g_assert_cmpfloat(value.high, >, value.value);
        inside += value.low < 0.01 * MIB && value.high > 0.01 * MIB;
        window_free(window);
    }
    g_assert_cmpuint(inside, >=, runs * 90 / 100);
    g_assert_cmpuint(inside, <, runs);
    quantity_clear(&quantity);
}

/* Values that have left the window do not count, however many samples there are. */
static void
test_window(void)
{
    Quantity quantity = parse("slope(held,1m)");
    Window *window = window_new(&quantity);
    WindowValue value;
    for (gint64 i = 0; i < 10000; i++)
        window_add(window, (1 + i) * SECOND / 10, i < 9000 ? (gdouble)i * MIB : 9000 * MIB);
    g_assert_true(window_value(window, &value));
    g_assert_cmpfloat_with_epsilon(value.value, 0, 1e-3);
    window_reset(window);
    window_add(window, 2000 * SECOND, 5);
    g_assert_false(window_value(window, &value));
    window_free(window);
    quantity_clear(&quantity);
}

static void
test_grows(void)
{
    Quantity quantity = parse("grows(held,1h)");
    g_autoptr(GRand) random = g_rand_new_with_seed(7);
    for (guint leak = 0; leak < 2; leak++) {
        Window *window = window_new(&quantity);
        WindowValue value;
        for (guint i = 0; i < 360; i++)
            window_add(window, (1 + 10 * (gint64)i) * SECOND,
                       100 * MIB + (leak != 0 ? i * 0.1 * MIB : 0) + 0.2 * MIB * noise(random));
        g_assert_true(window_value(window, &value));
        g_assert_cmpfloat(value.value, ==, leak);
        window_free(window);
    }
    quantity_clear(&quantity);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/window/rate", test_rate);
    g_test_add_func("/window/slope", test_slope);
    g_test_add_func("/window/window", test_window);
    g_test_add_func("/window/grows", test_grows);
    return g_test_run();
}
