/* SPDX-License-Identifier: Apache-2.0 */
#include "service/post-queue.h"

enum { MANY = 20, A = 1000, B = 1001 };

static void
free_post(gpointer post)
{
}

static gpointer
number(guint n)
{
    return GUINT_TO_POINTER(n);
}

/* A user with many posts to a slow server does not hold up another's. */
static void
test_accounts(void)
{
    PostQueue *queue = post_queue_new(8, 2, free_post);
    for (guint i = 1; i <= MANY; i++)
        post_queue_add(queue, A, "slow", number(i));
    g_assert_true(post_queue_next(queue, 1) == number(1));
    g_assert_true(post_queue_next(queue, 2) == number(2));
    g_assert_null(post_queue_next(queue, 3));
    post_queue_add(queue, B, "slow", number(100));
    post_queue_add(queue, B, "slow", number(101));
    post_queue_done(queue, "slow");
    g_assert_true(post_queue_next(queue, 4) == number(100));
    post_queue_done(queue, "slow");
    g_assert_true(post_queue_next(queue, 5) == number(3));
    post_queue_done(queue, "slow");
    g_assert_true(post_queue_next(queue, 6) == number(101));
    post_queue_free(queue);
}

/* Nor a slow server posts to others, of which there is a limit in all. */
static void
test_servers(void)
{
    PostQueue *queue = post_queue_new(4, 2, free_post);
    static const char *const servers[] = {"a", "a", "a", "b", "c", "d"};
    for (guint i = 0; i < G_N_ELEMENTS(servers); i++)
        post_queue_add(queue, A, servers[i], number(i + 1));
    g_assert_true(post_queue_next(queue, 1) == number(1));
    g_assert_true(post_queue_next(queue, 2) == number(2));
    g_assert_true(post_queue_next(queue, 3) == number(4));
    g_assert_true(post_queue_next(queue, 4) == number(5));
    g_assert_null(post_queue_next(queue, 5));
    post_queue_done(queue, "a");
    g_assert_true(post_queue_next(queue, 6) == number(3));
    post_queue_clear(queue);
    post_queue_done(queue, "b");
    g_assert_null(post_queue_next(queue, 7));
    post_queue_free(queue);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/service/post-queue/accounts", test_accounts);
    g_test_add_func("/service/post-queue/servers", test_servers);
    return g_test_run();
}
