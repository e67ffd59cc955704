/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The data of jescope's sampler: live samples by address, call stacks, and for each stack and size the numbers of live
 * and dead samples. One block of memory, initially zero; used by any number of threads at once without a lock: a thread
 * that stops forever at any instruction, or a fork at any moment, costs at most one sample. All zero at any moment (the
 * memory was released) is a valid state, too.
 *
 * When the samples do not fit, the period doubles, and each sample, live or dead, is kept with the ratio of its
 * probabilities at both periods: the estimates stay unbiased.
 */
#ifndef JESCOPE_AGENT_SAMPLER_TABLE_H
#define JESCOPE_AGENT_SAMPLER_TABLE_H

#include "agent/sampler-math.h"
#include "agent/sampler-unwind.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SAMPLER_LG_MEMORY_MIN = 20, /* binary logarithm of the bytes of a block */
    SAMPLER_LG_MEMORY_DEFAULT = 23,
    SAMPLER_LG_MEMORY_MAX = 30,
    SAMPLER_FRAMES = 128, /* of a stack */
    SAMPLER_IN_BUCKET = 7,
    SAMPLER_LG_THREADS = 11,
    SAMPLER_THREADS = 1 << SAMPLER_LG_THREADS,
    SAMPLER_SCRATCH = 32,
    SAMPLER_LG_GROUPS = 14, /* of addresses */
    SAMPLER_MANY = 255,
};

/* Multiplied by it, the upper bits of an address choose its bucket. */
#define SAMPLER_GOLDEN UINT64_C(0x9e3779b97f4a7c15)

/* Addresses of live samples: one cache line each. */
typedef struct {
    atomic_uintptr_t keys[SAMPLER_IN_BUCKET]; /* 0: free, 1: being changed */
    atomic_uint_fast64_t overflowed;          /* some are in their second bucket */
} SamplerBucket;

typedef struct {
    atomic_uint_fast64_t value; /* node, period, thread, generation: see sampler-table.c */
    atomic_uint_fast64_t born;  /* CLOCK_MONOTONIC, nanoseconds */
} SamplerSample;

/* The slab of a live sample at the last query: sampler-slabs.h. */
typedef struct {
    uint32_t tag; /* of the address */
    uint16_t unused;
    uint16_t regions; /* 0: unknown, or not in a slab */
} SamplerSlab;

/* A stack and a usable size. */
typedef struct {
    uint32_t stack; /* position in words; 0: no stack */
    uint32_t reserved;
    uint64_t size;
    atomic_int_fast64_t live;
    atomic_uint_fast64_t dead;      /* number, and the period for which it holds */
    atomic_uint_fast64_t lifetimes; /* of the dead samples: their sum, in microseconds */
    atomic_uint_fast64_t squares;   /* the sum of their squares: the bits of a double */
} SamplerNode;

/* The bytes that a thread may allocate until its next sample. */
typedef struct {
    _Alignas(64) atomic_uintptr_t thread; /* its thread pointer; 0: free */
    atomic_int_fast64_t remaining;
    atomic_uint_fast32_t epoch; /* of the table when remaining was drawn */
} SamplerThread;

/* The part that has the same size in every block. */
typedef struct {
    SamplerThread threads[SAMPLER_THREADS];
    /* For each group of addresses an upper bound of its number of samples; one that has reached SAMPLER_MANY is never
     * lowered. For most objects, which are not samples, a free reads nothing else. */
    _Atomic(uint8_t) groups[1 << SAMPLER_LG_GROUPS];
    atomic_flag scratch_taken[SAMPLER_SCRATCH];
    uintptr_t scratch[SAMPLER_SCRATCH][SAMPLER_FRAMES];
    UnwindCache cache;
    atomic_uint_fast32_t n_nodes;
    atomic_uint_fast32_t n_words;
} SamplerFixed;

/* The layout of a block of 2^lg bytes. Outside the block, and constant while the block is mapped: a hook that finds
 * zeros in the block can still find the block. All numbers but words are powers of two. */
typedef struct {
    SamplerFixed *fixed;
    SamplerBucket *buckets;
    SamplerSample *samples; /* SAMPLER_IN_BUCKET per bucket, like slabs */
    SamplerSlab *slabs;     /* for the thread that has the turn */
    SamplerNode *nodes;
    _Atomic(uint32_t) *node_index; /* two places for each node, like stack_index */
    _Atomic(uint32_t) *stack_index;
    uint64_t *words; /* per stack: hash, number of frames, frames */
    unsigned lg;
    unsigned lg_buckets;
    uint32_t max_nodes;
    uint32_t max_words;
} SamplerMemory;

/* BLOCK: 2^LG zero bytes, aligned to a cache line; LG from SAMPLER_LG_MEMORY_MIN to SAMPLER_LG_MEMORY_MAX. */
void sampler_memory_lay_out(SamplerMemory *memory, void *block, unsigned lg);

/* The number of places for live samples. */
uint32_t sampler_memory_places(const SamplerMemory *memory);

/* Counters, which are exact. */
typedef struct {
    atomic_uint_fast64_t lost;       /* samples for which there was no room */
    atomic_uint_fast64_t lost_bytes; /* the sum of their sizes */
    atomic_uint_fast64_t no_stack;   /* samples counted without their stacks */
    atomic_uint_fast64_t lost_frees; /* samples whose address was allocated again: jemalloc did not report the free */
    atomic_uint_fast32_t doublings;  /* how often the period was doubled because the memory was full */
} SamplerFigures;

typedef struct {
    _Atomic(SamplerMemory *) memory;
    SamplerRandom random;
    SamplerFigures figures;
    atomic_uint_fast32_t epoch; /* generation and period: sampler_epoch_lg() */
} SamplerTable;

unsigned sampler_epoch_lg(uint32_t epoch);

/* Discards everything and sets the period 2^LG; the memory is zero (or becomes zero). */
void sampler_table_begin(SamplerTable *table, unsigned lg);

/* A new sample at ADDRESS, taken when the epoch was EPOCH, with the stack FRAMES (N; 0: unknown). */
typedef struct {
    uintptr_t address;
    uint64_t size;
    uint64_t now;
    uint32_t epoch;
    uint32_t thread; /* the kernel's thread id */
    const uintptr_t *frames;
    size_t n;
} SamplerBirth;

void sampler_table_add(SamplerTable *table, const SamplerBirth *birth);

/* Returns whether there was a sample at ADDRESS, which is being freed at NOW(). */
bool sampler_table_remove(SamplerTable *table, uintptr_t address, uint64_t (*now)(void));

/* The sample at ADDRESS has a new size. False: there is no sample. */
bool sampler_table_resize(SamplerTable *table, uintptr_t address, uint64_t size);

/* Whether the bucket of ADDRESS may have a sample of it. */
bool sampler_table_look(const SamplerMemory *memory, uintptr_t address);

/* Whether there may be a sample at ADDRESS; usually reads one byte only. */
static inline bool
sampler_table_may_have(const SamplerMemory *memory, uintptr_t address)
{
    const uint64_t group = (uint64_t)address * SAMPLER_GOLDEN >> (64 - SAMPLER_LG_GROUPS);
    return atomic_load_explicit(&memory->fixed->groups[group], memory_order_relaxed) != 0 &&
           sampler_table_look(memory, address);
}

/* Converts every sample and every count to the present period. */
void sampler_table_settle(SamplerTable *table);

/* Doubles the period, unless EPOCH is no longer the present epoch. */
void sampler_table_double(SamplerTable *table, uint32_t epoch);

/* A node for a dump; after sampler_table_settle(). */
typedef struct {
    uint64_t size;
    uint64_t live;
    uint64_t dead;
    uint64_t lifetimes;
    double squares;
    const uint64_t *frames;
    size_t n_frames;
} SamplerStack;

/* Entry I of sampler_table_stacks(). False: it is empty. */
uint32_t sampler_table_stacks(const SamplerTable *table);
bool sampler_table_stack(const SamplerTable *table, uint32_t i, SamplerStack *stack);

/* A live sample, which belongs to NODE. */
typedef struct {
    uintptr_t address;
    uint64_t born;
    uint32_t thread;
    uint32_t node;
} SamplerLive;

/* The sample in place I < sampler_memory_places(). False: there is none. */
bool sampler_table_live(const SamplerTable *table, uint32_t i, SamplerLive *live);

#endif
