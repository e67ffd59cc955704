/* SPDX-License-Identifier: Apache-2.0 */
/* jescope's sampler over a jemalloc that calls its hooks as told. All random numbers are of fixed seeds. */
#include "agent/sampler.h"

#include "agent/request.h"
#include "agent/sampler-math.h"
#include "agent/sampler-size.h"
#include "agent/sampler-table.h"

#include "fake-allocator.h"

#include <errno.h>
#include <fenv.h>
#include <glib.h>
#include <malloc.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- arithmetic ---- */

static void
test_logarithms_and_exponentials(void)
{
    for (double x = 1e-12; x <= 1; x *= 1.07)
        g_assert_cmpfloat_with_epsilon(sampler_minus_log(x), -log(x), 1e-11 * (1 - log(x)));
    for (double x = 1e-9; x < 60; x *= 1.11)
        g_assert_cmpfloat_with_epsilon(sampler_one_minus_exp(x), -expm1(-x), 1e-13 - 1e-12 * expm1(-x));
    g_assert_cmpfloat(sampler_one_minus_exp(0), ==, 0);
}

static void
test_intervals_are_geometric(void)
{
    enum { DRAWN = 200000, LG = 10, SIZE = 700 };
    SamplerRandom random = {.seed = 7};
    double sum = 0;
    guint reached = 0;
    for (guint i = 0; i < DRAWN; i++) {
        const gint64 interval = sampler_interval(LG, sampler_uniform(&random));
        g_assert_cmpint(interval, >=, 1);
        sum += (double)interval;
        reached += interval <= SIZE;
    }
    const double p = sampler_probability(SIZE, LG);
    /* Four standard errors. */
    g_assert_cmpfloat_with_epsilon(sum / DRAWN, (1 << LG) + 0.5, 4 * (1 << LG) / sqrt(DRAWN));
    g_assert_cmpfloat_with_epsilon((double)reached / DRAWN, p, 4 * sqrt(p * (1 - p) / DRAWN));
    g_assert_cmpint(sampler_interval(0, 0.3), ==, 1);
}

static void
test_binomials(void)
{
    enum { DRAWN = 20000 };
    static const guint64 counts[] = {1, 50, 5000};
    SamplerRandom random = {.seed = 8};
    for (gsize i = 0; i < G_N_ELEMENTS(counts); i++) {
        double sum = 0;
        double squares = 0;
        const double n = (double)counts[i];
        const double p = 0.53;
        for (guint j = 0; j < DRAWN; j++) {
            const double drawn = (double)sampler_binomial(&random, counts[i], p);
            g_assert_cmpfloat(drawn, <=, n);
            sum += drawn;
            squares += drawn * drawn;
        }
        const double mean = sum / DRAWN;
        g_assert_cmpfloat_with_epsilon(mean, n * p, 4 * sqrt(n * p * (1 - p) / DRAWN));
        g_assert_cmpfloat_with_epsilon(squares / DRAWN - mean * mean, n * p * (1 - p), 0.06 * n * p * (1 - p) + 0.1);
    }
}

/* ---- sizes ---- */

static void
test_size_classes(void)
{
    static const struct {
        gsize size, usable;
    } rows[] = {{0, 8},
                {1, 8},
                {8, 8},
                {9, 16},
                {17, 32},
                {128, 128},
                {129, 160},
                {1025, 1280},
                {4096, 4096},
                {4097, 5120},
                {14336, 14336},
                {14337, 16384},
                {16385, 20480},
                {1 << 20, 1 << 20},
                {(1 << 20) + 1, (1 << 20) + (1 << 18)}};
    static const struct {
        gsize size, usable;
    } rows_of_8[] = {{0, 8}, {9, 16}, {17, 24}, {33, 40}, {57, 64}, {65, 80}, {129, 160}, {14337, 16384}};
    const SamplerSizes sizes = {.lg_quantum = 4};
    const SamplerSizes sizes_of_8 = {.lg_quantum = 3};
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
        g_assert_cmpuint(sampler_size_class(&sizes, rows[i].size), ==, rows[i].usable);
    for (gsize i = 0; i < G_N_ELEMENTS(rows_of_8); i++)
        g_assert_cmpuint(sampler_size_class(&sizes_of_8, rows_of_8[i].size), ==, rows_of_8[i].usable);
}

static void
test_sizes_of_calls(void)
{
    const SamplerSizes sizes = {
        .page = 4096, .lg_quantum = 4, .small_max = 14336, .large_min = 16384, .aligned_page = true};
    const SamplerSizes earlier = {.page = 4096, .lg_quantum = 4, .small_max = 14336, .large_min = 16384};
    g_assert_cmpuint(sampler_size_of_call(&sizes, SAMPLER_MALLOC, (uintptr_t[3]){100}), ==, 112);
    g_assert_cmpuint(sampler_size_of_call(&sizes, SAMPLER_CALLOC, (uintptr_t[3]){10, 10}), ==, 112);
    g_assert_cmpuint(sampler_size_of_call(&sizes, SAMPLER_POSIX_MEMALIGN, (uintptr_t[3]){0, 64, 100}), ==, 128);
    g_assert_cmpuint(sampler_size_of_call(&sizes, SAMPLER_ALIGNED_ALLOC, (uintptr_t[3]){8192, 100}), ==, 16384);
    g_assert_cmpuint(sampler_size_of_call(&sizes, SAMPLER_MEMALIGN, (uintptr_t[3]){4096, 100}), ==, 4096);
    g_assert_cmpuint(sampler_size_of_call(&earlier, SAMPLER_MEMALIGN, (uintptr_t[3]){4096, 100}), ==, 16384);
    g_assert_cmpuint(sampler_size_of_call(&sizes, SAMPLER_VALLOC, (uintptr_t[3]){5000}), ==, 8192);
    g_assert_cmpuint(sampler_size_of_call(&sizes, SAMPLER_MALLOCX, (uintptr_t[3]){100, 6}), ==, 128);
    g_assert_cmpuint(sampler_size_of_call(&sizes, SAMPLER_MALLOCX, (uintptr_t[3]){100, 0x40}), ==, 112);
    g_assert_cmpuint(sampler_size_of_call(&sizes, SAMPLER_REALLOC, (uintptr_t[3]){1, 100}), ==, 112);
    g_assert_cmpuint(sampler_size_of_call(&sizes, SAMPLER_RALLOCX, (uintptr_t[3]){1, 100, 6}), ==, 128);
}

/* ---- the table ---- */

static guint64 clock_now;

static guint64
read_clock(void)
{
    return clock_now;
}

static SamplerTable *
new_table_with(unsigned lg, unsigned lg_memory)
{
    SamplerTable *table = g_new0(SamplerTable, 1);
    void *block = mmap(NULL, (gsize)1 << lg_memory, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    g_assert_true(block != MAP_FAILED);
    table->memory = g_new0(SamplerMemory, 1);
    sampler_memory_lay_out(table->memory, block, lg_memory);
    table->random.seed = 11;
    sampler_table_begin(table, lg);
    return table;
}

static SamplerTable *
new_table(unsigned lg)
{
    return new_table_with(lg, SAMPLER_LG_MEMORY_DEFAULT);
}

static void
free_table(SamplerTable *table)
{
    SamplerMemory *memory = table->memory;
    munmap(memory->fixed, (gsize)1 << memory->lg);
    g_free(memory);
    g_free(table);
}

static void
add(SamplerTable *table, uintptr_t address, guint64 size, uintptr_t frame)
{
    const uintptr_t frames[] = {frame, 0x4000};
    const SamplerBirth birth = {.address = address,
                                .size = size,
                                .now = clock_now,
                                .epoch = (guint32)table->epoch,
                                .thread = 4711,
                                .frames = frames,
                                .n = 2};
    sampler_table_add(table, &birth);
}

typedef struct {
    double objects, bytes, all_objects;
    guint stacks;
} Estimate;

static Estimate
estimate(SamplerTable *table)
{
    Estimate sum = {0};
    SamplerStack stack;
    sampler_table_settle(table);
    const unsigned lg = sampler_epoch_lg((guint32)table->epoch);
    for (guint32 i = 1; i <= sampler_table_stacks(table); i++) {
        if (!sampler_table_stack(table, i, &stack))
            continue;
        const double p = sampler_probability(stack.size, lg);
        sum.objects += (double)stack.live / p;
        sum.bytes += (double)(stack.live * stack.size) / p;
        sum.all_objects += (double)(stack.live + stack.dead) / p;
        sum.stacks++;
    }
    return sum;
}

static void
test_lives_and_deaths(void)
{
    SamplerTable *table = new_table(0);
    SamplerStack stack;
    SamplerLive live;
    guint found = 0;
    clock_now = 1000000;
    add(table, 0x10000, 64, 0x1000);
    add(table, 0x20000, 64, 0x1000);
    add(table, 0x30000, 96, 0x1000);
    clock_now = 4000000;
    g_assert_true(sampler_table_may_have(table->memory, 0x10000));
    g_assert_false(sampler_table_may_have(table->memory, 0x10010));
    g_assert_true(sampler_table_remove(table, 0x10000, read_clock));
    g_assert_false(sampler_table_remove(table, 0x10000, read_clock));
    g_assert_cmpuint(sampler_table_stacks(table), ==, 2);
    g_assert_true(sampler_table_stack(table, 1, &stack));
    g_assert_cmpuint(stack.live, ==, 1);
    g_assert_cmpuint(stack.dead, ==, 1);
    g_assert_cmpuint(stack.lifetimes, ==, 3000);
    g_assert_cmpfloat(stack.squares, ==, 9e6);
    g_assert_cmpuint(stack.n_frames, ==, 2);
    g_assert_cmpuint(stack.frames[0], ==, 0x1000);
    for (guint32 i = 0; i < sampler_memory_places(table->memory); i++)
        if (sampler_table_live(table, i, &live)) {
            found++;
            g_assert_cmpuint(live.thread, ==, 4711);
            g_assert_cmpuint(live.born, ==, 1000000);
        }
    g_assert_cmpuint(found, ==, 2);
    /* A new recording knows nothing of an earlier one, whose memory was given back or not. */
    sampler_table_begin(table, 0);
    g_assert_false(sampler_table_remove(table, 0x20000, read_clock));
    add(table, 0x30000, 96, 0x1000);
    g_assert_cmpuint(table->figures.lost_frees, ==, 0);
    /* The address is allocated again: its free was not seen. */
    add(table, 0x30000, 128, 0x1000);
    g_assert_cmpuint(table->figures.lost_frees, ==, 1);
    free_table(table);
}

static void
test_sizes_in_place(void)
{
    enum { BLOCKS = 4000, LG = 12, SMALL = 4096, LARGE = 16384 };
    SamplerTable *table = new_table(LG);
    const double p = sampler_probability(LARGE, LG);
    const double p_small = sampler_probability(SMALL, LG);
    guint kept = 0;
    for (guint i = 0; i < BLOCKS; i++)
        add(table, 0x100000 + i * 0x10000, LARGE, 0x1000);
    for (guint i = 0; i < BLOCKS; i++)
        g_assert_true(sampler_table_resize(table, 0x100000 + i * 0x10000, SMALL));
    for (guint i = 0; i < BLOCKS; i++)
        kept += sampler_table_may_have(table->memory, 0x100000 + i * 0x10000);
    const double share = p_small / p;
    g_assert_cmpfloat_with_epsilon(kept, BLOCKS * share, 4 * sqrt(BLOCKS * share * (1 - share)));
    g_assert_cmpfloat_with_epsilon(estimate(table).objects, kept / p_small, 1e-6);
    g_assert_false(sampler_table_resize(table, 0x1, SMALL));
    free_table(table);
}

/* Twice as many as fit, of three sizes, of which every third dies: the period doubles, and the estimates stay right. */
static unsigned
fill_table(unsigned lg_memory)
{
    enum { SAMPLES = 120000, LG = 6 };
    static const guint64 sizes[] = {16, 64, 512};
    SamplerTable *table = new_table_with(LG, lg_memory);
    double objects = 0;
    double bytes = 0;
    double dead = 0;
    double variance = 0;
    clock_now = 1;
    for (guint i = 0; i < SAMPLES; i++) {
        const guint64 size = sizes[i % 3];
        const double p = sampler_probability(size, LG);
        const uintptr_t address = 0x100000 + (uintptr_t)i * 0x200;
        /* What is added was sampled at the first period, and stands for so many. */
        const SamplerBirth birth = {.address = address,
                                    .size = size,
                                    .now = clock_now,
                                    .epoch = ((guint32)table->epoch & ~0xffu) | LG,
                                    .frames = (uintptr_t[]){0x1000 + i % 7},
                                    .n = 1};
        sampler_table_add(table, &birth);
        variance += 8 / (p * p);
        if (i % 9 == 4) {
            sampler_table_remove(table, address, read_clock);
            dead += 1 / p;
        } else {
            objects += 1 / p;
            bytes += (double)size / p;
        }
    }
    const Estimate found = estimate(table);
    const unsigned doublings = (unsigned)table->figures.doublings;
    const double thinned = (double)(UINT64_C(1) << doublings);
    g_assert_cmpuint(table->figures.lost, ==, 0);
    g_assert_cmpuint(sampler_epoch_lg((guint32)table->epoch), ==, LG + table->figures.doublings);
    g_assert_cmpfloat_with_epsilon(found.objects, objects, 4 * sqrt(variance * thinned / 2));
    g_assert_cmpfloat_with_epsilon(found.bytes, bytes, bytes * 0.03 * sqrt(thinned / 2));
    g_assert_cmpfloat_with_epsilon(found.all_objects, objects + dead, 4 * sqrt(variance * thinned / 2));
    g_assert_cmpuint(found.stacks, ==, 21);
    free_table(table);
    return doublings;
}

/* The more memory, the fewer times; in a large one they all have room. */
static void
test_a_full_table_thins_itself(void)
{
    const unsigned usual = fill_table(SAMPLER_LG_MEMORY_DEFAULT);
    g_assert_cmpuint(usual, >=, 1);
    g_assert_cmpuint(fill_table(SAMPLER_LG_MEMORY_MIN), >=, usual + 3);
    g_assert_cmpuint(fill_table(SAMPLER_LG_MEMORY_DEFAULT + 3), ==, 0);
}

/* The samples that the groups of addresses count. */
static guint
count_groups(const SamplerTable *table)
{
    guint n = 0;
    for (gsize i = 0; i < G_N_ELEMENTS(table->memory->fixed->groups); i++)
        n += atomic_load(&table->memory->fixed->groups[i]);
    return n;
}

/* Whatever becomes of a sample, its group counts it as long as it is there: else its free would not be seen. */
static void
test_groups_count_samples(void)
{
    enum { SAMPLES = 100000, LG = 6, STEP = 0x200, BASE = 0x100000 };
    SamplerTable *table = new_table(LG);
    SamplerLive live;
    guint n = 0;
    for (guint i = 0; i < SAMPLES; i++)
        add(table, BASE + (uintptr_t)i * STEP, 512, 0x1000);
    g_assert_cmpuint(table->figures.doublings, >, 0);
    for (guint i = 0; i < SAMPLES / 4; i++)
        sampler_table_resize(table, BASE + (uintptr_t)i * STEP, 16);
    for (guint i = 0; i < SAMPLES / 8; i++) /* their frees were not seen */
        add(table, BASE + (uintptr_t)i * STEP, 512, 0x2000);
    sampler_table_settle(table);
    for (guint32 i = 0; i < sampler_memory_places(table->memory); i++)
        if (sampler_table_live(table, i, &live)) {
            n++;
            g_assert_true(sampler_table_may_have(table->memory, live.address));
        }
    g_assert_cmpuint(count_groups(table), ==, n);
    for (guint i = 0; i < SAMPLES; i++)
        sampler_table_remove(table, BASE + (uintptr_t)i * STEP, read_clock);
    g_assert_cmpuint(count_groups(table), ==, 0);
    free_table(table);
}

/* A counter that is at its end has lost count. */
static void
test_a_full_group_stays_full(void)
{
    SamplerTable *table = new_table(0);
    for (gsize i = 0; i < G_N_ELEMENTS(table->memory->fixed->groups); i++)
        atomic_store(&table->memory->fixed->groups[i], SAMPLER_MANY - 1);
    add(table, 0x10000, 64, 0x1000);
    add(table, 0x10000, 64, 0x1000);
    g_assert_true(sampler_table_remove(table, 0x10000, read_clock));
    g_assert_cmpuint(count_groups(table), ==, G_N_ELEMENTS(table->memory->fixed->groups) * (SAMPLER_MANY - 1) + 1);
    free_table(table);
}

static void
test_memory_is_laid_out(void)
{
    for (unsigned lg = SAMPLER_LG_MEMORY_MIN; lg <= SAMPLER_LG_MEMORY_MAX; lg++) {
        SamplerMemory memory;
        char *block = (char *)(guintptr)(UINT64_C(1) << 40); /* not looked at */
        sampler_memory_lay_out(&memory, block, lg);
        const char *end = (const char *)(memory.words + memory.max_words);
        g_assert_cmpint(end - block, <=, (gssize)1 << lg);
        g_assert_cmpint(end - block, >, ((gssize)1 << lg) - 8);
        /* Each stack of the usual depth, 25 frames, has room for at least half of the nodes' stacks. */
        g_assert_cmpuint(memory.max_words / 27, >, memory.max_nodes / 6);
        g_assert_cmpuint((guintptr)memory.buckets % 64, ==, 0);
        g_assert_cmpuint((guintptr)memory.words % 8, ==, 0);
    }
}

static void
test_no_room_for_stacks(void)
{
    enum { STACKS = 60000 };
    SamplerTable *table = new_table(20);
    for (guint i = 0; i < STACKS; i++) {
        add(table, 0x100000 + i * 0x1000, 64, 0x1000 + i);
        sampler_table_remove(table, 0x100000 + i * 0x1000, read_clock);
    }
    SamplerStack stack;
    guint64 counted = 0;
    for (guint32 i = 1; i <= sampler_table_stacks(table); i++)
        if (sampler_table_stack(table, i, &stack))
            counted += stack.dead + stack.live;
    g_assert_cmpuint(counted, ==, STACKS);
    g_assert_cmpuint(table->figures.no_stack, >, 0);
    g_assert_cmpuint(table->figures.lost, ==, 0);
    free_table(table);
}

/* ---- hooks and requests ---- */

typedef struct {
    Guest guest;
    WireAnswer answer;
    int memfd;
    GString *dump;
} Fixture;

/* jemalloc's destructor of its per-thread data, which the agent looks for among all keys of the C library. */
static void
end_of_thread(void *value)
{
    (void)value;
}

static void
have_thread_data(void)
{
    static gboolean is_there;
    pthread_key_t key;
    if (!is_there) {
        is_there = TRUE;
        g_assert_cmpint(pthread_key_create(&key, end_of_thread), ==, 0);
        g_assert_cmpint(pthread_setspecific(key, &fake), ==, 0);
    }
}

static void
set_up(Fixture *fixture, gconstpointer unused)
{
    fake_reset(&fixture->guest);
    fake.config_prof = false;
    fake.has_hooks = true;
    fake_examine(&fixture->guest);
    fixture->memfd = -1;
}

static void
tear_down(Fixture *fixture, gconstpointer unused)
{
    profiling_leave(&fixture->guest.profiling, &fixture->guest.allocator);
    g_assert_cmpuint(fake.n_hooks, ==, 0);
    g_assert_false(fake.is_marked); /* this thread may end now */
}

static WireStatus
ask(Fixture *fixture, WireOp op, WireRequest *request, size_t size)
{
    const Descriptor none = DESCRIPTOR_NONE;
    request->header = (WireHeader){WIRE_MAGIC, WIRE_VERSION_MAX, op, 1, (guint32)size};
    request_answer(&fixture->guest, request, size, &none, &fixture->answer);
    return fixture->answer.reply.status;
}

static WireStatus
ask_ctl(Fixture *fixture, const char *name, WireType type, guint32 flags, guint64 value)
{
    WireRequest request = {.ctl = {.type = type, .flags = flags, .value = value}};
    g_strlcpy(request.ctl.name, name, sizeof(request.ctl.name));
    return ask(fixture, WIRE_OP_CTL, &request, sizeof(request.ctl));
}

static WireStatus
ask_lease(Fixture *fixture, guint32 flags, guint32 period)
{
    WireRequest request = {
        .lease = {.action = WIRE_LEASE_TAKE, .flags = flags, .duration_ms = 60000, .active = 1, .period = period}};
    return ask(fixture, WIRE_OP_LEASE, &request, sizeof(request.lease));
}

static WireStatus
release(Fixture *fixture)
{
    WireRequest request = {.lease = {.action = WIRE_LEASE_RELEASE, .lease_id = fixture->answer.lease.lease.id}};
    return ask(fixture, WIRE_OP_LEASE, &request, sizeof(request.lease));
}

static guint32
flags_of(Fixture *fixture)
{
    WireRequest request = {.hello = {.version_min = WIRE_VERSION_MIN, .version_max = WIRE_VERSION_MAX}};
    ask(fixture, WIRE_OP_HELLO, &request, sizeof(request.hello));
    return fixture->answer.hello.flags;
}

static int
collect(void *data, const char *bytes, size_t n)
{
    g_string_append_len(data, bytes, (gssize)n);
    return 0;
}

static char *
dump(const Fixture *fixture)
{
    GString *text = g_string_new(NULL);
    g_assert_cmpint(sampler_dump(&fixture->guest.allocator, collect, text), ==, 0);
    return g_string_free(text, FALSE);
}

static guint64 allocated_from; /* the return address of the last call of allocate() */

__attribute__((noinline)) static void
allocate(uintptr_t address, gsize size)
{
    allocated_from = (guint64)(uintptr_t)__builtin_return_address(0);
    uintptr_t arguments[3] = {size};
    fake.hooks.alloc(NULL, SAMPLER_MALLOC, (void *)address, address, arguments);
    __asm__ volatile(""); /* no tail call: this function has a frame */
}

static void
release_block(uintptr_t address)
{
    uintptr_t arguments[3] = {address};
    fake.hooks.dalloc(NULL, 0, (void *)address, arguments);
}

/* A thread that ends would crash the program. The first test with hooks, since what is found stays. */
static void
test_refuses_where_ends_are_not_seen(Fixture *fixture, gconstpointer unused)
{
    g_assert_cmpint(ask_ctl(fixture, "prof.active", WIRE_TYPE_BOOL, WIRE_CTL_WRITE, 1), ==, WIRE_STATUS_CONTROL_FAILED);
    g_assert_cmpuint(fake.n_hooks, ==, 0);
    g_assert_cmpuint(flags_of(fixture) & WIRE_FLAG_SAMPLER_READY, ==, 0);
    g_assert_cmpuint(fixture->answer.hello.sampler_obstacle, ==, WIRE_SAMPLER_NO_ENDS);
}

static void
test_serves_where_jemalloc_cannot(Fixture *fixture, gconstpointer unused)
{
    have_thread_data();
    const guint32 serves = WIRE_FLAG_SAMPLER_READY | WIRE_FLAG_SAMPLER_SERVES;
    g_assert_cmpuint(flags_of(fixture) & serves, ==, serves);
    g_assert_cmpint(ask_ctl(fixture, "prof.active", WIRE_TYPE_BOOL, WIRE_CTL_READ | WIRE_CTL_WRITE, 1), ==,
                    WIRE_STATUS_OK);
    g_assert_cmpuint(fixture->answer.ctl.value, ==, 0);
    g_assert_cmpuint(fake.n_hooks, ==, 1);
    g_assert_true((flags_of(fixture) & WIRE_FLAG_PROF_ACTIVE) != 0);
    g_assert_cmpint(ask_ctl(fixture, "prof.lg_sample", WIRE_TYPE_SIZE, WIRE_CTL_READ, 0), ==, WIRE_STATUS_OK);
    g_assert_cmpuint(fixture->answer.ctl.value, ==, SAMPLER_LG_DEFAULT);
    g_assert_cmpint(ask_ctl(fixture, "prof.gdump", WIRE_TYPE_BOOL, WIRE_CTL_WRITE, 1), ==, WIRE_STATUS_CONTROL_FAILED);
    g_assert_cmpint(ask_ctl(fixture, "prof.reset", WIRE_TYPE_SIZE, WIRE_CTL_WRITE, 70), ==, WIRE_STATUS_CONTROL_FAILED);
    g_assert_cmpint(ask_ctl(fixture, "prof.active", WIRE_TYPE_BOOL, WIRE_CTL_WRITE, 0), ==, WIRE_STATUS_OK);
    g_assert_cmpuint(fake.n_hooks, ==, 0);
    /* Nothing of it reached the profiler that is not there. */
    g_assert_cmpuint(fake.prof_calls, ==, 0);
}

static void
test_leases(Fixture *fixture, gconstpointer unused)
{
    g_assert_cmpint(ask_lease(fixture, 0, 1 + 12), ==, WIRE_STATUS_OK);
    g_assert_cmpuint(fake.n_hooks, ==, 1);
    g_assert_cmpuint(sampler_lg(), ==, 12);
    g_assert_cmpint(release(fixture), ==, WIRE_STATUS_OK);
    g_assert_cmpuint(fake.n_hooks, ==, 0);
    g_assert_cmpuint(sampler_lg(), ==, SAMPLER_LG_DEFAULT);
    fake.hooks_taken = true;
    g_assert_cmpint(ask_lease(fixture, 0, 0), ==, WIRE_STATUS_CONTROL_FAILED);
    g_assert_cmpint(fixture->answer.reply.error, ==, EAGAIN);
    g_assert_false(sampler_is_active());
}

static void
test_beside_the_profiler(Fixture *fixture, gconstpointer unused)
{
    fake.config_prof = true;
    fake.prof_active = true;
    fake_examine(&fixture->guest);
    g_assert_cmpuint(flags_of(fixture) & WIRE_FLAG_SAMPLER_SERVES, ==, 0);
    g_assert_cmpint(ask_lease(fixture, WIRE_LEASE_JESCOPE, 0), ==, WIRE_STATUS_OK);
    g_assert_true((flags_of(fixture) & WIRE_FLAG_SAMPLER_SERVES) != 0);
    g_assert_cmpuint(fake.n_hooks, ==, 1);
    g_assert_cmpint(ask_lease(fixture, 0, 0), ==, WIRE_STATUS_BUSY);
    WireRequest request = {.lease = {.action = WIRE_LEASE_RELEASE, .lease_id = fixture->answer.lease.lease.id}};
    g_assert_cmpint(ask(fixture, WIRE_OP_LEASE, &request, sizeof(request.lease)), ==, WIRE_STATUS_OK);
    /* As it was. */
    g_assert_cmpuint(flags_of(fixture) & WIRE_FLAG_SAMPLER_SERVES, ==, 0);
    g_assert_true(fake.prof_active);
    g_assert_cmpuint(fake.n_hooks, ==, 0);
    g_assert_cmpint(ask_ctl(fixture, WIRE_SAMPLER_CONTROL, WIRE_TYPE_UNSIGNED, WIRE_CTL_WRITE, WIRE_SAMPLER_JESCOPE),
                    ==, WIRE_STATUS_OK);
    g_assert_cmpint(ask_ctl(fixture, "prof.active", WIRE_TYPE_BOOL, WIRE_CTL_WRITE, 1), ==, WIRE_STATUS_OK);
    g_assert_cmpuint(fake.n_hooks, ==, 1);
    g_assert_cmpint(ask_ctl(fixture, "prof.active", WIRE_TYPE_BOOL, WIRE_CTL_WRITE, 0), ==, WIRE_STATUS_OK);
    g_assert_cmpuint(flags_of(fixture) & WIRE_FLAG_SAMPLER_SERVES, ==, 0);
    g_assert_true(fake.prof_active);
}

static void
test_what_cannot_be(Fixture *fixture, gconstpointer unused)
{
    fake.odd_sizes = true;
    fake_examine(&fixture->guest);
    /* The classes were learned of this jemalloc, which does not change: another one is a new process. */
    fake.has_hooks = false;
    fake_examine(&fixture->guest);
    g_assert_cmpuint(flags_of(fixture) & (WIRE_FLAG_SAMPLER_READY | WIRE_FLAG_SAMPLER_SERVES), ==, 0);
    g_assert_cmpuint(fixture->answer.hello.sampler_obstacle, ==, WIRE_SAMPLER_NO_HOOKS);
    g_assert_cmpint(ask_lease(fixture, 0, 0), ==, WIRE_STATUS_PROF_DISABLED);
    g_assert_cmpint(ask_lease(fixture, WIRE_LEASE_JESCOPE, 0), ==, WIRE_STATUS_PROF_DISABLED);
    g_assert_cmpint(ask_ctl(fixture, WIRE_SAMPLER_CONTROL, WIRE_TYPE_UNSIGNED, WIRE_CTL_WRITE, WIRE_SAMPLER_JESCOPE),
                    ==, WIRE_STATUS_PROF_DISABLED);
    g_assert_cmpint(ask_ctl(fixture, WIRE_SAMPLER_CONTROL, WIRE_TYPE_UNSIGNED, WIRE_CTL_WRITE, 3), ==,
                    WIRE_STATUS_NOT_ALLOWED);
}

/* Another size holds for one time, and cannot be had while the sampler is on. */
static void
test_memory(Fixture *fixture, gconstpointer unused)
{
    const char *name = WIRE_SAMPLER_MEMORY_CONTROL;
    const guint32 both = WIRE_CTL_READ | WIRE_CTL_WRITE;
    static const guint64 bad[] = {0, 1, 8u << 20 | 1, 1u << 19, UINT64_C(1) << 31, UINT64_MAX};
    for (gsize i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_assert_cmpint(ask_ctl(fixture, name, WIRE_TYPE_SIZE, WIRE_CTL_WRITE, bad[i]), ==, WIRE_STATUS_CONTROL_FAILED);
        g_assert_cmpint(fixture->answer.reply.error, ==, EINVAL);
    }
    g_assert_cmpint(ask_ctl(fixture, name, WIRE_TYPE_U64, WIRE_CTL_READ, 0), ==, WIRE_STATUS_NOT_ALLOWED);
    g_assert_cmpint(ask_ctl(fixture, name, WIRE_TYPE_SIZE, both, 1 << 20), ==, WIRE_STATUS_OK);
    g_assert_cmpuint(fixture->answer.ctl.value, ==, WIRE_SAMPLER_MEMORY_DEFAULT);
    for (guint64 expected = 1 << 20; expected != 0; expected = expected == 1 << 20 ? 8 << 20 : 0) {
        g_assert_cmpint(ask_lease(fixture, 0, 1), ==, WIRE_STATUS_OK);
        const guint64 lease = fixture->answer.lease.lease.id;
        allocate(0x10000, 100);
        g_assert_cmpint(ask_ctl(fixture, name, WIRE_TYPE_SIZE, WIRE_CTL_READ, 0), ==, WIRE_STATUS_OK);
        g_assert_cmpuint(fixture->answer.ctl.value, ==, expected);
        g_assert_cmpint(ask_ctl(fixture, name, WIRE_TYPE_SIZE, WIRE_CTL_WRITE, 1 << 21), ==,
                        WIRE_STATUS_CONTROL_FAILED);
        g_assert_cmpint(fixture->answer.reply.error, ==, EBUSY);
        g_autofree char *text = dump(fixture);
        g_assert_nonnull(strstr(text, "\n#live 10000 112 "));
        fixture->answer.lease.lease.id = lease;
        g_assert_cmpint(release(fixture), ==, WIRE_STATUS_OK);
    }
}

static void
test_odd_size_classes(Fixture *fixture, gconstpointer unused)
{
    SamplerSizes sizes;
    g_assert_true(sampler_sizes_learn(&sizes, &fixture->guest.allocator));
    g_assert_cmpuint(sizes.small_max, ==, 14336);
    g_assert_cmpuint(sizes.large_min, ==, 16384);
    fake.odd_sizes = true;
    g_assert_false(sampler_sizes_learn(&sizes, &fixture->guest.allocator));
    /* Those of the jemalloc in Redis. */
    fake.odd_sizes = false;
    fake.quantum = 8;
    g_assert_true(sampler_sizes_learn(&sizes, &fixture->guest.allocator));
    g_assert_cmpuint(sizes.lg_quantum, ==, 3);
    g_assert_cmpuint(sizes.large_min, ==, 16384);
    fake.odd_sizes = true;
    g_assert_false(sampler_sizes_learn(&sizes, &fixture->guest.allocator));
    fake.quantum = 32;
    g_assert_false(sampler_sizes_learn(&sizes, &fixture->guest.allocator));
}

/* What is known stays for a while when it is over, and no longer than the agent. */
static void
test_dumps(Fixture *fixture, gconstpointer unused)
{
    g_assert_cmpint(ask_lease(fixture, 0, 1), ==, WIRE_STATUS_OK); /* period 1 */
    allocate(0x10000, 100);
    allocate(0x20000, 100);
    allocate(0x30000, 0);
    fake.hooks.alloc(NULL, SAMPLER_MALLOC, NULL, 0, (uintptr_t[3]){100});
    release_block(0x20000);
    release_block(0x50000);
    g_autofree char *text = dump(fixture);
    g_assert_true(g_str_has_prefix(text, "heap_v2/1\n#sampler jescope 1 since="));
    g_assert_nonnull(strstr(text, " dropped=0 dropped_bytes=0 thinned=0\n  t*: 2: 120 [3: 232]\n@"));
    g_assert_nonnull(strstr(text, "\n#live 10000 112 "));
    g_assert_nonnull(strstr(text, "\n#died 112 1 "));
    g_assert_nonnull(strstr(text, "\nMAPPED_LIBRARIES:\n"));
    uintptr_t arguments[4] = {0x10000, 400, 0, 0};
    fake.hooks.expand(NULL, 0, (void *)0x10000, 112, 448, 0x10000, arguments);
    g_assert_cmpint(release(fixture), ==, WIRE_STATUS_OK);
    release_block(0x10000); /* a hook that still runs */
    allocate(0x60000, 100);
    g_autofree char *later = dump(fixture);
    g_assert_nonnull(strstr(later, "\n  t*: 2: 456 [3: 568]\n@"));
    g_assert_cmpint(sampler_tick(), >, 0);
    profiling_leave(&fixture->guest.profiling, &fixture->guest.allocator);
    g_autofree char *empty = dump(fixture);
    g_assert_true(
        g_str_has_prefix(empty, "heap_v2/524288\n#sampler jescope 1\n  t*: 0: 0 [0: 0]\n\nMAPPED_LIBRARIES:\n"));
}

/* The slab of each live sample, also of a recording that has ended: then as it was at its end. */
static void
test_slabs(Fixture *fixture, gconstpointer unused)
{
    g_assert_cmpint(ask_lease(fixture, 0, 1), ==, WIRE_STATUS_OK);
    allocate(0x13000, 100);
    allocate(0x20000, 100000);
    fake.slab_unused = 3;
    g_autofree char *text = dump(fixture);
    g_assert_true(g_regex_match_simple("\n#live 13000 112 \\d+ \\d+ 3 256\n", text, 0, 0));
    g_assert_true(g_regex_match_simple("\n#live 20000 114688 \\d+ \\d+\n", text, 0, 0));
    fake.slab_unused = 5;
    g_assert_cmpint(release(fixture), ==, WIRE_STATUS_OK);
    fake.slab_unused = 7;
    fake.slab_questions = 0;
    g_autofree char *later = dump(fixture);
    g_assert_true(g_regex_match_simple("\n#live 13000 112 \\d+ \\d+ 5 256\n", later, 0, 0));
    g_assert_cmpuint(fake.slab_questions, ==, 0); /* the object may have been freed */
}

/* An address is asked only while it is a live sample's. */
static void
test_slabs_of_the_living(Fixture *fixture, gconstpointer unused)
{
    g_assert_cmpint(ask_lease(fixture, 0, 1), ==, WIRE_STATUS_OK);
    allocate(0x13000, 100);
    allocate(0x14000, 100);
    release_block(0x13000);
    g_autofree char *text = dump(fixture);
    g_assert_cmpuint(fake.slab_questions, ==, 1);
    g_assert_null(strstr(text, "#live 13000"));
}

static void
test_reset_discards(Fixture *fixture, gconstpointer unused)
{
    g_assert_cmpint(ask_lease(fixture, 0, 1), ==, WIRE_STATUS_OK);
    allocate(0x10000, 100);
    g_assert_cmpint(ask_ctl(fixture, "prof.reset", WIRE_TYPE_SIZE, WIRE_CTL_WRITE, 3), ==, WIRE_STATUS_OK);
    g_assert_true(sampler_is_active());
    release_block(0x10000);
    g_autofree char *text = dump(fixture);
    g_assert_true(g_str_has_prefix(text, "heap_v2/8\n"));
    g_assert_nonnull(strstr(text, "  t*: 0: 0 [0: 0]\n"));
}

/* In a hook nothing but its results changes: errno and the state of floating-point arithmetic stay, whose traps a
 * program may have enabled, and its own stack begins with jemalloc's frames. */
static void
test_a_hook_is_a_guest(Fixture *fixture, gconstpointer unused)
{
    g_assert_cmpint(ask_lease(fixture, 0, 1), ==, WIRE_STATUS_OK);
    feclearexcept(FE_ALL_EXCEPT);
    feenableexcept(FE_ALL_EXCEPT);
    const struct mallinfo2 before = mallinfo2();
    for (guint i = 0; i < 1000; i++) {
        errno = ERANGE;
        allocate(0x10000 + (i << 12), 100);
        g_assert_cmpint(errno, ==, ERANGE);
    }
    for (guint i = 0; i < 1000; i++) {
        errno = EDOM;
        release_block(0x10000 + (i << 12));
        g_assert_cmpint(errno, ==, EDOM);
    }
    g_assert_cmpint(fetestexcept(FE_ALL_EXCEPT), ==, 0);
    fedisableexcept(FE_ALL_EXCEPT);
    const struct mallinfo2 after = mallinfo2();
    g_assert_cmpuint(after.uordblks, ==, before.uordblks);
    g_autofree char *text = dump(fixture);
    const char *stack = strstr(text, "\n@ 0x");
    g_assert_nonnull(stack);
    const char *second = strstr(stack + 5, " 0x");
    g_assert_nonnull(second);
    g_assert_cmphex(g_ascii_strtoull(second, NULL, 16), ==, allocated_from);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/agent/sampler/logarithms", test_logarithms_and_exponentials);
    g_test_add_func("/agent/sampler/intervals", test_intervals_are_geometric);
    g_test_add_func("/agent/sampler/binomials", test_binomials);
    g_test_add_func("/agent/sampler/size-classes", test_size_classes);
    g_test_add_func("/agent/sampler/sizes-of-calls", test_sizes_of_calls);
    g_test_add_func("/agent/sampler/lives-and-deaths", test_lives_and_deaths);
    g_test_add_func("/agent/sampler/sizes-in-place", test_sizes_in_place);
    g_test_add_func("/agent/sampler/a-full-table-thins-itself", test_a_full_table_thins_itself);
    g_test_add_func("/agent/sampler/groups-count-samples", test_groups_count_samples);
    g_test_add_func("/agent/sampler/a-full-group-stays-full", test_a_full_group_stays_full);
    g_test_add_func("/agent/sampler/memory-is-laid-out", test_memory_is_laid_out);
    g_test_add_func("/agent/sampler/no-room-for-stacks", test_no_room_for_stacks);
#define ADD(name, function) g_test_add("/agent/sampler/" name, Fixture, NULL, set_up, function, tear_down)
    ADD("ends-that-are-not-seen", test_refuses_where_ends_are_not_seen);
    /* AddressSanitizer replaces what the C library's table of keys is found by: the sampler is always refused there. */
#ifdef __SANITIZE_ADDRESS__
    const gboolean serves = FALSE;
#else
    const gboolean serves = TRUE;
#endif
    if (!serves)
        return g_test_run();
    ADD("serves-where-jemalloc-cannot", test_serves_where_jemalloc_cannot);
    ADD("leases", test_leases);
    ADD("beside-the-profiler", test_beside_the_profiler);
    ADD("what-cannot-be", test_what_cannot_be);
    ADD("memory", test_memory);
    ADD("odd-size-classes", test_odd_size_classes);
    ADD("dumps", test_dumps);
    ADD("reset-discards", test_reset_discards);
    ADD("slabs", test_slabs);
    ADD("slabs-of-the-living", test_slabs_of_the_living);
    ADD("a-hook-is-a-guest", test_a_hook_is_a_guest);
    return g_test_run();
}
