/* SPDX-License-Identifier: Apache-2.0 */
#include "target/huge-pages.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    PAGE = 4096,
    HUGE = 2 << 20,
    PAGES = HUGE / PAGE,
    BLOCKS = 256,       /* huge pages examined in all ranges */
    PAGES_OF_BLOCK = 4, /* small pages examined in each */
    TRIES = 8,          /* random places tried per block, since only parts of a range are in huge pages */
};

/* proc(5), pagemap: the page is resident. */
#define PAGEMAP_PRESENT (G_GUINT64_CONSTANT(1) << 63)

typedef struct {
    int pagemap, memory;
    gint64 until_us;
    GRand *random;
} Look;

/* The findings about a range. */
typedef struct {
    guint pages, zeros;
} Seen;

/* Small pages become resident individually, so 512 adjacent resident pages are taken for a huge page. */
static gboolean
is_huge(const Look *look, guint64 address)
{
    guint64 entries[PAGES];
    if (pread(look->pagemap, entries, sizeof(entries), (off_t)(address / PAGE * sizeof(guint64))) != sizeof(entries))
        return FALSE;
    for (guint i = 0; i < PAGES; i++)
        if ((entries[i] & PAGEMAP_PRESENT) == 0)
            return FALSE;
    return TRUE;
}

static void
look_at_page(const Look *look, guint64 address, Seen *seen)
{
    static const char nothing[PAGE];
    char page[PAGE];
    if (pread(look->memory, page, PAGE, (off_t)address) != PAGE)
        return;
    seen->pages++;
    seen->zeros += memcmp(page, nothing, PAGE) == 0;
}

static void
look_at_block(const Look *look, const MappingRange *range, Seen *seen)
{
    guint64 first = (range->start + HUGE - 1) / HUGE, end = range->end / HUGE;
    for (guint i = 0; i < TRIES && first < end; i++) {
        guint64 block = first + (guint64)(g_rand_double(look->random) * (double)(end - first));
        if (!is_huge(look, block * HUGE))
            continue;
        for (guint j = 0; j < PAGES_OF_BLOCK; j++)
            look_at_page(look, block * HUGE + (guint64)g_rand_int_range(look->random, 0, PAGES) * PAGE, seen);
        return;
    }
}

static int
open_file(pid_t pid, const char *name)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/%s", (int)pid, name);
    return open(path, O_RDONLY | O_CLOEXEC);
}

static guint64
total_of(const Mappings *mappings)
{
    guint64 total = 0;
    for (guint i = 0; i < mappings->huge.n; i++)
        total += mappings->huge.ranges[i].bytes;
    return total;
}

/* Examines each range in proportion to its share. FALSE if there is no time left. */
static gboolean
look_at_ranges(const Look *look, const Mappings *mappings, guint64 zeros[MAPPING_KINDS])
{
    guint64 total = total_of(mappings);
    for (guint i = 0; i < mappings->huge.n; i++) {
        const MappingRange *range = &mappings->huge.ranges[i];
        guint blocks = 1 + (guint)((double)range->bytes / (double)total * BLOCKS);
        Seen seen = {0};
        for (guint j = 0; j < blocks; j++) {
            if (g_get_monotonic_time() >= look->until_us)
                return FALSE;
            look_at_block(look, range, &seen);
        }
        if (seen.pages > 0)
            zeros[range->kind] += (guint64)((double)range->bytes * seen.zeros / seen.pages);
    }
    return TRUE;
}

gboolean
huge_pages_read_zeros(pid_t pid, const Mappings *mappings, gint64 time_us, guint64 zeros[MAPPING_KINDS])
{
    guint64 found[MAPPING_KINDS] = {0};
    Look look = {.pagemap = open_file(pid, "pagemap"),
                 .memory = open_file(pid, "mem"),
                 .until_us = g_get_monotonic_time() + time_us,
                 .random = g_rand_new()};
    gboolean done = look.pagemap >= 0 && look.memory >= 0 && look_at_ranges(&look, mappings, found);
    if (look.pagemap >= 0)
        close(look.pagemap);
    if (look.memory >= 0)
        close(look.memory);
    g_rand_free(look.random);
    if (done)
        memcpy(zeros, found, sizeof(found));
    return done;
}
