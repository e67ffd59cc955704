/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/text.h"

#include <glib.h>

static void
test_adds_up(void)
{
    char bytes[32];
    Text text;
    text_init(&text, bytes, sizeof(bytes));
    text_add(&text, "a");
    text_add_number(&text, 0);
    text_add(&text, ".");
    text_add_number(&text, UINT64_MAX);
    g_assert_cmpstr(bytes, ==, "a0.18446744073709551615");
    g_assert_false(text.overflowed);
}

static void
test_stops_at_the_end(void)
{
    char bytes[4];
    Text text;
    text_init(&text, bytes, sizeof(bytes));
    text_add(&text, "abc");
    g_assert_false(text.overflowed);
    text_add(&text, "d");
    g_assert_true(text.overflowed);
    g_assert_cmpstr(bytes, ==, "abc");
}

static void
test_keeps_tails(void)
{
    char bytes[4];
    text_copy_tail(bytes, sizeof(bytes), "/usr/lib.so");
    g_assert_cmpstr(bytes, ==, ".so");
    text_copy_tail(bytes, sizeof(bytes), "a");
    g_assert_cmpstr(bytes, ==, "a");
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/agent/text/adds-up", test_adds_up);
    g_test_add_func("/agent/text/stops-at-the-end", test_stops_at_the_end);
    g_test_add_func("/agent/text/keeps-tails", test_keeps_tails);
    return g_test_run();
}
