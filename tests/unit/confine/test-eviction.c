/* SPDX-License-Identifier: Apache-2.0 */
#include "confine/eviction.h"

enum {
    HONEST = 5002,
    OTHER = 5001,
    MANY = 16384,
};

/* One of an account that has few entries, and many of one that has more. */
static Evictable *
make_many(void)
{
    Evictable *held = g_new0(Evictable, MANY);
    for (guint i = 0; i < MANY; i++)
        held[i] = (Evictable){.number = i, .account = i == 0 ? HONEST : OTHER, .bytes = 1};
    return held;
}

static guint
count_leaving(const Evictable *held, guint n)
{
    guint leaving = 0;
    for (guint i = 0; i < n; i++)
        leaving += held[i].leaves;
    return leaving;
}

static void
test_most_entries(void)
{
    const EvictionLimits limits = {.bytes = G_MAXUINT64, .entries = MANY};
    const Evictable added = {.account = HONEST, .bytes = 1000};
    g_autofree Evictable *held = make_many();
    g_assert_true(eviction_choose(held, MANY, &added, &limits));
    g_assert_true(held[1].leaves);
    g_assert_cmpuint(count_leaving(held, MANY), ==, 1);
}

static void
test_most_bytes(void)
{
    const EvictionLimits limits = {.bytes = MANY, .entries = G_MAXUINT};
    const Evictable added = {.account = OTHER, .bytes = MANY - 1};
    g_autofree Evictable *held = make_many();
    g_assert_true(eviction_choose(held, MANY, &added, &limits));
    g_assert_false(held[0].leaves);
    g_assert_cmpuint(count_leaving(held, MANY), ==, MANY - 1);
}

/* Of accounts with as much, the one with the oldest leaves; what has most itself is not added. */
static void
test_added(void)
{
    const EvictionLimits limits = {.bytes = 10, .entries = 10};
    Evictable held[] = {{.account = HONEST, .bytes = 5}, {.account = OTHER, .bytes = 5}};
    const Evictable as_much = {.account = 7, .bytes = 5}, more = {.account = 7, .bytes = 6};
    g_assert_true(eviction_choose(held, G_N_ELEMENTS(held), &as_much, &limits));
    g_assert_true(held[0].leaves);
    g_assert_false(held[1].leaves);
    held[0].leaves = FALSE;
    g_assert_false(eviction_choose(held, G_N_ELEMENTS(held), &more, &limits));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/confine/eviction/most-entries", test_most_entries);
    g_test_add_func("/confine/eviction/most-bytes", test_most_bytes);
    g_test_add_func("/confine/eviction/added", test_added);
    return g_test_run();
}
