/* SPDX-License-Identifier: Apache-2.0 */
/* What jemalloc keeps. */
#include "battery.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    OBJECTS = 400000,
};

static void *objects[OBJECTS];

/* jemalloc's, whichever serves this program. */
extern int mallctl(const char *name, void *old, size_t *old_length, void *new, size_t new_length) __attribute__((weak));

static size_t
statistic(const char *name)
{
    uint64_t epoch = 1;
    size_t bytes = 0, length = sizeof(bytes);
    if (mallctl == NULL)
        return 0;
    mallctl("epoch", NULL, NULL, &epoch, sizeof(epoch));
    mallctl(name, &bytes, &length, NULL, 0);
    return bytes;
}

/* ---- holes ---- */

static size_t
holes(void)
{
    return statistic("stats.active") - statistic("stats.allocated");
}

/* One in SIXTEEN survives, everywhere. */
NAMED static void
row_insert(int at, size_t size)
{
    objects[at] = filled(size);
}

static void
keep_one_in(int sixteen, int count)
{
    for (int i = 0; i < count; i++)
        if (i % sixteen != 0) {
            free(objects[i]);
            objects[i] = NULL;
        }
}

static void
fragment_rows(void)
{
    for (int i = 0; i < OBJECTS; i++)
        row_insert(i, 256);
    keep_one_in(16, OBJECTS);
    truth = (size_t)OBJECTS * 256 / 16 * 15;
}

NAMED static void
column_insert(int at)
{
    static const size_t sizes[] = {80, 320, 640, 1280};
    objects[at] = filled(sizes[at % 4]);
}

static void
fragment_columns(void)
{
    for (int i = 0; i < 160000; i++)
        column_insert(i);
    for (int i = 0; i < 160000; i++)
        if (i / 4 % 16 != 0)
            free(objects[i]);
    truth = (size_t)40000 * (80 + 320 + 640 + 1280) / 16 * 15;
}

/* Long-lived objects of threads between short-lived ones. */
NAMED static void
ticket_keep(void **at)
{
    *at = filled(48);
}

static void
fragment_in_thread(int number)
{
    enum { COUNT = 60000 };
    void **all = calloc(COUNT, sizeof(*all));
    for (int i = 0; i < COUNT; i++)
        ticket_keep(&all[i]);
    for (int i = 0; i < COUNT; i++)
        if (i % 12 != 0)
            free(all[i]);
    free(all);
}

static void
fragment_tickets(void)
{
    size_t before = holes();
    in_threads(12, fragment_in_thread);
    truth = holes() - before;
}

/* ---- pages that are not given back ---- */

NAMED static void
batch_run(size_t bytes, size_t each)
{
    int count = (int)(bytes / each);
    for (int i = 0; i < count; i++)
        objects[i] = filled(each);
    for (int i = 0; i < count; i++) {
        free(objects[i]);
        objects[i] = NULL;
    }
}

static void
dirty(void)
{
    batch_run(100 * MIB, 100 * KIB);
    truth = 4 * KIB * statistic("stats.arenas.4096.pdirty");
}

/* The thread that freed it sleeps, while others work. */
static void
dirty_in_thread(int number)
{
    if (number == 0)
        batch_run(100 * MIB, 64 * KIB);
}

static void
dirty_threads(void)
{
    in_threads(2, dirty_in_thread);
    truth = 4 * KIB * statistic("stats.arenas.4096.pdirty");
}

static void
work_on(void)
{
    for (int i = 0; i < 20; i++)
        free(filled(100 + random_below(30000)));
}

/* ---- arenas ---- */

/* Each thread's arena has slabs of its own, each with one object of a thousand. */
static void
one_of_each(int number)
{
    for (size_t size = 1024; size < 14 * KIB; size += size / 4)
        filled(size);
    for (size_t size = 64; size < 1024; size += 64)
        filled(size);
}

static void
two_of_each(int number)
{
    one_of_each(number);
    one_of_each(number);
}

static void
arenas_threads(void)
{
    size_t before = holes();
    in_threads(96, one_of_each);
    truth = holes() - before;
}

static void
arenas_wide(void)
{
    size_t before = holes();
    in_threads(64, two_of_each);
    truth = holes() - before;
}

/* ---- thread caches ---- */

/* Frees as many as a cache takes. */
static void
fill_cache_of(size_t size, int count)
{
    void **parts = calloc((size_t)count, sizeof(*parts));
    for (int i = 0; i < count; i++)
        parts[i] = filled(size);
    for (int i = 0; i < count; i++)
        free(parts[i]);
    free(parts);
}

static void
hoard_medium(int number)
{
    for (size_t size = 16 * KIB; size <= 32 * KIB; size += 4 * KIB)
        fill_cache_of(size, 20);
}

static void
hoard_large(int number)
{
    for (size_t size = 256 * KIB; size <= 512 * KIB; size += 128 * KIB)
        fill_cache_of(size, 12);
}

static void
hoard_workers(void)
{
    in_threads(60, hoard_medium);
    truth = 60 * 20 * (16 + 20 + 24 + 28 + 32) * KIB;
}

static void
hoard_few(void)
{
    in_threads(8, hoard_large);
    truth = 8 * 12 * (256 + 384 + 512) * KIB;
}

/* Threads that have worked once, each with a little. */
static void
hoard_small(int number)
{
    for (size_t size = 1024; size <= 14 * KIB; size += size / 4)
        fill_cache_of(size, 60);
    fill_cache_of(20 * KIB, 20);
    fill_cache_of(28 * KIB, 20);
}

static void
hoard_many(void)
{
    in_threads(64, hoard_small);
    truth = statistic("stats.arenas.4096.tcache_bytes");
}

/* ---- address space and bursts ---- */

/* Asked for, never written, and freed. */
static void
retain_blocks(int count, size_t least, size_t more)
{
    for (int i = 0; i < count; i++)
        objects[i] = malloc(least + (size_t)i * more);
    for (int i = 0; i < count; i++)
        free(objects[i]);
    truth = statistic("stats.retained");
}

static void
retain_large(void)
{
    retain_blocks(40, 20 * MIB, 1 * MIB);
}

static void
retain_small(void)
{
    retain_blocks(40000, 16 * KIB, 0);
}

static void
burst(void)
{
    batch_run(200 * MIB, 1 * MIB);
    truth = 200 * MIB;
}

static void
burst_small(void)
{
    batch_run(150 * MIB, 4 * KIB);
    truth = 150 * MIB;
}

/* As jemalloc is by default, but that pages are returned at once. */
static void
burst_retained(void)
{
    batch_run(300 * MIB, 40 * KIB);
    truth = 300 * MIB;
}

/* ---- book-keeping ---- */

/* A stack for each number. */
NAMED static void
visit(unsigned path, int depth)
{
    if (depth == 0)
        free(filled(200));
    else if (path % 2 == 0)
        visit(path / 2, depth - 1);
    else
        visit((path - 1) / 2, depth - 1);
    __asm__ volatile("" : : : "memory");
}

static void
many_stacks(void)
{
    for (unsigned path = 0; path < 1u << 15; path++)
        for (int i = 0; i < 3; i++)
            visit(path, 15);
    truth = statistic("stats.metadata");
}

static void
create_arenas(void)
{
    for (int i = 0; i < 600 && mallctl != NULL; i++) {
        unsigned arena;
        size_t length = sizeof(arena);
        mallctl("arenas.create", &arena, &length, NULL, 0);
    }
    truth = statistic("stats.metadata");
}

static void
one_object(int number)
{
    objects[number] = filled(100);
}

static void
many_threads(void)
{
    in_threads(900, one_object);
    truth = statistic("stats.metadata");
}

/* ---- huge pages ---- */

/* A page of every 32 is used. */
NAMED static void
sparse_table(void)
{
    for (int i = 0; i < 60; i++) {
        char *table = malloc(2 * MIB);
        for (size_t at = 0; at < 2 * MIB; at += 128 * KIB)
            table[at] = 1;
        objects[i] = table;
    }
    truth = 60 * (2 * MIB - 16 * 4 * KIB);
}

static void
sparse_mapping(void)
{
    char *mapped = mmap(NULL, 130 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *table = (char *)(((uintptr_t)mapped + 2 * MIB - 1) & ~(uintptr_t)(2 * MIB - 1));
    madvise(table, 120 * MIB, MADV_HUGEPAGE);
    for (size_t at = 0; at < 120 * MIB; at += 256 * KIB)
        table[at] = 1;
    truth = 120 * MIB - 120 * 4 * 4 * KIB;
}

const Case allocator_cases[] = {
    {"fragment-rows", "fragmentation-small-classes", "row_insert", "", fragment_rows, NULL},
    {"fragment-columns", "fragmentation-small-classes", "column_insert", "", fragment_columns, NULL},
    {"fragment-tickets", "fragmentation-small-classes", "ticket_keep", "", fragment_tickets, NULL},
    {"dirty-idle", "dirty-pages", "", "", dirty, NULL},
    {"dirty-thread", "dirty-pages", "", "", dirty_threads, work_on},
    {"tcache-many", "thread-cache-hoard", "", "narenas:2", hoard_many, NULL},
    {"burst-retained", "burst-returned", "", "dirty_decay_ms:0,muzzy_decay_ms:0", burst_retained, NULL},
    {"metadata-stacks", "metadata-overhead", "", "prof:true,lg_prof_sample:8,prof_accum:true,prof_active:true",
     many_stacks, NULL},
    {"dirty-never", "dirty-pages", "", "dirty_decay_ms:-1", dirty, NULL},
    {"dirty-hour", "dirty-pages", "", "dirty_decay_ms:3600000", dirty, NULL},
    {"arenas-threads", "many-arenas", "", "narenas:96,tcache:false", arenas_threads, NULL},
    {"arenas-wide", "many-arenas", "", "narenas:128,tcache:false", arenas_wide, NULL},
    {"tcache-workers", "thread-cache-hoard", "", "", hoard_workers, NULL},
    {"tcache-large", "thread-cache-hoard", "", "lg_tcache_max:20", hoard_few, NULL},
    {"retained-large", "retained-address-space", "", "dirty_decay_ms:0,muzzy_decay_ms:0", retain_large, NULL},
    {"retained-small", "retained-address-space", "", "dirty_decay_ms:0,muzzy_decay_ms:0", retain_small, NULL},
    {"burst-large", "burst-returned", "", "dirty_decay_ms:0,muzzy_decay_ms:0,retain:false", burst, NULL},
    {"burst-small", "burst-returned", "", "dirty_decay_ms:0,muzzy_decay_ms:0,retain:false", burst_small, NULL},
    {"metadata-arenas", "metadata-overhead", "", "", create_arenas, NULL},
    {"metadata-threads", "metadata-overhead", "", "lg_tcache_max:23", many_threads, NULL},
    {"thp-sparse-table", "thp-inflation", "sparse_table", "thp:always", sparse_table, NULL},
    {"thp-sparse-mapping", "thp-inflation", "", "", sparse_mapping, NULL},
    {0},
};
