/* SPDX-License-Identifier: Apache-2.0 */
#include "days.h"

#include <math.h>
#include <string.h>

const char *const days_names[DAYS_PROGRAMS] = {
    "cache that fills", "cache at its limit", "warm-up", "sawtooth", "diurnal", "swings by 30 %", "drift", "batch",
    "tenants",          "connections",
};

/* ---- objects and samples ---- */

enum { CLASSES = 44, PERIOD = 1 << 19, LARGEST_SMALL = 14336, SMALLEST_LG = 6 };

typedef enum { SITE_CONFIG, SITE_REQUEST, SITE_WORK, SITE_LEAK, SITES } Site;

static const char *const functions[SITES][3] = {
    [SITE_CONFIG] = {"load_config", "start", "main"},
    [SITE_REQUEST] = {"parse_request", "serve", "main"},
    [SITE_WORK] = {"work_item", "serve", "main"},
    [SITE_LEAK] = {"session_store", "serve", "main"},
};

/* Objects of one size that are allocated together and freed together. */
typedef struct {
    gdouble death; /* minute */
    guint32 count, sampled;
    guint16 site, class;
} Block;

typedef struct {
    guint64 objects, bytes, all_objects, all_bytes;
} Sampled;

/* The blocks that a program keeps; freed in the order of their age, or in any order. */
typedef struct {
    GArray *blocks; /* Block */
    guint oldest;
    gdouble held;
} Pool;

typedef struct {
    const DaysChoice *choice;
    GRand *random;
    gdouble now;    /* minutes */
    GArray *deaths; /* Block; a binary heap, the next to die first */
    Sampled sampled[SITES];
    guint64 live[CLASSES], made[CLASSES];
    Pool pool;
    gdouble size, rate, period, width, level, load; /* random parameters of the program */
    guint least_class, most_class;
} World;

static gdouble
between(World *world, gdouble low, gdouble high)
{
    return g_rand_double_range(world->random, low, high);
}

static gdouble
log_between(World *world, gdouble low, gdouble high)
{
    return low * pow(high / low, g_rand_double(world->random));
}

static gdouble
normal(World *world)
{
    gdouble sum = -6;
    for (guint i = 0; i < 12; i++)
        sum += g_rand_double(world->random);
    return sum;
}

static guint
poisson(World *world, gdouble mean)
{
    gdouble limit = exp(-mean), product = 1;
    guint n = 0;

    if (mean > 50)
        return (guint)MAX(0, mean + sqrt(mean) * normal(world) + 0.5);
    while ((product *= g_rand_double(world->random)) > limit)
        n++;
    return n;
}

/* Four classes per doubling. */
static guint
class_size(guint class)
{
    return (1u << (SMALLEST_LG + class / 4)) * (4 + class % 4) / 4;
}

static guint
class_of_lg(guint lg)
{
    return (lg - SMALLEST_LG) * 4;
}

static Block
born(World *world, Site site, guint class, guint count)
{
    gdouble p = -expm1(-(gdouble)class_size(class) / PERIOD);
    Block block = {.count = count, .site = (guint16)site, .class = (guint16) class};

    if (count == 1)
        block.sampled = g_rand_double(world->random) < p;
    else
        block.sampled = MIN(count, poisson(world, p * count));
    Sampled *sampled = &world->sampled[site];
    sampled->objects += block.sampled;
    sampled->all_objects += block.sampled;
    sampled->bytes += (guint64)block.sampled * class_size(class);
    sampled->all_bytes += (guint64)block.sampled * class_size(class);
    world->live[class] += count;
    world->made[class] += count;
    return block;
}

static void
dies(World *world, const Block *block)
{
    world->sampled[block->site].objects -= block->sampled;
    world->sampled[block->site].bytes -= (guint64)block->sampled * class_size(block->class);
    world->live[block->class] -= block->count;
}

static gdouble
bytes_of(const Block *block)
{
    return (gdouble)block->count * class_size(block->class);
}

static Block *
dying(World *world, guint i)
{
    return &g_array_index(world->deaths, Block, i);
}

static void
swap(Block *a, Block *b)
{
    Block kept = *a;
    *a = *b;
    *b = kept;
}

static void
dies_later(World *world, Block block, gdouble minutes)
{
    block.death = world->now + minutes;
    g_array_append_val(world->deaths, block);
    for (guint i = world->deaths->len - 1; i > 0 && dying(world, i)->death < dying(world, (i - 1) / 2)->death;
         i = (i - 1) / 2)
        swap(dying(world, i), dying(world, (i - 1) / 2));
}

static void
let_die(World *world)
{
    while (world->deaths->len > 0 && dying(world, 0)->death <= world->now) {
        dies(world, dying(world, 0));
        g_array_remove_index_fast(world->deaths, 0);
        for (guint i = 0;;) {
            guint least = i;
            for (guint j = 2 * i + 1; j <= 2 * i + 2 && j < world->deaths->len; j++)
                least = dying(world, j)->death < dying(world, least)->death ? j : least;
            if (least == i)
                break;
            swap(dying(world, i), dying(world, least));
            i = least;
        }
    }
}

/* Objects of a random size class of the program, at least 4 KiB together. */
static Block
work(World *world)
{
    enum { TOGETHER = 4096 };
    guint class = (guint)g_rand_int_range(world->random, (gint32)world->least_class, (gint32)world->most_class + 1);

    return born(world, SITE_WORK, class, MAX(1, TOGETHER / class_size(class)));
}

static void
pool_add(World *world)
{
    Block block = work(world);
    g_array_append_val(world->pool.blocks, block);
    world->pool.held += bytes_of(&block);
}

static void
pool_take(World *world, gboolean oldest)
{
    Pool *pool = &world->pool;
    guint left = pool->blocks->len - pool->oldest;
    guint i = oldest ? pool->oldest : pool->oldest + (guint)g_rand_int_range(world->random, 0, (gint32)left);
    Block block = g_array_index(pool->blocks, Block, i);

    dies(world, &block);
    pool->held -= bytes_of(&block);
    g_array_index(pool->blocks, Block, i) = g_array_index(pool->blocks, Block, pool->oldest++);
    if (pool->oldest > left) {
        g_array_remove_range(pool->blocks, 0, pool->oldest);
        pool->oldest = 0;
    }
}

static gboolean
pool_is_empty(const World *world)
{
    return world->pool.oldest >= world->pool.blocks->len;
}

static void
pool_reach(World *world, gdouble bytes)
{
    while (world->pool.held < bytes)
        pool_add(world);
    while (world->pool.held > bytes && !pool_is_empty(world))
        pool_take(world, FALSE);
}

/* ---- programs ---- */

static void
start_filling(World *world)
{
    world->level = world->size;
    world->period = log_between(world, 10, 150);
}

static void
filling(World *world, guint minute)
{
    gdouble missing = world->level - world->pool.held;
    gdouble bytes = missing > 0 ? missing / world->period : 0, before = world->pool.held;
    bytes *= between(world, 0.7, 1.3);
    while (world->pool.held - before < bytes)
        pool_add(world);
}

static void
start_cache(World *world)
{
    world->rate = world->size / log_between(world, 120, 1200);
    world->width = g_rand_boolean(world->random);
    pool_reach(world, world->size);
}

static void
cache(World *world, guint minute)
{
    for (gdouble put = 0, bytes = world->rate * between(world, 0.5, 1.5); put < bytes;) {
        gdouble before = world->pool.held;
        pool_add(world);
        put += world->pool.held - before;
        while (world->pool.held > world->size)
            pool_take(world, world->width > 0);
    }
}

static void
start_warm_up(World *world)
{
    world->period = log_between(world, 3, 40);
}

static void
warm_up(World *world, guint minute)
{
    if (minute < world->period)
        pool_reach(world, world->size * MIN(1, (minute + 1) / world->period));
}

static void
start_sawtooth(World *world)
{
    world->size /= 3;
    world->period = log_between(world, 15, 90);
    world->level = between(world, 0, world->period);
}

static void
sawtooth(World *world, guint minute)
{
    pool_reach(world, world->size * fmod(minute + world->level, world->period) / world->period);
}

static void
start_diurnal(World *world)
{
    world->period = log_between(world, 3, 40);
    world->level = between(world, 0, DAY);
}

/* Each work item belongs to a session. */
static void
come(World *world, gdouble bytes_a_minute, gdouble stay)
{
    gdouble come = 0;
    bytes_a_minute *= between(world, 0.8, 1.2);
    while (come < bytes_a_minute) {
        Block block = work(world);
        come += bytes_of(&block);
        dies_later(world, block, -log(1 - g_rand_double(world->random)) * stay);
    }
}

static void
diurnal(World *world, guint minute)
{
    gdouble load = 0.1 + 0.45 * (1 - cos(2 * G_PI * (minute + world->level) / DAY));
    come(world, world->size / 2 / world->period * load, world->period);
}

static void
start_noise(World *world)
{
    world->size = MIN(world->size, 120 * DAYS_MIB);
    world->period = g_rand_boolean(world->random) ? 1 : between(world, 2, 20);
}

static void
noise(World *world, guint minute)
{
    if (fmod(minute, world->period) < 1)
        pool_reach(world, world->size * between(world, 0.7, 1.3));
}

static void
start_drift(World *world)
{
    world->period = log_between(world, 10, 120);
    world->width = between(world, 1, 10) * DAYS_MIB;
    world->level = world->width * normal(world);
    pool_reach(world, world->size + world->level);
}

static void
drift(World *world, guint minute)
{
    gdouble memory = exp(-1 / world->period);
    world->level = memory * world->level + world->width * sqrt(1 - memory * memory) * normal(world);
    for (guint i = 0; i < 10 && !pool_is_empty(world); i++)
        pool_take(world, FALSE);
    pool_reach(world, world->size + world->level);
}

static void
start_batch(World *world)
{
    world->period = log_between(world, 30, 180);
    world->width = between(world, 5, 20);
    world->level = between(world, 0, world->period);
}

static void
batch(World *world, guint minute)
{
    pool_reach(world, fmod(minute + world->level, world->period) < world->width ? world->size / 2 : 0);
}

/* All objects of a tenant stay until it leaves. */
static void
add_tenant(World *world)
{
    gdouble bytes = world->width * between(world, 0.5, 1.5), stay = -log(1 - g_rand_double(world->random));

    for (gdouble held = 0; held < bytes;) {
        Block block = work(world);
        held += bytes_of(&block);
        dies_later(world, block, MAX(stay, 0.05) * world->period);
    }
}

static void
start_tenants(World *world)
{
    world->period = log_between(world, 120, 720);
    world->level = between(world, 4, 20);
    world->width = log_between(world, 2, 16) * DAYS_MIB;
    for (guint i = poisson(world, world->level); i > 0; i--)
        add_tenant(world);
}

static void
tenants(World *world, guint minute)
{
    for (guint i = poisson(world, world->level / world->period); i > 0; i--)
        add_tenant(world);
}

static void
start_connections(World *world)
{
    world->period = log_between(world, 10, 120);
    world->width = log_between(world, 30, 240);
    world->size /= 2;
    come(world, world->size, world->period);
}

static void
connections(World *world, guint minute)
{
    gdouble memory = exp(-1 / world->width);
    world->load = memory * world->load + 0.25 * sqrt(1 - memory * memory) * normal(world);
    come(world, world->size / world->period * exp(world->load), world->period);
}

static const struct {
    void (*start)(World *world);
    void (*minute)(World *world, guint minute);
} programs[DAYS_PROGRAMS] = {
    [DAYS_FILLING] = {start_filling, filling}, [DAYS_CACHE] = {start_cache, cache},
    [DAYS_WARM_UP] = {start_warm_up, warm_up}, [DAYS_SAWTOOTH] = {start_sawtooth, sawtooth},
    [DAYS_DIURNAL] = {start_diurnal, diurnal}, [DAYS_NOISE] = {start_noise, noise},
    [DAYS_DRIFT] = {start_drift, drift},       [DAYS_BATCH] = {start_batch, batch},
    [DAYS_TENANTS] = {start_tenants, tenants}, [DAYS_CONNECTIONS] = {start_connections, connections},
};

static void
start(World *world)
{
    gdouble config = log_between(world, 5, 60) * DAYS_MIB;

    world->size = log_between(world, 30, 300) * DAYS_MIB;
    world->least_class = class_of_lg((guint)g_rand_int_range(world->random, 8, 13));
    world->most_class = g_rand_boolean(world->random) ? world->least_class : class_of_lg(15) + 3;
    for (gdouble held = 0; held < config;) {
        Block block = born(world, SITE_CONFIG, class_of_lg((guint)g_rand_int_range(world->random, 6, 15)), 64);
        held += bytes_of(&block);
    }
    programs[world->choice->program].start(world);
}

/* Requests of a few seconds, and the leak. */
static void
always(World *world)
{
    guint lg = (guint)g_bit_nth_msf(world->choice->leak_size, -1);
    gdouble leak = world->choice->leak * DAYS_MIB / 60;

    for (guint i = 0; i < 20; i++)
        dies_later(world, born(world, SITE_REQUEST, class_of_lg((guint)g_rand_int_range(world->random, 7, 15)), 4),
                   between(world, 0, 0.5));
    if (leak > 0) {
        guint n = poisson(world, leak / world->choice->leak_size);
        if (n > 0)
            born(world, SITE_LEAK, class_of_lg(lg), n);
    }
}

/* ---- readings ---- */

static StatsSample *
moment_of(const World *world)
{
    StatsSample *sample = stats_sample_new(STATS_SOURCE_LIVE);
    StatsArena *merged = stats_sample_arena(sample, STATS_ARENA_MERGED);
    guint64 held = 0;

    merged->bins = stats_table_new(STATS_SCOPE_BIN);
    merged->large = stats_table_new(STATS_SCOPE_LARGE);
    for (guint i = 0; i < CLASSES; i++) {
        gboolean small = class_size(i) <= LARGEST_SMALL;
        StatsValues *row = stats_table_add(small ? merged->bins : merged->large, NULL);
        stats_values_set(row, small ? STATS_BIN_SIZE : STATS_LARGE_SIZE, class_size(i));
        stats_values_set(row, small ? STATS_BIN_CURREGS : STATS_LARGE_CURLEXTENTS, world->live[i]);
        stats_values_set(row, small ? STATS_BIN_NMALLOC : STATS_LARGE_NMALLOC, world->made[i]);
        held += world->live[i] * class_size(i);
    }
    stats_values_set(sample->totals, STATS_PAGE, 4096);
    stats_values_set(sample->totals, STATS_SAMPLING_LG_PERIOD, 19);
    stats_values_set(sample->totals, STATS_ALLOCATED, held);
    stats_values_set(sample->totals, STATS_HELD, held);
    stats_values_set(sample->totals, STATS_ACTIVE, held + held / 20);
    stats_values_set(sample->totals, STATS_RESIDENT, held + held / 10);
    return sample;
}

static Profile *
dump_of(const World *world, gboolean counting)
{
    enum { NAMES = 3 };
    g_autoptr(GString) text = g_string_new("--- symbol\n"), body = g_string_new(NULL);
    g_autoptr(GError) error = NULL;
    Sampled all = {0};

    for (guint i = 0; i < SITES; i++) {
        const Sampled *site = &world->sampled[i];
        guint64 all_objects = counting ? site->all_objects : 0, all_bytes = counting ? site->all_bytes : 0;
        g_string_append_c(body, '@');
        for (guint j = 0; j < NAMES; j++) {
            guint same = i; /* each name has one address */
            for (guint k = i; k-- > 0;)
                same = g_str_equal(functions[k][j], functions[i][j]) ? k : same;
            g_string_append_printf(body, " 0x%x", 0x1000 * (same * NAMES + j + 1) + (j > 0));
            if (same == i)
                g_string_append_printf(text, "0x%x %s\n", 0x1000 * (i * NAMES + j + 1), functions[i][j]);
        }
        g_string_append_printf(body, "\n  t*: %" G_GUINT64_FORMAT ": %" G_GUINT64_FORMAT " [", site->objects,
                               site->bytes);
        g_string_append_printf(body, "%" G_GUINT64_FORMAT ": %" G_GUINT64_FORMAT "]\n", all_objects, all_bytes);
        all.objects += site->objects;
        all.bytes += site->bytes;
        all.all_objects += all_objects;
        all.all_bytes += all_bytes;
    }
    g_string_append_printf(text, "---\n--- heap\nheap_v2/%d\n  t*: %" G_GUINT64_FORMAT ": %" G_GUINT64_FORMAT, PERIOD,
                           all.objects, all.bytes);
    g_string_append_printf(text, " [%" G_GUINT64_FORMAT ": %" G_GUINT64_FORMAT "]\n%s\nMAPPED_LIBRARIES:\n",
                           all.all_objects, all.all_bytes, body->str);
    g_string_append(text, "00001000-00100000 r-xp 00000000 08:01 17 /bin/app\n");
    g_autoptr(GBytes) bytes = g_bytes_new(text->str, text->len);
    Profile *profile = profile_read_bytes(bytes, "day", PROFILE_READ_DEFAULT, &error);
    g_assert_no_error(error);
    return profile;
}

void
day_init(Day *day, const DaysChoice *choice)
{
    World world = {.choice = choice,
                   .random = g_rand_new_with_seed(choice->seed),
                   .deaths = g_array_new(FALSE, FALSE, sizeof(Block)),
                   .pool.blocks = g_array_new(FALSE, FALSE, sizeof(Block))};

    start(&world);
    for (guint minute = 0; minute <= DAY; minute++) {
        world.now = minute;
        let_die(&world);
        programs[choice->program].minute(&world, minute);
        always(&world);
        day->moments[minute] = moment_of(&world);
        if (minute % DUMP_EVERY == 0) {
            day->dumps[minute / DUMP_EVERY] = dump_of(&world, FALSE);
            day->counting[minute / DUMP_EVERY] = dump_of(&world, TRUE);
        }
    }
    g_rand_free(world.random);
    g_array_unref(world.deaths);
    g_array_unref(world.pool.blocks);
}

void
day_clear(Day *day)
{
    for (guint i = 0; i < DAY_MOMENTS; i++)
        stats_sample_unref(day->moments[i]);
    for (guint i = 0; i < DAY_DUMPS; i++) {
        profile_free(day->dumps[i]);
        profile_free(day->counting[i]);
    }
}
