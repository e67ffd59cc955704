/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/builder.h"

#include <time.h>

#define KNOWN G_GUINT64_CONSTANT(0x9e3779b97f4a7c15) /* 2^64 / golden ratio, by which tables often multiply */

static void
test_intern(void)
{
    IndexTable table;

    index_table_init(&table);
    for (guint32 i = 0; i < 10000; i++) /* each key with three tags, more than the first table holds */
        g_assert_cmpuint(index_table_intern(&table, i / 3, i % 3), ==, i);
    for (guint32 i = 0; i < 10000; i++)
        g_assert_cmpuint(index_table_find(&table, i / 3, i % 3), ==, i);
    g_assert_cmpuint(index_table_find(&table, 0, 3), ==, G_MAXUINT32);
    index_table_clear(&table);
}

/* The most entries without a free one between them: what a look-up may have to pass. */
static guint
longest_run(const IndexTable *table)
{
    guint longest = 0, run = 0;

    for (gsize i = 0; i < (gsize)1 << table->log2_capacity; i++) {
        run = table->entries[i].value != 0 ? run + 1 : 0;
        longest = MAX(longest, run);
    }
    return longest;
}

/* A dump chooses the offset of a location in each of its files, so that offset and file could cancel each other out. */
static void
test_tags_made_to_cancel_keys_do_not(void)
{
    enum { MANY = 1 << 14 };
    IndexTable table;

    index_table_init(&table);
    for (guint32 i = 0; i < MANY; i++)
        index_table_intern(&table, i * KNOWN, i);
    g_assert_cmpuint(longest_run(&table), <, 1000);
    index_table_clear(&table);
}

/* One stack of threads that have neighbouring places in a table whose hash is known: half a minute. */
static void
test_threads_made_to_collide_do_not(void)
{
    enum { MANY = 1 << 18, PLACES = 1 << 19, NEAR = 1 << 13, LONGEST_S = 10 };
    g_autoptr(ProfileBuilder) builder = builder_new();
    const guint32 location = builder_address(builder, 0x1000);
    const BuilderFrames frames = builder_frames(builder, &location, 1);
    const clock_t begun = clock();
    guint32 thread = 0;

    for (guint32 i = 0; i < MANY; i++, thread++) {
        while (((thread + 1) * KNOWN >> 32) % PLACES >= NEAR)
            thread++;
        g_assert_cmpuint(builder_stack(builder, &frames, (BuilderPart){thread, PROFILE_NONE}), ==, i);
    }
    g_assert_cmpint(clock() - begun, <, LONGEST_S * CLOCKS_PER_SEC);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/profile/index-table/intern", test_intern);
    g_test_add_func("/profile/index-table/tags-made-to-cancel-keys-do-not", test_tags_made_to_cancel_keys_do_not);
    g_test_add_func("/profile/index-table/threads-made-to-collide-do-not", test_threads_made_to_collide_do_not);
    return g_test_run();
}
