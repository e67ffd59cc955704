/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program with holes in its slabs that can report which slabs would be returned. One command per line on stdin, one
 * answer per line on stdout, after "ok"; the pid comes first.
 *
 *   build KIND SIZE SEED   allocates 200000 objects of SIZE bytes, and keeps some of them by KIND (below)
 *   without FUNCTION       bytes of slabs that are returned if its objects are freed, tested in a forked child
 *   free FUNCTION          frees its objects
 *   holes                  bytes of free regions in slabs
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern int mallctl(const char *name, void *old, size_t *old_size, void *new_value, size_t new_size);

#define NAMED __attribute__((noinline))

enum { OBJECTS = 200000, CACHED = 60000, ALL = OBJECTS + CACHED };

typedef enum { REQUEST, SESSION, INDEX, CACHE, N_OWNERS } Owner;

typedef struct {
    void *block;
    Owner owner;
} Object;

static Object *objects; /* outside of jemalloc's memory */
static size_t n_objects;
static uint64_t state;

static uint32_t
draw(uint32_t limit)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((state >> 33) % limit);
}

/* ---- allocating functions ---- */

NAMED static void *
request_buffer(size_t size)
{
    void *block = malloc(size);
    memset(block, 1, size);
    return block;
}

NAMED static void *
session_store(size_t size)
{
    void *block = malloc(size);
    memset(block, 2, size);
    return block;
}

NAMED static void *
index_add(size_t size)
{
    void *block = malloc(size);
    memset(block, 3, size);
    return block;
}

NAMED static void *
cache_insert(size_t size)
{
    void *block = malloc(size);
    memset(block, 4, size);
    return block;
}

static const struct {
    const char *name;
    void *(*allocate)(size_t size);
} owners[N_OWNERS] = {
    [REQUEST] = {"request_buffer", request_buffer},
    [SESSION] = {"session_store", session_store},
    [INDEX] = {"index_add", index_add},
    [CACHE] = {"cache_insert", cache_insert},
};

/* Shares are per thousand of the objects; sessions come in groups of at most `together`; the cache is dense, in
 * separate slabs. */
static const struct {
    const char *name;
    unsigned session, index, together;
    bool cache;
} kinds[] = {
    {"sparse", 60, 0, 1, false}, {"shared", 45, 15, 1, false}, {"groups", 60, 4, 6, false},
    {"cached", 30, 10, 1, true}, {"rare", 8, 2, 1, true},      {"mixed", 150, 60, 3, true},
};

enum { N_KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static void
add(Owner owner, size_t size)
{
    objects[n_objects++] = (Object){owners[owner].allocate(size), owner};
}

static Owner
draw_owner(unsigned kind)
{
    const uint32_t at = draw(1000 * kinds[kind].together);
    if (at < kinds[kind].session)
        return SESSION;
    return at < kinds[kind].session + kinds[kind].index * kinds[kind].together ? INDEX : REQUEST;
}

static void
release(const char *function)
{
    for (size_t i = 0; i < n_objects; i++) {
        if (strcmp(owners[objects[i].owner].name, function) == 0) {
            free(objects[i].block);
            objects[i].block = NULL;
        }
    }
    mallctl("thread.tcache.flush", NULL, NULL, NULL, 0);
}

static bool
build(const char *name, size_t size)
{
    unsigned kind = 0;
    while (kind < N_KINDS && strcmp(kinds[kind].name, name) != 0)
        kind++;
    if (kind == N_KINDS)
        return false;
    while (n_objects < OBJECTS) {
        const Owner owner = draw_owner(kind);
        unsigned n = owner == SESSION ? kinds[kind].together : 1;
        while (n-- > 0 && n_objects < OBJECTS)
            add(owner, size);
    }
    while (kinds[kind].cache && n_objects < ALL)
        add(CACHE, size);
    release("request_buffer");
    return true;
}

/* ---- the true numbers ---- */

static size_t
read_class(const char *table, unsigned class, const char *leaf, size_t width)
{
    char name[96];
    size_t value = 0;
    snprintf(name, sizeof(name), "%s.%u.%s", table, class, leaf);
    mallctl(name, &value, &width, NULL, 0);
    return value;
}

typedef struct {
    size_t slabs, holes;
} Slabs;

static Slabs
measure(void)
{
    uint64_t epoch = 1;
    unsigned n = 0;
    size_t width = sizeof(n);
    Slabs sum = {0};
    mallctl("thread.tcache.flush", NULL, NULL, NULL, 0);
    mallctl("epoch", NULL, NULL, &epoch, sizeof(epoch));
    mallctl("arenas.nbins", &n, &width, NULL, 0);
    for (unsigned i = 0; i < n; i++) {
        const size_t slabs = read_class("stats.arenas.4096.bins", i, "curslabs", sizeof(size_t));
        const size_t live = read_class("stats.arenas.4096.bins", i, "curregs", sizeof(size_t));
        sum.slabs += slabs * read_class("arenas.bin", i, "slab_size", sizeof(size_t));
        sum.holes += (slabs * read_class("arenas.bin", i, "nregs", sizeof(unsigned)) - live) *
                     read_class("arenas.bin", i, "size", sizeof(size_t));
    }
    return sum;
}

static size_t
without(const char *function)
{
    int answer[2];
    size_t back = 0;
    if (pipe(answer) != 0)
        return 0;
    const pid_t child = fork();
    if (child == 0) {
        const size_t before = measure().slabs;
        release(function);
        back = before - measure().slabs;
        _exit(write(answer[1], &back, sizeof(back)) == sizeof(back) ? 0 : 1);
    }
    close(answer[1]);
    if (read(answer[0], &back, sizeof(back)) != sizeof(back))
        back = 0;
    close(answer[0]);
    waitpid(child, NULL, 0);
    return back;
}

int
main(void)
{
    char line[256], word[64];
    unsigned long size, seed;
    objects = mmap(NULL, ALL * sizeof(Object), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    printf("ok %d errno 0\n", (int)getpid());
    fflush(stdout);
    while (fgets(line, sizeof(line), stdin) != NULL) {
        if (sscanf(line, "build %63s %lu %lu", word, &size, &seed) == 3) {
            state = seed * 2654435761u + 1;
            puts(build(word, size) ? "ok done" : "unknown kind");
        } else if (sscanf(line, "without %63s", word) == 1) {
            printf("ok %zu\n", without(word));
        } else if (sscanf(line, "free %63s", word) == 1) {
            release(word);
            puts("ok done");
        } else if (strcmp(line, "holes\n") == 0) {
            printf("ok %zu\n", measure().holes);
        } else {
            puts("unknown command");
        }
        fflush(stdout);
    }
    return 0;
}
