/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that knows what it has allocated, freed and kept, by function. One command per line on stdin, one answer
 * per line on stdout; the pid comes first.
 *
 *   lives BYTES SIZE SEED   each function allocates about BYTES in all; SIZE is the approximate size of the largest
 *                           object. Answers for each function: name, objects and bytes allocated so far, objects and
 *                           bytes in use
 *   dump FILE               jemalloc's own profiler writes its dump
 *
 * Its own data are not allocated by the allocator.
 */
#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

extern int mallctl(const char *name, void *old, size_t *old_size, void *new_value, size_t new_size);

enum { BLOCKS_MAX = 1 << 23, FREED_OF_FIVE = 2, LATER = 512 };

typedef struct {
    uint64_t objects, bytes;
} Sum;

typedef struct {
    Sum allocated, freed;
} Truth;

static uint64_t state;
static void **blocks; /* live blocks of all functions */
static size_t n_blocks;

static uint64_t
draw(uint64_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (state >> 11) % below;
}

static void
count(Sum *sum, void *block)
{
    sum->objects++;
    sum->bytes += malloc_usable_size(block);
}

/* Blocks that are not kept are freed some time later; the last of them are still live at the end. */
static void
keep(Truth *truth, void *block)
{
    static struct {
        Truth *truth;
        void *block;
    } dying[LATER];
    count(&truth->allocated, block);
    if (draw(5) >= FREED_OF_FIVE) {
        if (n_blocks == BLOCKS_MAX)
            abort();
        blocks[n_blocks++] = block;
        return;
    }
    const size_t i = draw(LATER);
    if (dying[i].block != NULL)
        count(&dying[i].truth->freed, dying[i].block);
    free(dying[i].block);
    dying[i].truth = truth;
    dying[i].block = block;
}

/* ---- the functions that a profile must name ---- */

#define NOT_LAST(block) __asm__ volatile("" : "+r"(block)) /* no tail call */

__attribute__((noinline)) static void
take_equal(Truth *truth, size_t largest)
{
    void *block = malloc(48);
    NOT_LAST(block);
    keep(truth, block);
}

__attribute__((noinline)) static void
take_mixed(Truth *truth, size_t largest)
{
    void *block = malloc(1 + draw(512));
    NOT_LAST(block);
    keep(truth, block);
}

__attribute__((noinline)) static void
take_zeroed(Truth *truth, size_t largest)
{
    void *block = calloc(1 + draw(20), 64);
    NOT_LAST(block);
    keep(truth, block);
}

__attribute__((noinline)) static void
take_aligned(Truth *truth, size_t largest)
{
    void *block = NULL;
    if (posix_memalign(&block, 128, 1 + draw(2000)) != 0)
        abort();
    keep(truth, block);
}

/* Never resizes in place, since the size classes are small. */
__attribute__((noinline)) static void
take_grown(Truth *truth, size_t largest)
{
    const size_t size = 64 + draw(1000);
    void *block = malloc(size / 4);
    NOT_LAST(block);
    count(&truth->allocated, block);
    count(&truth->freed, block);
    block = realloc(block, size);
    NOT_LAST(block);
    keep(truth, block);
}

__attribute__((noinline)) static void
take_large(Truth *truth, size_t largest)
{
    void *block = malloc(largest / 8 + draw(largest));
    NOT_LAST(block);
    keep(truth, block);
}

typedef struct {
    const char *name;
    void (*take)(Truth *truth, size_t largest);
} Function;

static const Function functions[] = {
    {"take_equal", take_equal},     {"take_mixed", take_mixed}, {"take_zeroed", take_zeroed},
    {"take_aligned", take_aligned}, {"take_grown", take_grown}, {"take_large", take_large},
};

enum { FUNCTIONS = sizeof(functions) / sizeof(functions[0]) };

static Truth truths[FUNCTIONS];

static void
lives(uint64_t bytes, size_t largest)
{
    for (bool running = true; running;) {
        running = false;
        for (size_t i = 0; i < FUNCTIONS; i++) {
            if (truths[i].allocated.bytes >= bytes)
                continue;
            running = true;
            functions[i].take(&truths[i], largest);
        }
    }
}

static bool
dump(const char *path)
{
    return mallctl("prof.dump", NULL, NULL, &path, sizeof(path)) == 0;
}

static void
run(const char *line)
{
    char path[4096];
    unsigned long long bytes = 0;
    unsigned long long largest = 0;
    unsigned long long seed = 0;
    if (sscanf(line, "dump %4095s", path) == 1) {
        puts(dump(path) ? "ok done" : "failed");
        return;
    }
    if (sscanf(line, "lives %llu %llu %llu", &bytes, &largest, &seed) != 3) {
        puts("failed");
        return;
    }
    state = seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
    lives(bytes, largest);
    printf("ok");
    for (size_t i = 0; i < FUNCTIONS; i++) {
        const Truth *truth = &truths[i];
        printf(" %s %llu %llu %llu %llu", functions[i].name, (unsigned long long)truth->allocated.objects,
               (unsigned long long)truth->allocated.bytes,
               (unsigned long long)(truth->allocated.objects - truth->freed.objects),
               (unsigned long long)(truth->allocated.bytes - truth->freed.bytes));
    }
    puts("");
}

int
main(void)
{
    char line[5000];
    blocks = mmap(NULL, BLOCKS_MAX * sizeof(*blocks), PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    printf("ok %d errno 0\n", (int)getpid());
    fflush(stdout);
    while (fgets(line, sizeof(line), stdin) != NULL) {
        run(line);
        fflush(stdout);
    }
    return 0;
}
