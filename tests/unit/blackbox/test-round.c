/* SPDX-License-Identifier: Apache-2.0 */
#include "blackbox/round.h"

static guint
count_of(const GArray *due, uid_t user)
{
    guint n = 0;
    for (guint i = 0; i < due->len; i++)
        n += g_array_index(due, RoundEntry, i).account == user;
    return n;
}

/* A thousand targets of one user do not delay those of another; those that have waited longest come first. */
static void
test_users_share(void)
{
    g_autoptr(GArray) due = g_array_new(FALSE, FALSE, sizeof(RoundEntry));
    for (guint i = 0; i < 1000; i++) {
        const RoundEntry entry = {.since_us = 1000 - i, .account = 1001};
        g_array_append_val(due, entry);
    }
    for (guint i = 0; i < 3; i++) {
        const RoundEntry entry = {.since_us = 5000 + i, .account = 1000};
        g_array_append_val(due, entry);
    }
    round_choose(due);
    g_assert_cmpuint(count_of(due, 1001), ==, ROUND_OF_USER);
    g_assert_cmpuint(count_of(due, 1000), ==, 3);
    for (guint i = 0; i < ROUND_OF_USER; i++)
        g_assert_cmpint(g_array_index(due, RoundEntry, i).since_us, ==, 1 + i);
}

/* An ended target is always chosen. */
static void
test_ended(void)
{
    g_autoptr(GArray) due = g_array_new(FALSE, FALSE, sizeof(RoundEntry));
    for (guint i = 0; i < 100; i++) {
        const RoundEntry entry = {.since_us = i, .account = 1001, .ended = i % 2 == 0};
        g_array_append_val(due, entry);
    }
    round_choose(due);
    g_assert_cmpuint(due->len, ==, 50 + ROUND_OF_USER);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/round/users-share", test_users_share);
    g_test_add_func("/round/ended", test_ended);
    return g_test_run();
}
