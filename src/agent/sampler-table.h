/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What jescope's sampler remembers: live samples by address, call stacks, and for each stack and size how many live and
 * how many have died. One block of memory, zero at the beginning; any number of threads at once, without a lock: a
 * thread that stops for ever at any instruction, or a fork at any moment, costs at most one sample. All zero at any
 * moment (the memory was given back) is a valid state, too.
 *
 * When the samples do not fit, the period doubles, and each sample, live or dead, stays with the ratio of its
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
    SAMPLER_LG_MEMORY_MIN = 20, /* of the bytes of a block */
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

/* Addresses of live samples: one line of the cache each. */
typedef struct {
    atomic_uintptr_t keys[SAMPLER_IN_BUCKET]; /* 0: free, 1: about to change */
    atomic_uint_fast64_t overflowed;          /* some are in their second bucket */
} SamplerBucket;

typedef struct {
    atomic_uint_fast64_t value; /* node, period, thread, generation: see sampler-table.c */
    atomic_uint_fast64_t born;  /* CLOCK_MONOTONIC, nanoseconds */
} SamplerSample;

/* The slab of a live sample when it was last looked at: sampler-slabs.h. */
typedef struct {
    uint32_t tag; /* of the address */
    uint16_t unused;
    uint16_t regions; /* 0: unknown, or no slab */
} SamplerSlab;

/* A stack and a usable size. */
typedef struct {
    uint32_t stack; /* place in words; 0: no stack */
    uint32_t reserved;
    uint64_t size;
    atomic_int_fast64_t live;
    atomic_uint_fast64_t dead;      /* and the period at which they are counted */
    atomic_uint_fast64_t lifetimes; /* of the dead, the sum, in microseconds */
    atomic_uint_fast64_t squares;   /* the sum of their squares: the bits of a double */
} SamplerNode;

/* The bytes that a thread may allocate until its next sample. */
typedef struct {
    _Alignas(64) atomic_uintptr_t thread; /* its thread pointer; 0: free */
    atomic_int_fast64_t remaining;
    atomic_uint_fast32_t epoch; /* of the table when remaining was drawn */
} SamplerThread;

/* What is of one size in every block. */
typedef struct {
    SamplerThread threads[SAMPLER_THREADS];
    /* How many samples each group of addresses has, or more; one that has reached SAMPLER_MANY stays so. A free of one
     * of the many objects that are not samples looks at nothing else. */
    _Atomic(uint8_t) groups[1 << SAMPLER_LG_GROUPS];
    atomic_flag scratch_taken[SAMPLER_SCRATCH];
    uintptr_t scratch[SAMPLER_SCRATCH][SAMPLER_FRAMES];
    UnwindCache cache;
    atomic_uint_fast32_t n_nodes;
    atomic_uint_fast32_t n_words;
} SamplerFixed;

/* Where everything is in a block of 2^lg bytes. Outside the block, and the same as long as the block is mapped: a hook
 * that finds zeros in the block still finds the block. The numbers are powers of two, but for words. */
typedef struct {
    SamplerFixed *fixed;
    SamplerBucket *buckets;
    SamplerSample *samples; /* SAMPLER_IN_BUCKET for each bucket, like slabs */
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

/* BLOCK: 2^LG bytes that are zero, at a line of the cache; SAMPLER_LG_MEMORY_MIN to SAMPLER_LG_MEMORY_MAX. */
void sampler_memory_lay_out(SamplerMemory *memory, void *block, unsigned lg);

/* The places of live samples. */
uint32_t sampler_memory_places(const SamplerMemory *memory);

/* Figures that are not estimates. */
typedef struct {
    atomic_uint_fast64_t lost;       /* samples that found no place */
    atomic_uint_fast64_t lost_bytes; /* the sum of their sizes */
    atomic_uint_fast64_t no_stack;   /* samples that are counted without their stack */
    atomic_uint_fast64_t lost_frees; /* samples whose address was allocated again: jemalloc did not report its free */
    atomic_uint_fast32_t doublings;  /* of the period, because the memory was full */
} SamplerFigures;

typedef struct {
    _Atomic(SamplerMemory *) memory;
    SamplerRandom random;
    SamplerFigures figures;
    atomic_uint_fast32_t epoch; /* generation and period: sampler_epoch_lg() */
} SamplerTable;

unsigned sampler_epoch_lg(uint32_t epoch);

/* Forgets everything, with the period 2^LG; memory is all zero (or becomes so). */
void sampler_table_begin(SamplerTable *table, unsigned lg);

/* One live sample at ADDRESS, taken at 2^LG when the epoch was EPOCH, with the stack FRAMES (N; 0: it is not known). */
typedef struct {
    uintptr_t address;
    uint64_t size;
    uint64_t now;
    uint32_t epoch;
    uint32_t thread; /* the kernel's id */
    const uintptr_t *frames;
    size_t n;
} SamplerBirth;

void sampler_table_add(SamplerTable *table, const SamplerBirth *birth);

/* Whether there was one at ADDRESS, which is being freed at NOW(). */
bool sampler_table_remove(SamplerTable *table, uintptr_t address, uint64_t (*now)(void));

/* What is at ADDRESS has another size now. False: there is no sample of it. */
bool sampler_table_resize(SamplerTable *table, uintptr_t address, uint64_t size);

/* Whether there may be one in the bucket of ADDRESS. */
bool sampler_table_look(const SamplerMemory *memory, uintptr_t address);

/* Whether there may be one: mostly, one byte is looked at. */
static inline bool
sampler_table_may_have(const SamplerMemory *memory, uintptr_t address)
{
    const uint64_t group = (uint64_t)address * SAMPLER_GOLDEN >> (64 - SAMPLER_LG_GROUPS);
    return atomic_load_explicit(&memory->fixed->groups[group], memory_order_relaxed) != 0 &&
           sampler_table_look(memory, address);
}

/* Brings every sample and every count to the present period. */
void sampler_table_settle(SamplerTable *table);

/* The next period, if the present one is that of EPOCH. */
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

/* Number I of sampler_table_stacks(). False: nothing is known of it. */
uint32_t sampler_table_stacks(const SamplerTable *table);
bool sampler_table_stack(const SamplerTable *table, uint32_t i, SamplerStack *stack);

/* A live sample; of the node NODE. */
typedef struct {
    uintptr_t address;
    uint64_t born;
    uint32_t thread;
    uint32_t node;
} SamplerLive;

/* What is in place I < sampler_memory_places(), if anything is. */
bool sampler_table_live(const SamplerTable *table, uint32_t i, SamplerLive *live);

#endif
