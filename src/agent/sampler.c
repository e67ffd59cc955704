/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/sampler.h"

#include "agent/float-state.h"
#include "agent/sampler-dump.h"
#include "agent/sampler-ends.h"
#include "agent/sampler-size.h"
#include "agent/sampler-slabs.h"
#include "agent/sampler-table.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    THREAD_PROBES = 8,
    KEPT_MS = 10000, /* how long samples are kept after sampling has ended */
    NS_PER_MS = 1000000,
};

/* jemalloc's hooks_t (hook.h). */
typedef struct {
    void (*alloc)(void *extra, int call, void *result, uintptr_t raw_result, uintptr_t arguments[3]);
    void (*dalloc)(void *extra, int call, void *address, uintptr_t arguments[3]);
    void (*expand)(void *extra, int call, void *address, size_t old_size, size_t new_size, uintptr_t raw_result,
                   uintptr_t arguments[4]);
    void *extra;
} Hooks;

/* `active` is all that a hook reads first: it may still run after the hooks have been removed. The addresses for each
 * memory size are reserved once and never released: such a hook then reads and writes only zeros. */
static struct {
    SamplerTable table;
    SamplerMemory sizes_of_memory[SAMPLER_LG_MEMORY_MAX - SAMPLER_LG_MEMORY_MIN + 1];
    unsigned lg_memory;         /* of the next recording */
    unsigned lg_memory_default; /* of the recordings after that */
    SamplerSizes sizes;
    _Atomic(SamplerMemory *) active;
    void *handle;      /* jemalloc's; NULL: no hooks are installed */
    unsigned lg;       /* of the requested period; the table's may be larger */
    bool has_data;     /* there are samples, of the present recording or of the one that has ended */
    uint64_t since_us; /* when it began, CLOCK_REALTIME */
    uint64_t began_ns; /* the same, CLOCK_MONOTONIC */
    uint64_t ended_ns;
    Mallctl learned; /* the jemalloc that `sizes` belongs to */
} sampler = {
    .lg = SAMPLER_LG_DEFAULT, .lg_memory = SAMPLER_LG_MEMORY_DEFAULT, .lg_memory_default = SAMPLER_LG_MEMORY_DEFAULT};

static uint64_t
clock_ns(clockid_t clock)
{
    struct timespec now = {0};
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static uint64_t
now_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

/* ---- in the program's threads ---- */

static void
draw_interval(SamplerThread *thread)
{
    const uint32_t epoch = (uint32_t)atomic_load(&sampler.table.epoch);
    const FloatState state = float_state_enter();
    atomic_store_explicit(&thread->remaining,
                          sampler_interval(sampler_epoch_lg(epoch), sampler_uniform(&sampler.table.random)),
                          memory_order_relaxed);
    float_state_leave(state);
    atomic_store_explicit(&thread->epoch, epoch, memory_order_relaxed);
}

/* The place where the search for the thread at POINTER starts. */
static inline size_t
first_place(uintptr_t pointer)
{
    return (size_t)((pointer * SAMPLER_GOLDEN) >> (64 - SAMPLER_LG_THREADS));
}

/*
 * A place for the calling thread. A place of a thread that has ended serves its successor at the same address: the rest
 * of an exponential interval is again one. If all candidate places are taken, the last one is shared.
 */
static SamplerThread *
place_of_thread(SamplerMemory *memory)
{
    const uintptr_t pointer = unwind_thread_pointer();
    const size_t first = first_place(pointer);
    SamplerThread *thread = NULL;
    for (size_t i = 0; i < THREAD_PROBES; i++) {
        uintptr_t free_place = 0;
        thread = &memory->fixed->threads[(first + i) % SAMPLER_THREADS];
        if (atomic_load_explicit(&thread->thread, memory_order_relaxed) == pointer ||
            atomic_compare_exchange_strong(&thread->thread, &free_place, pointer))
            break;
    }
    return thread;
}

/* Whether the next sample is within the next SIZE bytes of this thread. */
static bool
reaches_sample(SamplerThread *thread, size_t size, uint32_t *epoch)
{
    *epoch = (uint32_t)atomic_load_explicit(&thread->epoch, memory_order_relaxed);
    if (*epoch != (uint32_t)atomic_load_explicit(&sampler.table.epoch, memory_order_relaxed)) {
        draw_interval(thread);
        *epoch = (uint32_t)atomic_load_explicit(&thread->epoch, memory_order_relaxed);
    }
    const int64_t remaining = atomic_load_explicit(&thread->remaining, memory_order_relaxed) - (int64_t)size;
    atomic_store_explicit(&thread->remaining, remaining, memory_order_relaxed);
    return remaining <= 0;
}

/* The fast path for a thread that has its first candidate place and an interval of this epoch, as nearly every thread
 * has: true if the next sample is not within these bytes, which are then counted. False: nothing was done. */
__attribute__((always_inline)) static inline bool
passes(SamplerMemory *memory, size_t size)
{
    const uintptr_t pointer = unwind_thread_pointer();
    SamplerThread *thread = &memory->fixed->threads[first_place(pointer)];
    const int64_t remaining = atomic_load_explicit(&thread->remaining, memory_order_relaxed) - (int64_t)size;
    if (atomic_load_explicit(&thread->thread, memory_order_relaxed) != pointer ||
        atomic_load_explicit(&thread->epoch, memory_order_relaxed) !=
            atomic_load_explicit(&sampler.table.epoch, memory_order_relaxed) ||
        remaining <= 0)
        return false;
    atomic_store_explicit(&thread->remaining, remaining, memory_order_relaxed);
    return true;
}

typedef struct {
    SamplerMemory *memory;
    SamplerThread *thread;
    uint32_t epoch;
    uintptr_t caller; /* the return address of the hook */
} Hit;

static uintptr_t *
take_scratch(SamplerMemory *memory, size_t *place)
{
    for (*place = 0; *place < SAMPLER_SCRATCH; (*place)++)
        if (!atomic_flag_test_and_set(&memory->fixed->scratch_taken[*place]))
            return memory->fixed->scratch[*place];
    return NULL;
}

/* Separate from the hooks, which would otherwise need its stack for every call. */
__attribute__((noinline)) static void
take_sample(const Hit *hit, void *address, size_t size)
{
    const int saved = errno;
    UnwindRegisters registers;
    size_t place;
    uintptr_t *frames = take_scratch(hit->memory, &place);
    SamplerBirth birth = {
        .address = (uintptr_t)address,
        .size = size,
        .now = now_ns(),
        .epoch = hit->epoch,
        .thread = (uint32_t)syscall(SYS_gettid),
        .frames = frames,
    };
    if (frames != NULL) {
        UNWIND_HERE(&registers);
        birth.n = unwind_stack(&hit->memory->fixed->cache, &registers, hit->caller, frames, SAMPLER_FRAMES);
    }
    const FloatState state = float_state_enter();
    sampler_table_add(&sampler.table, &birth);
    float_state_leave(state);
    if (frames != NULL)
        atomic_flag_clear(&hit->memory->fixed->scratch_taken[place]);
    draw_interval(hit->thread);
    errno = saved;
}

/* The rest of the work for an allocation that the fast path does not handle. */
__attribute__((noinline)) static void
count_allocation(SamplerMemory *memory, void *address, size_t size, uintptr_t caller)
{
    Hit hit = {.memory = memory, .thread = place_of_thread(memory), .caller = caller};
    if (reaches_sample(hit.thread, size, &hit.epoch))
        take_sample(&hit, address, size);
}

/* For functions other than malloc(). Separate, so that the hook needs no stack for malloc(). */
__attribute__((noinline)) static void
on_other_alloc(SamplerMemory *memory, int call, void *result, const uintptr_t arguments[3], uintptr_t caller)
{
    const size_t size = sampler_size_of_call(&sampler.sizes, call, arguments);
    if (!passes(memory, size))
        count_allocation(memory, result, size, caller);
}

static void
on_alloc(void *extra, int call, void *result, uintptr_t raw_result, uintptr_t arguments[3])
{
    SamplerMemory *memory = atomic_load_explicit(&sampler.active, memory_order_acquire);
    if (memory == NULL || result == NULL)
        return;
    if (call != SAMPLER_MALLOC) {
        on_other_alloc(memory, call, result, arguments, (uintptr_t)__builtin_return_address(0));
        return;
    }
    const size_t size = sampler_size_class(&sampler.sizes, arguments[0]);
    if (!passes(memory, size))
        count_allocation(memory, result, size, (uintptr_t)__builtin_return_address(0));
}

__attribute__((noinline)) static void
end_sample(void *address)
{
    const int saved = errno;
    const FloatState state = float_state_enter();
    sampler_table_remove(&sampler.table, (uintptr_t)address, now_ns);
    float_state_leave(state);
    errno = saved;
}

static void
on_dalloc(void *extra, int call, void *address, uintptr_t arguments[3])
{
    const SamplerMemory *memory = atomic_load_explicit(&sampler.active, memory_order_acquire);
    if (memory != NULL && sampler_table_may_have(memory, (uintptr_t)address))
        end_sample(address);
}

static bool
resize_sample(void *address, size_t size)
{
    const FloatState state = float_state_enter();
    const bool was_sampled = sampler_table_resize(&sampler.table, (uintptr_t)address, size);
    float_state_leave(state);
    return was_sampled;
}

/*
 * Resizing in place. A sample stays one, with another size; otherwise the added bytes may be sampled. In total an
 * object is sampled with the probability of the new size.
 */
static void
on_expand(void *extra, int call, void *address, size_t old_size, size_t new_size, uintptr_t raw_result,
          uintptr_t arguments[4])
{
    Hit hit = {.memory = atomic_load_explicit(&sampler.active, memory_order_acquire)};
    if (hit.memory == NULL || old_size == new_size)
        return;
    hit.thread = place_of_thread(hit.memory);
    const bool reached = new_size > old_size && reaches_sample(hit.thread, new_size - old_size, &hit.epoch);
    if (sampler_table_may_have(hit.memory, (uintptr_t)address) && resize_sample(address, new_size)) {
        if (reached)
            draw_interval(hit.thread);
    } else if (reached) {
        hit.caller = (uintptr_t)__builtin_return_address(0);
        take_sample(&hit, address, new_size);
    }
}

/* ---- in the agent's thread ---- */

/* 5.2.0 to 5.3.1: earlier ones have no hooks, later ones have different ones under the same name. */
static bool
has_hooks(const Allocator *allocator)
{
    size_t mib[8];
    size_t length = sizeof(mib) / sizeof(mib[0]);
    return allocator->name_to_mib != NULL && allocator->name_to_mib("experimental.hooks.install", mib, &length) == 0;
}

static bool
learn_sizes(const Allocator *allocator)
{
    if (sampler.learned != allocator->mallctl && sampler_sizes_learn(&sampler.sizes, allocator))
        sampler.learned = allocator->mallctl;
    return sampler.learned == allocator->mallctl;
}

WireSamplerObstacle
sampler_obstacle(const Allocator *allocator)
{
    if (!has_hooks(allocator))
        return WIRE_SAMPLER_NO_HOOKS;
    if (!unwind_is_possible())
        return WIRE_SAMPLER_NO_UNWINDER;
    return learn_sizes(allocator) ? WIRE_SAMPLER_READY : WIRE_SAMPLER_ODD_SIZES;
}

bool
sampler_is_active(void)
{
    return atomic_load(&sampler.active) != NULL;
}

static SamplerMemory *
reserve(unsigned lg)
{
    SamplerMemory *memory = &sampler.sizes_of_memory[lg - SAMPLER_LG_MEMORY_MIN];
    const size_t bytes = (size_t)1 << lg;
    if (memory->fixed != NULL)
        return memory;
    void *block = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (block == MAP_FAILED)
        return NULL;
    madvise(block, bytes, MADV_NOHUGEPAGE);
    sampler_memory_lay_out(memory, block, lg);
    return memory;
}

static void
give_back(void)
{
    const SamplerMemory *memory = sampler.table.memory;
    if (memory == NULL)
        return;
    munlock(memory->fixed, (size_t)1 << memory->lg); /* mlockall() of the program's */
    madvise(memory->fixed, (size_t)1 << memory->lg, MADV_DONTNEED);
}

static void
start_table(void)
{
    const uint64_t since_ns = clock_ns(CLOCK_REALTIME);
    sampler.table.random.seed ^= since_ns ^ (uint64_t)getpid() << 48;
    sampler.since_us = since_ns / 1000;
    sampler.began_ns = now_ns();
    give_back();
    sampler_table_begin(&sampler.table, sampler.lg);
    sampler.has_data = true;
}

/* Removes the mark that a change of the hooks leaves on all threads (sampler-ends.h): the change may be the last call
 * of jemalloc in this thread. */
static void
remove_mark(const Allocator *allocator)
{
    const char *version;
    allocator_read(allocator, "version", &version, sizeof(version));
}

int
sampler_begin(const Allocator *allocator)
{
    Hooks hooks = {on_alloc, on_dalloc, on_expand, NULL};
    size_t size = sizeof(sampler.handle);
    if (sampler_is_active())
        return 0;
    if (!learn_sizes(allocator))
        return ENOENT;
    if (!sampler_ends_guard(allocator))
        return ENOTSUP;
    SamplerMemory *memory = reserve(sampler.lg_memory);
    if (memory == NULL)
        return ENOMEM;
    give_back(); /* of another size */
    sampler.table.memory = memory;
    sampler.lg_memory = sampler.lg_memory_default;
    start_table();
    atomic_store(&sampler.active, sampler.table.memory);
    int error = allocator->mallctl("experimental.hooks.install", (void *)&sampler.handle, &size, &hooks, sizeof(hooks));
    if (error != 0) {
        sampler.handle = NULL;
        atomic_store(&sampler.active, NULL);
        sampler_forget();
    }
    remove_mark(allocator);
    return error;
}

int
sampler_end(const Allocator *allocator)
{
    void *handle = sampler.handle;
    if (!sampler_is_active())
        return 0;
    sampler_slabs_look(&sampler.table, allocator); /* while the frees are still reported */
    atomic_store(&sampler.active, NULL);
    sampler.ended_ns = now_ns();
    sampler.handle = NULL;
    int error = allocator->mallctl("experimental.hooks.remove", NULL, NULL, (void *)&handle, sizeof(handle));
    remove_mark(allocator);
    return error;
}

void
sampler_forget(void)
{
    if (sampler_is_active() || !sampler.has_data)
        return;
    sampler.has_data = false;
    give_back();
}

size_t
sampler_memory(void)
{
    const SamplerMemory *active = atomic_load(&sampler.active);
    return (size_t)1 << (active != NULL ? active->lg : sampler.lg_memory);
}

int
sampler_set_memory(size_t bytes, SamplerHold hold)
{
    const unsigned lg = bytes != 0 ? (unsigned)__builtin_ctzll(bytes) : 0;
    if (lg < SAMPLER_LG_MEMORY_MIN || lg > SAMPLER_LG_MEMORY_MAX || bytes != (size_t)1 << lg)
        return EINVAL;
    if (sampler_is_active())
        return EBUSY;
    sampler.lg_memory = lg;
    if (hold == SAMPLER_FROM_NOW_ON)
        sampler.lg_memory_default = lg;
    return 0;
}

unsigned
sampler_lg(void)
{
    return sampler.lg;
}

int
sampler_reset(unsigned lg)
{
    if (lg > SAMPLER_LG_MAX)
        return EINVAL;
    SamplerMemory *active = atomic_exchange(&sampler.active, NULL);
    sampler.lg = lg;
    if (active != NULL) {
        start_table();
        atomic_store(&sampler.active, active);
    }
    return 0;
}

int
sampler_tick(void)
{
    if (sampler_is_active() || !sampler.has_data)
        return -1;
    const uint64_t age_ms = (now_ns() - sampler.ended_ns) / NS_PER_MS;
    if (age_ms < KEPT_MS)
        return (int)(KEPT_MS - age_ms);
    sampler_forget();
    return -1;
}

bool
sampler_has_data(void)
{
    return sampler.has_data;
}

WireSamplerFigures
sampler_figures(void)
{
    SamplerFigures *figures = &sampler.table.figures;
    return (WireSamplerFigures){
        .lost = atomic_load(&figures->lost),
        .lost_bytes = atomic_load(&figures->lost_bytes),
        .without_stack = atomic_load(&figures->no_stack),
        .doublings = (uint32_t)atomic_load(&figures->doublings),
        .lg = sampler.has_data ? sampler_epoch_lg((uint32_t)atomic_load(&sampler.table.epoch)) : sampler.lg,
    };
}

int
sampler_dump(const Allocator *allocator, SamplerWrite write, void *data)
{
    const SamplerRecording recording = {
        .is_empty = !sampler.has_data,
        .lg = sampler.has_data ? sampler_epoch_lg((uint32_t)atomic_load(&sampler.table.epoch)) : sampler.lg,
        .since_us = sampler.since_us,
        .began_ns = sampler.began_ns,
        .ended_ns = sampler_is_active() ? now_ns() : sampler.ended_ns,
    };
    if (sampler.has_data)
        sampler_table_settle(&sampler.table);
    if (sampler_is_active())
        sampler_slabs_look(&sampler.table, allocator);
    return sampler_dump_write(&sampler.table, &recording, write, data);
}
