/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sampler-loop MODE PAIRS [LG]: runs pairs of malloc and free of 64 bytes in a separate function, for callgrind to
 * count, and prints the processor time of a pair in nanoseconds. MODE: none (empty-hooks.so may be preloaded), on
 * (jescope's sampler with the period 2^LG, by default 2^19), removed (the same, disabled again), deep (on, below 40
 * functions).
 */
#include "agent/sampler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

extern int mallctl(const char *name, void *old, size_t *old_size, void *new_value, size_t new_size);
extern int mallctlnametomib(const char *name, size_t *mib, size_t *length);
extern int mallctlbymib(const size_t *mib, size_t length, void *old, size_t *old_size, void *new_value,
                        size_t new_size);

void loop(long pairs);

enum { DEPTH = 40 };

__attribute__((noinline)) void
loop(long pairs)
{
    for (long i = 0; i < pairs; i++) {
        void *volatile block = malloc(64);
        free(block);
    }
}

/* Separate from loop(), whose instructions are counted. */
__attribute__((noinline)) static void
warm_up(void)
{
    for (int i = 0; i < 1000; i++) {
        void *volatile block = malloc(64);
        free(block);
    }
}

__attribute__((noinline)) static void
descend(int depth, long pairs)
{
    if (depth == 0)
        loop(pairs);
    else
        descend(depth - 1, pairs);
    __asm__ volatile("" : : : "memory"); /* no tail call */
}

static double
cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int
prepare(const char *mode, unsigned lg)
{
    const Allocator allocator = {.mallctl = mallctl, .name_to_mib = mallctlnametomib, .by_mib = mallctlbymib};
    if (strcmp(mode, "none") == 0)
        return 0;
    if (sampler_reset(lg) != 0 || sampler_begin(&allocator) != 0)
        return -1;
    warm_up();
    return strcmp(mode, "removed") == 0 ? sampler_end(&allocator) : 0;
}

int
main(int argc, char **argv)
{
    if (argc < 3 || prepare(argv[1], argc > 3 ? (unsigned)atoi(argv[3]) : SAMPLER_LG_DEFAULT) != 0) {
        fprintf(stderr, "usage: %s none|on|removed|deep PAIRS [LG]\n", argv[0]);
        return 2;
    }
    const long pairs = atol(argv[2]);
    warm_up();
    const double before = cpu_seconds();
    descend(strcmp(argv[1], "deep") == 0 ? DEPTH - 3 : 0, pairs);
    printf("%.3f\n", (cpu_seconds() - before) * 1e9 / (double)pairs);
    return 0;
}
