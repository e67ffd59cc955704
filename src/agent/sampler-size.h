/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes the usable size of an allocation from the arguments of the call, as jemalloc's statistics and profiler count
 * it. The classes are the same in 5.2.0 to 5.3.1: four in each doubling, the smallest ones multiples of the quantum,
 * which is 16, or 8 if jemalloc was built so (as Redis builds its own).
 */
#ifndef JESCOPE_AGENT_SAMPLER_SIZE_H
#define JESCOPE_AGENT_SAMPLER_SIZE_H

#include "agent/allocator.h"

typedef struct {
    size_t page;
    unsigned lg_quantum;
    size_t small_max;  /* the largest class that shares a slab */
    size_t large_min;  /* the smallest that does not */
    bool aligned_page; /* a request that is aligned to a page may be small (5.3.0) */
} SamplerSizes;

/* Queries jemalloc; false if its classes differ from those of the formula. */
bool sampler_sizes_learn(SamplerSizes *sizes, const Allocator *allocator);

enum {
    SAMPLER_SIZE_TINY = 8,     /* the smallest class, also where the quantum is larger */
    SAMPLER_SIZE_LG_GROUP = 2, /* classes in a doubling */
};

/* The class of a request of SIZE bytes. Inline: every call of malloc() needs it while the hooks are installed. */
static inline size_t
sampler_size_class(const SamplerSizes *sizes, size_t size)
{
    if (size <= SAMPLER_SIZE_TINY)
        return SAMPLER_SIZE_TINY;
    const unsigned doubling = 63 ^ (unsigned)__builtin_clzll((size << 1) - 1);
    const unsigned lg_group = doubling - SAMPLER_SIZE_LG_GROUP - 1; /* at least 1: SIZE is larger than 8 */
    const unsigned lg_step = lg_group > sizes->lg_quantum ? lg_group : sizes->lg_quantum;
    return ((size - 1) | (((size_t)1 << lg_step) - 1)) + 1;
}

/* The same with an alignment (a power of two, 0: none). */
size_t sampler_size_aligned(const SamplerSizes *sizes, size_t size, size_t alignment);

/* jemalloc's hook_alloc_t, in its order. */
typedef enum {
    SAMPLER_MALLOC,
    SAMPLER_POSIX_MEMALIGN,
    SAMPLER_ALIGNED_ALLOC,
    SAMPLER_CALLOC,
    SAMPLER_MEMALIGN,
    SAMPLER_VALLOC,
    SAMPLER_MALLOCX,
    SAMPLER_REALLOC,
    SAMPLER_RALLOCX,
} SamplerCall;

/* The usable size of an allocation by CALL, from its raw arguments as passed to an allocation hook. */
size_t sampler_size_of_call(const SamplerSizes *sizes, int call, const uintptr_t arguments[3]);

#endif
