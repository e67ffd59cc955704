/* SPDX-License-Identifier: Apache-2.0 */
#include "export/delivery.h"

/* 1 s, 2 s, 4 s... 5 minutes; half of it at most is taken off at random. */
static void
test_back_off(void)
{
    g_assert_cmpint(delivery_back_off_us(1, 0, 0), ==, 1 * G_USEC_PER_SEC);
    g_assert_cmpint(delivery_back_off_us(1, 0, 1), ==, G_USEC_PER_SEC / 2);
    g_assert_cmpint(delivery_back_off_us(4, 0, 0), ==, 8 * G_USEC_PER_SEC);
    g_assert_cmpint(delivery_back_off_us(9, 0, 0), ==, 256 * G_USEC_PER_SEC);
    g_assert_cmpint(delivery_back_off_us(10, 0, 0), ==, 300 * G_USEC_PER_SEC);
    g_assert_cmpint(delivery_back_off_us(G_MAXUINT, 0, 1), ==, 150 * G_USEC_PER_SEC);
}

/* Never sooner than the other side said, and not all hosts at the same moment. */
static void
test_retry_after(void)
{
    g_assert_cmpint(delivery_back_off_us(1, 30, 0), ==, 30 * G_USEC_PER_SEC);
    g_assert_cmpint(delivery_back_off_us(1, 30, 0.5), ==, 30 * G_USEC_PER_SEC + G_USEC_PER_SEC / 2);
    g_assert_cmpint(delivery_back_off_us(10, 30, 0), ==, 300 * G_USEC_PER_SEC);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/delivery/back-off", test_back_off);
    g_test_add_func("/delivery/retry-after", test_retry_after);
    return g_test_run();
}
