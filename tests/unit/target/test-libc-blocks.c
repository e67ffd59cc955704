/* SPDX-License-Identifier: Apache-2.0 */
#include "target/libc-blocks.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    PAGE = 4096,
    PAGES = 64,
    LONG_US = 30 * G_USEC_PER_SEC,
};

/* As glibc's malloc writes it. */
static void
put_block(char *memory, guint64 before, guint64 size)
{
    const guint64 header[] = {before, size};
    memcpy(memory, header, sizeof(header));
}

static guint64
found_in(const char *memory, guint64 resident)
{
    const guint64 start = (guint64)(guintptr)memory;
    const Mappings mappings = {.anonymous = {.n = 1, .ranges = {{start, start + PAGES * PAGE, resident, 0}}}};
    guint64 bytes = 1;
    g_assert_true(libc_blocks_read(getpid(), &mappings, LONG_US, &bytes));
    return bytes;
}

static void
test_blocks(void)
{
    char *memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    g_assert_true(memory != MAP_FAILED);
    g_assert_cmpuint(found_in(memory, PAGES * PAGE), ==, 0);
    put_block(memory, 0, 40 * PAGE | 2);
    g_assert_cmpuint(found_in(memory, PAGES * PAGE), ==, 40 * PAGE);
    /* Aligned: a part in front of it is unused. */
    put_block(memory + 40 * PAGE, 64, (8 * PAGE - 64) | 2);
    g_assert_cmpuint(found_in(memory, PAGES * PAGE), ==, 48 * PAGE);
    g_assert_cmpuint(found_in(memory, 10 * PAGE), ==, 10 * PAGE);
    /* Of an arena; too long; of no whole pages. */
    static const guint64 others[] = {16 * PAGE | 1, 17 * PAGE | 2, (8 * PAGE + 16) | 2, G_MAXUINT64, 2};
    for (gsize i = 0; i < G_N_ELEMENTS(others); i++) {
        put_block(memory + 48 * PAGE, 0, others[i]);
        g_assert_cmpuint(found_in(memory, PAGES * PAGE), ==, 48 * PAGE);
    }
    munmap(memory, PAGES * PAGE);
}

static void
test_unreadable(void)
{
    const Mappings mappings = {.anonymous = {.n = 1, .ranges = {{PAGE, 2 * PAGE, PAGE, 0}}}};
    guint64 bytes = 7;
    g_assert_false(libc_blocks_read(G_MAXINT32, &mappings, LONG_US, &bytes));
    g_assert_false(libc_blocks_read(getpid(), &mappings, 0, &bytes));
    g_assert_cmpuint(bytes, ==, 7);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/target/libc-blocks/blocks", test_blocks);
    g_test_add_func("/target/libc-blocks/unreadable", test_unreadable);
    return g_test_run();
}
