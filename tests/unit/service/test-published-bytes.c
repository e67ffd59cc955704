/* SPDX-License-Identifier: Apache-2.0 */
#include "service/published-bytes.h"

enum { HOSTILE = 65534, HONEST = 1000, MANY = 1 << 10 };

/* However many targets they are of. */
static void
test_bound_of_a_user(void)
{
    const guint64 part = PUBLISHED_BYTES_MAX / MANY;
    for (guint i = 0; i < MANY; i++)
        g_assert_true(published_bytes_change(HOSTILE, 0, part));
    g_assert_false(published_bytes_change(HOSTILE, 0, 1));
    g_assert_false(published_bytes_change(HOSTILE, part, part + 1));
    g_assert_true(published_bytes_change(HONEST, 0, PUBLISHED_BYTES_MAX));
    g_assert_true(published_bytes_change(HONEST, PUBLISHED_BYTES_MAX, 0));

    /* What is refused is not counted; what is replaced or removed makes room. */
    g_assert_true(published_bytes_change(HOSTILE, part, part - 1));
    g_assert_true(published_bytes_change(HOSTILE, 0, 1));
    g_assert_false(published_bytes_change(HOSTILE, 0, 1));
    g_assert_true(published_bytes_change(HOSTILE, 1, 0));
    g_assert_true(published_bytes_change(HOSTILE, part - 1, 0));
    for (guint i = 1; i < MANY; i++)
        g_assert_true(published_bytes_change(HOSTILE, part, 0));
    g_assert_true(published_bytes_change(HOSTILE, 0, PUBLISHED_BYTES_MAX));
    g_assert_false(published_bytes_change(HOSTILE, 0, 1));
    g_assert_true(published_bytes_change(HOSTILE, PUBLISHED_BYTES_MAX, 0));
}

static void
test_one_that_is_too_large(void)
{
    g_assert_false(published_bytes_change(HOSTILE, 0, (guint64)PUBLISHED_BYTES_MAX + 1));
    g_assert_true(published_bytes_change(HOSTILE, 0, 0));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/published-bytes/bound-of-a-user", test_bound_of_a_user);
    g_test_add_func("/published-bytes/one-that-is-too-large", test_one_that_is_too_large);
    return g_test_run();
}
