/* SPDX-License-Identifier: Apache-2.0 */
#include "victim.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Weak, so that a victim without jemalloc answers ENOSYS. */
int VICTIM_MALLCTL(const char *name, void *old, size_t *old_size, void *new, size_t new_size) __attribute__((weak));
void VICTIM_STATS_PRINT(void (*write_text)(void *, const char *), void *closure, const char *letters)
    __attribute__((weak));

enum { STACK_BITS = 16 };

static void *keep;

static int
control(const char *name, void *old, size_t *old_size, void *new, size_t new_size)
{
    int error = VICTIM_MALLCTL ? VICTIM_MALLCTL(name, old, old_size, new, new_size) : ENOSYS;

    errno = error;
    return error;
}

static __attribute__((noinline)) void *
allocate_here(size_t size)
{
    void *block = VICTIM_MALLOC(size);
    *(volatile char *)block = 1;
    return block;
}

static void *allocate_on_path(unsigned path, int bits, size_t size);

/* Two functions with different return addresses: BITS levels of either make 2^BITS distinct stacks. */
static __attribute__((noinline)) void *
turn_left(unsigned path, int bits, size_t size)
{
    void *block = allocate_on_path(path >> 1, bits - 1, size);
    __asm__ volatile("");
    return block;
}

static __attribute__((noinline)) void *
turn_right(unsigned path, int bits, size_t size)
{
    void *block = allocate_on_path(path >> 1, bits - 1, size);
    __asm__ volatile("" : : : "memory");
    return block;
}

static __attribute__((noinline)) void *
allocate_on_path(unsigned path, int bits, size_t size)
{
    void *block;

    if (bits == 0)
        block = allocate_here(size);
    else if (path & 1)
        block = turn_left(path, bits, size);
    else
        block = turn_right(path, bits, size);
    __asm__ volatile("");
    return block;
}

/* hold COUNT SIZE: keeps COUNT blocks, each allocated from a separate stack. */
static void
run_hold(char *argument)
{
    unsigned count = 0;
    size_t size = 0;

    if (sscanf(argument, "%u %zu", &count, &size) != 2 || count > 1u << STACK_BITS || size < sizeof(void *)) {
        errno = EINVAL;
        fail(argument);
        return;
    }
    for (unsigned i = 0; i < count; i++) {
        void **block = allocate_on_path(i, STACK_BITS, size);
        *block = keep;
        keep = block;
    }
    answer("%u", count);
}

static void
run_drop(char *argument)
{
    (void)argument;
    while (keep) {
        void *block = keep;
        keep = *(void **)block;
        VICTIM_FREE(block);
    }
    answer("dropped");
}

/* read SIZE NAME: reads a control of SIZE bytes in the program itself. */
static void
run_read(char *argument)
{
    uint64_t value = 0;
    size_t size = 0, asked;
    int name_at = 0;

    if (sscanf(argument, "%zu %n", &size, &name_at) != 1 || size > sizeof(value)) {
        errno = EINVAL;
        fail(argument);
        return;
    }
    asked = size;
    if (control(argument + name_at, &value, &size, NULL, 0) || size != asked)
        fail(argument);
    else
        answer("%llu", (unsigned long long)value);
}

/* allocated: stats.allocated without this thread's cache (which jemalloc counts as allocated). */
static void
run_allocated(char *argument)
{
    uint64_t epoch = 1;
    size_t allocated = 0, size = sizeof(allocated);

    (void)argument;
    control("thread.tcache.flush", NULL, NULL, NULL, 0);
    if (control("epoch", NULL, NULL, &epoch, sizeof(epoch)) || control("stats.allocated", &allocated, &size, NULL, 0))
        fail("stats.allocated");
    else
        answer("%zu", allocated);
}

static void
run_active(char *argument)
{
    bool active = strcmp(argument, "1") == 0;

    if (control("prof.active", NULL, NULL, &active, sizeof(active)))
        fail("prof.active");
    else
        answer("%d", active);
}

/* dump FILE: calls prof.dump in the program itself; answers with its nanoseconds. */
static void
run_dump(char *argument)
{
    const char *path = argument;
    struct timespec start, end;

    clock_gettime(CLOCK_MONOTONIC, &start);
    if (control("prof.dump", NULL, NULL, &path, sizeof(path))) {
        fail(argument);
        return;
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    answer("%lld", (end.tv_sec - start.tv_sec) * 1000000000LL + end.tv_nsec - start.tv_nsec);
}

static void
write_to(void *closure, const char *text)
{
    const int *descriptor = closure;

    if (write(*descriptor, text, strlen(text)) < 0)
        abort();
}

/* stats FILE [LETTERS]: calls malloc_stats_print in the program itself. */
static void
run_stats(char *argument)
{
    const char *path = strsep(&argument, " ");
    int descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    if (descriptor < 0 || !VICTIM_STATS_PRINT) {
        fail(path);
        return;
    }
    VICTIM_STATS_PRINT(write_to, &descriptor, argument ? argument : "");
    close(descriptor);
    answer("%s", path);
}

const Command memory_commands[] = {
    {"hold", run_hold},     {"drop", run_drop}, {"read", run_read},   {"allocated", run_allocated},
    {"active", run_active}, {"dump", run_dump}, {"stats", run_stats}, {NULL, NULL},
};
