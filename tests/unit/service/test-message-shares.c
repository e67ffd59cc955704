/* SPDX-License-Identifier: Apache-2.0 */
#include "service/message-shares.h"

enum {
    USER = 65533,
    OTHER = 65532,
    FIRST_OF_MANY = 100000,
    MANY = 20000,
    AT_ONCE = 64,
};

static const gint64 every_us = 10 * G_USEC_PER_SEC;

static guint
count_taken(MessageShares *shares, uid_t account, gint64 now_us)
{
    guint taken = 0, untold;
    for (guint i = 0; i < 10 * AT_ONCE; i++)
        taken += message_shares_take(shares, account, now_us, &untold);
    return taken;
}

static void
test_of_a_user(void)
{
    g_autoptr(MessageShares) shares = message_shares_new(AT_ONCE, every_us);
    guint untold = 0;
    g_assert_cmpuint(count_taken(shares, USER, 1), ==, AT_ONCE);
    g_assert_cmpuint(count_taken(shares, OTHER, 1), ==, AT_ONCE);
    g_assert_false(message_shares_take(shares, USER, every_us, &untold));
    g_assert_true(message_shares_take(shares, USER, every_us + 1, &untold));
    g_assert_cmpuint(untold, ==, 9 * AT_ONCE + 1);
    g_assert_false(message_shares_take(shares, USER, every_us + 1, &untold));
    g_assert_cmpuint(count_taken(shares, USER, 1 + 10000 * every_us), ==, AT_ONCE);
}

/* One of any number of user ids has the share of each, but not more than that in any time: none is forgotten early. */
static void
test_many_users(void)
{
    g_autoptr(MessageShares) shares = message_shares_new(AT_ONCE, every_us);
    guint taken = 0, again = 0, untold;
    g_assert_cmpuint(count_taken(shares, USER, 1), ==, AT_ONCE);
    for (guint i = 0; i < MANY; i++)
        taken += message_shares_take(shares, FIRST_OF_MANY + i, 1, &untold);
    for (guint i = 0; i < MANY; i++)
        again += message_shares_take(shares, FIRST_OF_MANY + i, 1, &untold);
    g_assert_cmpuint(taken, <, 5000);
    g_assert_cmpuint(again, <, 5000);
    g_assert_false(message_shares_take(shares, USER, 1, &untold));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/service/message-shares/of-a-user", test_of_a_user);
    g_test_add_func("/service/message-shares/many-users", test_many_users);
    return g_test_run();
}
