/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/sampler-table.h"

#include <string.h>

enum {
    BUSY = 1, /* a key that is being changed */
    PROBES = 64,
    ADD_TRIES = 4, /* each doubles the period */
    LG_BITS = 8,
    NODES_FOR_LOST = 512, /* for samples without a stack, when the others are taken */
    RECORD_HEADER = 2,    /* words before a stack's frames */
    DEAD_LG_SHIFT = 56,
    NS_PER_US = 1000,
};

/* SamplerSample.value. The kernel's ids of threads have 22 bits (PID_MAX_LIMIT). */
enum { NODE_BITS = 24, LG_SHIFT = 24, THREAD_SHIFT = 32, GENERATION_SHIFT = 54, THREAD_MASK = (1 << 22) - 1 };

#define DEAD_MASK ((UINT64_C(1) << DEAD_LG_SHIFT) - 1)

/* ---- memory ---- */

/* 32768 stacks with sizes and 8192 buckets in the default memory, and in proportion; the rest is for words. */
enum {
    LG_MEMORY_OF_NODE = SAMPLER_LG_MEMORY_DEFAULT - 15,
    LG_MEMORY_OF_BUCKET = SAMPLER_LG_MEMORY_DEFAULT - 13,
};

static void *
take_bytes(char **block, size_t bytes)
{
    void *taken = *block;
    *block += bytes;
    return taken;
}

void
sampler_memory_lay_out(SamplerMemory *memory, void *block, unsigned lg)
{
    char *rest = block;
    const size_t nodes = (size_t)1 << (lg - LG_MEMORY_OF_NODE);
    const size_t buckets = (size_t)1 << (lg - LG_MEMORY_OF_BUCKET);
    const size_t places = buckets * SAMPLER_IN_BUCKET;
    *memory = (SamplerMemory){.lg = lg,
                              .lg_buckets = lg - LG_MEMORY_OF_BUCKET,
                              .max_nodes = (uint32_t)nodes,
                              .fixed = take_bytes(&rest, sizeof(SamplerFixed))};
    memory->buckets = take_bytes(&rest, buckets * sizeof(SamplerBucket));
    memory->samples = take_bytes(&rest, places * sizeof(SamplerSample));
    memory->slabs = take_bytes(&rest, places * sizeof(SamplerSlab));
    memory->nodes = take_bytes(&rest, nodes * sizeof(SamplerNode));
    memory->node_index = take_bytes(&rest, 2 * nodes * sizeof(*memory->node_index));
    memory->stack_index = take_bytes(&rest, 2 * nodes * sizeof(*memory->stack_index));
    memory->words = (uint64_t *)(void *)rest;
    memory->max_words = (uint32_t)((((size_t)1 << lg) - (size_t)(rest - (char *)block)) / sizeof(uint64_t));
}

uint32_t
sampler_memory_places(const SamplerMemory *memory)
{
    return SAMPLER_IN_BUCKET << memory->lg_buckets;
}

unsigned
sampler_epoch_lg(uint32_t epoch)
{
    return epoch & ((1u << LG_BITS) - 1);
}

static unsigned
generation_of(uint32_t epoch)
{
    return epoch >> LG_BITS & ((1u << (64 - GENERATION_SHIFT)) - 1);
}

static uint32_t
epoch_of(const SamplerTable *table)
{
    return (uint32_t)atomic_load_explicit(&table->epoch, memory_order_acquire);
}

void
sampler_table_begin(SamplerTable *table, unsigned lg)
{
    const uint32_t generation = (epoch_of(table) >> LG_BITS) + 1;
    table->figures = (SamplerFigures){0};
    atomic_store_explicit(&table->epoch, generation << LG_BITS | lg, memory_order_release);
}

void
sampler_table_double(SamplerTable *table, uint32_t epoch)
{
    uint_fast32_t expected = epoch;
    if (sampler_epoch_lg(epoch) < SAMPLER_LG_MAX && atomic_compare_exchange_strong(&table->epoch, &expected, epoch + 1))
        atomic_fetch_add(&table->figures.doublings, 1);
}

static bool
stays(SamplerTable *table, uint64_t size, unsigned from, unsigned to)
{
    return from >= to || sampler_uniform(&table->random) <= sampler_keep(size, from, to);
}

/* ---- stacks and nodes ---- */

static uint64_t
mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * SAMPLER_GOLDEN;
    return hash ^ (hash >> 29);
}

static uint64_t
hash_of(const uintptr_t *frames, size_t n)
{
    uint64_t hash = n + 1;
    for (size_t i = 0; i < n; i++)
        hash = mix(hash, frames[i]);
    return hash | 1;
}

static bool
is_stack(const SamplerMemory *memory, uint32_t at, uint64_t hash, const SamplerBirth *birth)
{
    return at + RECORD_HEADER + birth->n <= memory->max_words && memory->words[at] == hash &&
           memory->words[at + 1] == birth->n &&
           memcmp(&memory->words[at + RECORD_HEADER], birth->frames, birth->n * sizeof(uint64_t)) == 0;
}

/* Allocates the place of a record; 0: there is no more room. Place 0 is never used. */
static uint32_t
store_stack(SamplerMemory *memory, uint64_t hash, const SamplerBirth *birth)
{
    const uint32_t needs = (uint32_t)birth->n + RECORD_HEADER;
    uint_fast32_t used = atomic_load_explicit(&memory->fixed->n_words, memory_order_relaxed);
    do {
        if (used + RECORD_HEADER + SAMPLER_FRAMES + 1 > memory->max_words)
            return 0;
    } while (!atomic_compare_exchange_weak(&memory->fixed->n_words, &used, used + needs));
    const uint32_t at = (uint32_t)used + 1;
    memory->words[at] = hash;
    memory->words[at + 1] = birth->n;
    memcpy(&memory->words[at + RECORD_HEADER], birth->frames, birth->n * sizeof(uint64_t));
    return at;
}

static uint32_t
find_stack(SamplerMemory *memory, const SamplerBirth *birth)
{
    const uint64_t hash = hash_of(birth->frames, birth->n);
    uint32_t stored = 0;
    for (uint32_t i = 0; i < PROBES; i++) {
        _Atomic(uint32_t) *place = &memory->stack_index[((hash >> 20) + i) & (2 * memory->max_nodes - 1)];
        uint32_t at = atomic_load_explicit(place, memory_order_acquire);
        if (at == 0) {
            if (stored == 0)
                stored = store_stack(memory, hash, birth);
            if (stored == 0 || atomic_compare_exchange_strong(place, &at, stored))
                return stored;
        }
        if (is_stack(memory, at, hash, birth))
            return at;
    }
    return 0;
}

static uint32_t
store_node(SamplerMemory *memory, uint32_t stack, uint64_t size)
{
    const uint32_t limit = stack != 0 ? memory->max_nodes - NODES_FOR_LOST : memory->max_nodes;
    uint_fast32_t used = atomic_load_explicit(&memory->fixed->n_nodes, memory_order_relaxed);
    do {
        if (used + 1 >= limit)
            return 0;
    } while (!atomic_compare_exchange_weak(&memory->fixed->n_nodes, &used, used + 1));
    SamplerNode *node = &memory->nodes[used + 1];
    node->stack = stack;
    node->size = size;
    return (uint32_t)used + 1;
}

/* Returns 0 if there is no more room. */
static uint32_t
find_node(SamplerMemory *memory, uint32_t stack, uint64_t size)
{
    const uint64_t hash = mix(mix(1, stack), size);
    uint32_t stored = 0;
    for (uint32_t i = 0; i < PROBES; i++) {
        _Atomic(uint32_t) *place = &memory->node_index[((hash >> 20) + i) & (2 * memory->max_nodes - 1)];
        uint32_t at = atomic_load_explicit(place, memory_order_acquire);
        if (at == 0) {
            if (stored == 0)
                stored = store_node(memory, stack, size);
            if (stored == 0 || atomic_compare_exchange_strong(place, &at, stored))
                return stored;
        }
        at &= memory->max_nodes - 1;
        const SamplerNode *node = &memory->nodes[at];
        if (node->stack == stack && node->size == size)
            return at;
    }
    return 0;
}

static uint32_t
node_for(SamplerTable *table, const SamplerBirth *birth)
{
    SamplerMemory *memory = table->memory;
    const uint32_t stack = birth->n > 0 ? find_stack(memory, birth) : 0;
    uint32_t node = find_node(memory, stack, birth->size);
    if (node == 0 && stack != 0)
        node = find_node(memory, 0, birth->size);
    if (node != 0 && memory->nodes[node].stack == 0)
        atomic_fetch_add(&table->figures.no_stack, 1);
    return node;
}

/* ---- the dead ---- */

static unsigned
dead_lg(uint64_t dead)
{
    return (unsigned)(dead >> DEAD_LG_SHIFT);
}

static double
squares_of(uint64_t bits)
{
    double squares;
    memcpy(&squares, &bits, sizeof(squares));
    return squares;
}

/* Multiplies the squares by FACTOR and adds MORE. */
static void
change_squares(SamplerNode *node, double factor, double more)
{
    uint_fast64_t before = atomic_load(&node->squares);
    uint64_t after;
    do {
        const double squares = squares_of(before) * factor + more;
        memcpy(&after, &squares, sizeof(after));
    } while (!atomic_compare_exchange_weak(&node->squares, &before, after));
}

/* Keeps as many of those counted at an earlier period as would have been sampled at this one, and adds ADDED more. */
static void
count_dead(SamplerTable *table, SamplerNode *node, unsigned lg, uint64_t added, uint64_t lifetime)
{
    uint_fast64_t before = atomic_load(&node->dead);
    uint64_t n;
    uint64_t kept;
    do {
        n = before & DEAD_MASK;
        kept = n == 0 || dead_lg(before) >= lg
                   ? n
                   : sampler_binomial(&table->random, n, sampler_keep(node->size, dead_lg(before), lg));
    } while (!atomic_compare_exchange_weak(&node->dead, &before, (uint64_t)lg << DEAD_LG_SHIFT | (kept + added)));
    if (kept < n) {
        const uint_fast64_t all = atomic_load(&node->lifetimes);
        atomic_fetch_sub(&node->lifetimes, (uint64_t)((double)all * (double)(n - kept) / (double)n));
        change_squares(node, (double)kept / (double)n, 0);
    }
    if (lifetime > 0) {
        atomic_fetch_add(&node->lifetimes, lifetime);
        change_squares(node, 1, (double)lifetime * (double)lifetime);
    }
}

/* ---- live samples ---- */

typedef struct {
    uint32_t first;
    uint32_t second;
} Buckets;

static Buckets
buckets_of(const SamplerMemory *memory, uintptr_t address)
{
    const uint64_t hash = (uint64_t)address * SAMPLER_GOLDEN;
    const uint32_t first = (uint32_t)(hash >> (64 - memory->lg_buckets));
    const uint32_t half = UINT32_C(1) << (memory->lg_buckets - 1);
    return (Buckets){first, (first ^ (1 + ((uint32_t)(hash >> 30) & (half - 1)))) & (2 * half - 1)};
}

static SamplerSample *
sample_of(SamplerMemory *memory, uint32_t bucket, size_t i)
{
    return &memory->samples[(size_t)bucket * SAMPLER_IN_BUCKET + i];
}

static SamplerNode *
node_of(SamplerMemory *memory, uint64_t value)
{
    return &memory->nodes[value & ((1u << NODE_BITS) - 1) & (memory->max_nodes - 1)];
}

static unsigned
lg_of(uint64_t value)
{
    return (unsigned)(value >> LG_SHIFT & 0xff);
}

static unsigned
generation_of_value(uint64_t value)
{
    return (unsigned)(value >> GENERATION_SHIFT);
}

static uint64_t
value_of(uint32_t node, uint32_t epoch, uint32_t thread)
{
    return node | (uint64_t)sampler_epoch_lg(epoch) << LG_SHIFT | (uint64_t)(thread & THREAD_MASK) << THREAD_SHIFT |
           (uint64_t)generation_of(epoch) << GENERATION_SHIFT;
}

static uint64_t
with_lg(uint64_t value, unsigned lg)
{
    return (value & ~(UINT64_C(0xff) << LG_SHIFT)) | (uint64_t)lg << LG_SHIFT;
}

static uint64_t
with_node(uint64_t value, uint32_t node)
{
    return (value & ~((UINT64_C(1) << NODE_BITS) - 1)) | node;
}

static _Atomic(uint8_t) *
group_of(SamplerMemory *memory, uintptr_t address)
{
    return &memory->fixed->groups[(uint64_t)address * SAMPLER_GOLDEN >> (64 - SAMPLER_LG_GROUPS)];
}

/* Must precede the publication of its key. */
static void
enter_group(SamplerMemory *memory, uintptr_t address)
{
    _Atomic(uint8_t) *group = group_of(memory, address);
    uint8_t n = atomic_load_explicit(group, memory_order_relaxed);
    while (n < SAMPLER_MANY && !atomic_compare_exchange_weak(group, &n, (uint8_t)(n + 1)))
        continue;
}

/* Must follow the removal of its key: a thread that stops in between leaves the group's count too high, which only
 * costs time. */
static void
leave_group(SamplerMemory *memory, uintptr_t address)
{
    _Atomic(uint8_t) *group = group_of(memory, address);
    uint8_t n = atomic_load_explicit(group, memory_order_relaxed);
    while (n > 0 && n < SAMPLER_MANY && !atomic_compare_exchange_weak(group, &n, (uint8_t)(n - 1)))
        continue;
}

/* Claims the place of ADDRESS: its key is then BUSY, and the place belongs to the caller. */
static SamplerSample *
claim_in(SamplerMemory *memory, uint32_t bucket, uintptr_t address, atomic_uintptr_t **key)
{
    for (size_t i = 0; i < SAMPLER_IN_BUCKET; i++) {
        uintptr_t expected = address;
        *key = &memory->buckets[bucket].keys[i];
        if (atomic_load_explicit(*key, memory_order_relaxed) == address &&
            atomic_compare_exchange_strong(*key, &expected, BUSY))
            return sample_of(memory, bucket, i);
    }
    return NULL;
}

static SamplerSample *
claim(SamplerMemory *memory, uintptr_t address, atomic_uintptr_t **key)
{
    const Buckets buckets = buckets_of(memory, address);
    SamplerSample *sample = claim_in(memory, buckets.first, address, key);
    if (sample == NULL && atomic_load_explicit(&memory->buckets[buckets.first].overflowed, memory_order_relaxed) != 0)
        sample = claim_in(memory, buckets.second, address, key);
    return sample;
}

bool
sampler_table_look(const SamplerMemory *memory, uintptr_t address)
{
    const SamplerBucket *bucket = &memory->buckets[buckets_of(memory, address).first];
    uintptr_t found = atomic_load_explicit(&bucket->overflowed, memory_order_relaxed);
    for (size_t i = 0; i < SAMPLER_IN_BUCKET; i++)
        found |= atomic_load_explicit(&bucket->keys[i], memory_order_relaxed) == address;
    return found != 0;
}

/* Thins the samples of an earlier period in BUCKET, each by its own probability. */
static void
thin_bucket(SamplerTable *table, uint32_t bucket)
{
    SamplerMemory *memory = table->memory;
    const uint32_t epoch = epoch_of(table);
    const unsigned lg = sampler_epoch_lg(epoch);
    for (size_t i = 0; i < SAMPLER_IN_BUCKET; i++) {
        atomic_uintptr_t *key = &memory->buckets[bucket].keys[i];
        SamplerSample *sample = sample_of(memory, bucket, i);
        uintptr_t address = atomic_load_explicit(key, memory_order_acquire);
        if (address <= BUSY)
            continue;
        uint_fast64_t value = atomic_load(&sample->value);
        const bool foreign = generation_of_value(value) != generation_of(epoch);
        if (!foreign && lg_of(value) >= lg)
            continue;
        SamplerNode *node = node_of(memory, value);
        if (!foreign && stays(table, node->size, lg_of(value), lg))
            /* If its owner claims it meanwhile, the owner decides by the old value. */
            atomic_compare_exchange_strong(&sample->value, &value, with_lg(value, lg));
        else if (atomic_compare_exchange_strong(key, &address, 0) && !foreign) {
            atomic_fetch_sub(&node->live, 1);
            leave_group(memory, address);
        }
    }
}

static bool
put_in(SamplerMemory *memory, uint32_t bucket, const SamplerBirth *birth, uint64_t value)
{
    for (size_t i = 0; i < SAMPLER_IN_BUCKET; i++) {
        uintptr_t expected = 0;
        atomic_uintptr_t *key = &memory->buckets[bucket].keys[i];
        if (atomic_load_explicit(key, memory_order_relaxed) != 0 ||
            !atomic_compare_exchange_strong(key, &expected, BUSY))
            continue;
        SamplerSample *sample = sample_of(memory, bucket, i);
        enter_group(memory, birth->address);
        atomic_store(&sample->value, value);
        atomic_store(&sample->born, birth->now);
        atomic_fetch_add(&node_of(memory, value)->live, 1);
        atomic_store_explicit(key, birth->address, memory_order_release);
        return true;
    }
    return false;
}

static bool
put(SamplerTable *table, const SamplerBirth *birth, uint64_t value)
{
    SamplerMemory *memory = table->memory;
    const Buckets buckets = buckets_of(memory, birth->address);
    if (put_in(memory, buckets.first, birth, value))
        return true;
    atomic_store(&memory->buckets[buckets.first].overflowed, 1);
    if (put_in(memory, buckets.second, birth, value))
        return true;
    thin_bucket(table, buckets.first);
    thin_bucket(table, buckets.second);
    return put_in(memory, buckets.first, birth, value) || put_in(memory, buckets.second, birth, value);
}

/* Removes a sample whose free was not reported. */
static void
drop_stale(SamplerTable *table, uintptr_t address)
{
    atomic_uintptr_t *key;
    SamplerSample *sample = claim(table->memory, address, &key);
    if (sample == NULL)
        return;
    const uint64_t value = atomic_load(&sample->value);
    atomic_store_explicit(key, 0, memory_order_release);
    if (generation_of_value(value) == generation_of(epoch_of(table))) {
        atomic_fetch_sub(&node_of(table->memory, value)->live, 1);
        leave_group(table->memory, address);
        atomic_fetch_add(&table->figures.lost_frees, 1);
    }
}

void
sampler_table_add(SamplerTable *table, const SamplerBirth *birth)
{
    uint32_t epoch = birth->epoch;
    drop_stale(table, birth->address);
    const uint32_t node = node_for(table, birth);
    for (unsigned i = 0; node != 0 && i < ADD_TRIES; i++) {
        const uint32_t now = epoch_of(table);
        if (generation_of(now) != generation_of(epoch) ||
            !stays(table, birth->size, sampler_epoch_lg(epoch), sampler_epoch_lg(now)))
            return;
        epoch = now;
        if (put(table, birth, value_of(node, epoch, birth->thread)))
            return;
        sampler_table_double(table, epoch);
    }
    atomic_fetch_add(&table->figures.lost, 1);
    atomic_fetch_add(&table->figures.lost_bytes, birth->size);
}

bool
sampler_table_remove(SamplerTable *table, uintptr_t address, uint64_t (*now)(void))
{
    SamplerMemory *memory = table->memory;
    atomic_uintptr_t *key;
    SamplerSample *sample = claim(memory, address, &key);
    if (sample == NULL)
        return false;
    const uint64_t value = atomic_load(&sample->value);
    const uint64_t born = atomic_load(&sample->born);
    atomic_store_explicit(key, 0, memory_order_release);
    const uint32_t epoch = epoch_of(table);
    SamplerNode *node = node_of(memory, value);
    if (generation_of_value(value) != generation_of(epoch))
        return false;
    const unsigned lg = sampler_epoch_lg(epoch);
    atomic_fetch_sub(&node->live, 1);
    leave_group(memory, address);
    if (stays(table, node->size, lg_of(value), lg)) {
        const uint64_t died = now();
        count_dead(table, node, lg, 1, died > born ? (died - born) / NS_PER_US : 0);
    }
    return true;
}

bool
sampler_table_resize(SamplerTable *table, uintptr_t address, uint64_t size)
{
    SamplerMemory *memory = table->memory;
    atomic_uintptr_t *key;
    SamplerSample *sample = claim(memory, address, &key);
    if (sample == NULL)
        return false;
    const uint64_t value = atomic_load(&sample->value);
    const SamplerNode *old = node_of(memory, value);
    const unsigned lg = lg_of(value);
    const bool foreign = generation_of_value(value) != generation_of(epoch_of(table));
    /* A sample that shrinks is kept with the ratio of the probabilities; one that grows might have been sampled
     * earlier. */
    const bool kept =
        !foreign && (size >= old->size || sampler_uniform(&table->random) * sampler_probability(old->size, lg) <=
                                              sampler_probability(size, lg));
    uint32_t node = kept ? find_node(memory, old->stack, size) : 0;
    if (kept && node == 0)
        node = find_node(memory, 0, size);
    if (!foreign)
        atomic_fetch_sub(&node_of(memory, value)->live, 1);
    if (node != 0) {
        atomic_store(&sample->value, with_node(value, node));
        atomic_fetch_add(&memory->nodes[node].live, 1);
    }
    atomic_store_explicit(key, node != 0 ? address : 0, memory_order_release);
    if (node == 0 && !foreign)
        leave_group(memory, address);
    return true;
}

void
sampler_table_settle(SamplerTable *table)
{
    const unsigned lg = sampler_epoch_lg(epoch_of(table));
    for (uint32_t bucket = 0; bucket >> table->memory->lg_buckets == 0; bucket++)
        thin_bucket(table, bucket);
    for (uint32_t i = 1; i <= sampler_table_stacks(table); i++)
        count_dead(table, &table->memory->nodes[i], lg, 0, 0);
}

uint32_t
sampler_table_stacks(const SamplerTable *table)
{
    const uint32_t n = (uint32_t)atomic_load(&table->memory->fixed->n_nodes);
    const uint32_t max = table->memory->max_nodes;
    return n < max ? n : max - 1;
}

bool
sampler_table_stack(const SamplerTable *table, uint32_t i, SamplerStack *stack)
{
    const SamplerMemory *memory = table->memory;
    const SamplerNode *node = &memory->nodes[i & (memory->max_nodes - 1)];
    const int64_t live = atomic_load(&node->live);
    const uint32_t at = node->stack;
    *stack = (SamplerStack){
        .size = node->size,
        .live = live > 0 ? (uint64_t)live : 0,
        .dead = atomic_load(&node->dead) & DEAD_MASK,
        .lifetimes = atomic_load(&node->lifetimes),
        .squares = squares_of(atomic_load(&node->squares)),
    };
    if (at != 0 && at + RECORD_HEADER + SAMPLER_FRAMES <= memory->max_words &&
        memory->words[at + 1] <= SAMPLER_FRAMES) {
        stack->n_frames = memory->words[at + 1];
        stack->frames = &memory->words[at + RECORD_HEADER];
    }
    return stack->live + stack->dead > 0;
}

bool
sampler_table_live(const SamplerTable *table, uint32_t i, SamplerLive *live)
{
    const SamplerMemory *memory = table->memory;
    const SamplerSample *sample = &memory->samples[i];
    const uint64_t value = atomic_load(&sample->value);
    *live = (SamplerLive){
        .address = atomic_load(&memory->buckets[i / SAMPLER_IN_BUCKET].keys[i % SAMPLER_IN_BUCKET]),
        .born = atomic_load(&sample->born),
        .thread = (uint32_t)(value >> THREAD_SHIFT) & THREAD_MASK,
        .node = (uint32_t)(value & ((1u << NODE_BITS) - 1)) & (memory->max_nodes - 1),
    };
    return live->address > BUSY && generation_of_value(value) == generation_of(epoch_of(table));
}
