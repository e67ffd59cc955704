/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Has jemalloc 5 release memory by functions of its own, which take a lock. Says "ready" while it holds that lock and
 * waits for the end of stdin; then "over", once it has released memory itself.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { BLOCKS = 64, BLOCK = 200000, ARENAS = 4 };

/* As jemalloc declares it. */
typedef struct Hooks Hooks;
struct Hooks {
    void *(*alloc)(Hooks *, void *, size_t, size_t, bool *, bool *, unsigned);
    bool (*dalloc)(Hooks *, void *, size_t, bool, unsigned);
    void (*destroy)(Hooks *, void *, size_t, bool, unsigned);
    bool (*commit)(Hooks *, void *, size_t, size_t, size_t, unsigned);
    bool (*decommit)(Hooks *, void *, size_t, size_t, size_t, unsigned);
    bool (*purge_lazy)(Hooks *, void *, size_t, size_t, size_t, unsigned);
    bool (*purge_forced)(Hooks *, void *, size_t, size_t, size_t, unsigned);
    bool (*split)(Hooks *, void *, size_t, size_t, size_t, bool, unsigned);
    bool (*merge)(Hooks *, void *, size_t, void *, size_t, bool, unsigned);
};

static pthread_mutex_t pool = PTHREAD_MUTEX_INITIALIZER;
static Hooks *defaults;
static Hooks ours;

static bool
keep(Hooks *hooks, void *extent, size_t size, bool committed, unsigned arena)
{
    pthread_mutex_lock(&pool);
    pthread_mutex_unlock(&pool);
    return true;
}

static bool
purge(Hooks *hooks, void *extent, size_t size, size_t offset, size_t length, unsigned arena)
{
    pthread_mutex_lock(&pool);
    const bool failed = defaults->purge_forced(defaults, extent, size, offset, length, arena);
    pthread_mutex_unlock(&pool);
    return failed;
}

static void
leave_memory_to_release(void)
{
    void *blocks[BLOCKS];
    for (int i = 0; i < BLOCKS; i++)
        *(volatile char *)(blocks[i] = malloc(BLOCK)) = 1;
    for (int i = 0; i < BLOCKS; i++)
        free(blocks[i]);
}

int
main(void)
{
    int (*control)(const char *, void *, size_t *, void *, size_t);
    *(void **)&control = dlsym(RTLD_DEFAULT, "mallctl");
    for (unsigned i = 0; i < ARENAS; i++) {
        char name[64];
        Hooks *now = &ours;
        size_t size = sizeof(defaults);
        snprintf(name, sizeof(name), "arena.%u.extent_hooks", i);
        if (control(name, &defaults, &size, NULL, 0) != 0)
            break;
        ours = *defaults;
        ours.dalloc = keep;
        ours.purge_lazy = ours.purge_forced = purge;
        if (control(name, NULL, NULL, &now, sizeof(now)) != 0)
            return 1;
    }
    leave_memory_to_release();
    pthread_mutex_lock(&pool);
    puts("ready");
    fflush(stdout);
    char byte;
    while (read(STDIN_FILENO, &byte, 1) > 0)
        continue;
    pthread_mutex_unlock(&pool);
    control("arena.0.purge", NULL, NULL, NULL, 0);
    puts("over");
    return 0;
}
