/* SPDX-License-Identifier: Apache-2.0 */
#include "scene.h"

#include "routes/unprofiled.h"

#define MIB (G_GUINT64_CONSTANT(1) << 20)

/* A target of the scene. */
typedef struct {
    gint64 pid;
    const char *name;
    const char *arguments;
    const char *user;
    const char *group;
    guint64 rss;  /* in MiB at first */
    guint64 grow; /* KiB per moment */
    gboolean agent;
    guint32 flags;
} Actor;

/* Names with wide letters, marks, controls of terminals, and of two processes that only their arguments tell apart. */
static const Actor actors[] = {
    {4711, "redis-server", "127.0.0.1:6379", "redis", "/system.slice/redis.service", 812, 640, TRUE,
     WIRE_FLAG_PROF_ACTIVE},
    {4712, "redis-server", "127.0.0.1:6380", "redis", "/system.slice/redis.service", 96, 0, TRUE, 0},
    {812, "n\u00e4me\u0301 \u6f22\u5b57", "--caf\u00e9", "www-data", "/system.slice/app.service", 2300, 0, FALSE, 0},
    {99,
     "evil\033[2J\u202ename\xc2\x9b"
     "31m",
     "\xff\xfe", "nobody", "", 5, 0, FALSE, 0},
    {1, "a-process-with-a-name-that-is-much-longer-than-its-column", "and arguments", "root", "/init.scope", 12, 0,
     TRUE, 0},
};

static void
fill(RouteStatus *status, const Actor *actor, guint n)
{
    guint64 allocated = actor->rss * MIB * 3 / 4 + n * actor->grow * 1024;
    status->pid = actor->pid;
    status->name = actor->name;
    status->state = "live";
    status->reach = actor->agent ? "agent" : "attach";
    status->figures[STATUS_RSS] = actor->rss * MIB + n * actor->grow * 1024;
    if (!actor->agent)
        return;
    status->has_hello = true;
    status->hello.flags = WIRE_FLAG_CONFIG_PROF | WIRE_FLAG_OPT_PROF | WIRE_FLAG_CONFIG_STATS | actor->flags;
    g_strlcpy(status->hello.jemalloc_version, "5.3.0-0-g54eaed1d8b56", sizeof(status->hello.jemalloc_version));
    status->sample_bytes = 512 << 10;
    status->figures[STATUS_ALLOCATED] = allocated;
    status->figures[STATUS_HELD] = allocated - MIB;
    status->figures[STATUS_ACTIVE] = allocated + allocated / 16;
    status->figures[STATUS_METADATA] = 6 * MIB;
    status->figures[STATUS_RESIDENT] = allocated + allocated / 8 + 6 * MIB;
    status->figures[STATUS_MAPPED] = allocated + allocated / 4;
    status->figures[STATUS_RETAINED] = 64 * MIB;
}

FeedFrame *
scene_frame(guint n)
{
    FeedFrame *frame = feed_frame_new(SCENE_TIME_US + n * 2 * G_USEC_PER_SEC);
    for (gsize i = 0; i < G_N_ELEMENTS(actors); i++) {
        RouteStatus status;
        status_init(&status);
        fill(&status, &actors[i], n);
        g_autofree char *line = g_strconcat("program ", actors[i].arguments, NULL);
        status.user = actors[i].user;
        status.arguments = line;
        status.control_group = actors[i].group;
        g_autofree char *key = g_strdup_printf("%" G_GINT64_FORMAT ".1", actors[i].pid);
        g_ptr_array_add(frame->targets, feed_target_new(key, &status));
    }
    return frame;
}

Model *
scene_model(guint count)
{
    Model *model = model_new(NULL);
    model->every_ms = 2000;
    for (guint n = 0; n < count; n++)
        model_take_frame(scene_frame(n), model);
    return model;
}

static void
add_bins(StatsArena *arena)
{
    arena->bins = stats_table_new(STATS_SCOPE_BIN);
    for (guint i = 1; i <= 4; i++) {
        StatsValues *row = stats_table_add(arena->bins, NULL);
        stats_values_set(row, STATS_BIN_SIZE, 32 * i);
        stats_values_set(row, STATS_BIN_NREGS, 128);
        stats_values_set(row, STATS_BIN_CURSLABS, 1000 * i);
        stats_values_set(row, STATS_BIN_CURREGS, 96000 * i);
        stats_values_set(row, STATS_BIN_ALLOCATED, 96000 * i * 32 * i);
    }
}

StatsSample *
scene_sample(void)
{
    StatsSample *sample = stats_sample_new(STATS_SOURCE_LIVE);
    sample->time_us = SCENE_TIME_US;
    stats_values_set(sample->totals, STATS_PAGE, 4096);
    stats_values_set(sample->totals, STATS_ALLOCATED, 600 * MIB);
    stats_values_set(sample->totals, STATS_ACTIVE, 640 * MIB);
    stats_values_set(sample->totals, STATS_RESIDENT, 680 * MIB);
    stats_values_set(sample->totals, STATS_RSS, 830 * MIB);
    stats_values_set(sample->totals, STATS_ANONYMOUS, 780 * MIB);
    stats_values_set(sample->totals, STATS_BACKGROUND_THREADS, 2);
    for (guint i = 0; i < 3; i++) {
        StatsArena *arena = stats_sample_arena(sample, i);
        stats_values_set(arena->values, STATS_ARENA_THREADS, i + 1);
        stats_values_set(arena->values, STATS_ARENA_ALLOCATED, (i + 1) * 100 * MIB);
        stats_values_set(arena->values, STATS_ARENA_ACTIVE, (i + 1) * 110 * MIB);
        stats_values_set(arena->values, STATS_ARENA_PDIRTY, 512 * i);
        stats_values_set(arena->values, STATS_ARENA_PMUZZY, 0);
        stats_values_set(arena->values, STATS_ARENA_RESIDENT, (i + 1) * 112 * MIB);
        stats_values_set(arena->values, STATS_ARENA_DIRTY_DECAY, 10000);
        stats_values_set(arena->values, STATS_ARENA_MUZZY_DECAY, (guint64)-1);
    }
    add_bins(stats_sample_arena(sample, STATS_ARENA_MERGED));
    return sample;
}

void
scene_ledger(LedgerTaken *taken)
{
    static const struct {
        LedgerId id;
        gint64 mib;
    } lines[] = {
        {LEDGER_LIVE, 590},         {LEDGER_THREAD_CACHES, 9},    {LEDGER_SLAB_HOLES, 40},
        {LEDGER_DIRTY, 40},         {LEDGER_METADATA, 6},         {LEDGER_UNTOUCHED, -30},
        {LEDGER_STATIC_DATA, 5},    {LEDGER_OTHER_ANONYMOUS, 98}, {LEDGER_TEXT, 52},
        {LEDGER_UNEXPLAINED, 20},   {LEDGER_SOCKETS, 33},         {LEDGER_KERNEL_STACKS, 1},
        {LEDGER_GROUP_PROCESS, 60}, {LEDGER_GROUP_CACHE, 38},     {LEDGER_GROUP_UNEXPLAINED, 2},
    };
    *taken = (LedgerTaken){.time_us = SCENE_TIME_US, .ledger = {.rss = 830 * MIB, .group = 100 * MIB}};
    for (gsize i = 0; i < G_N_ELEMENTS(lines); i++)
        taken->ledger.lines[lines[i].id] = (LedgerLine){.known = TRUE, .bytes = lines[i].mib * (gint64)MIB};
}

#define HEAD                                                                                                           \
    "{\"format\":\"jescope-page\",\"version\":1,\"value\":\"inuse_space\",\"unit\":\"bytes\",\"noise\":1.96,"          \
    "\"source\":{\"shown\":{\"inuse_space\":{\"total\":12582912,\"error\":262144}}},"
#define FRAMES                                                                                                         \
    "\"frames\":{\"name\":[\"main\",\"dictAdd\",\"std::vector<int>::push_back\",\"\u6f22\u5b57 "                       \
    "n\u00e4me\",\"evil\\u001b[2J\"],"                                                                                 \
    "\"origin\":[0,0,2,1,3]}"

const char scene_table[] = HEAD
    "\"notes\":[\"explains 97.1% of the "
    "memory\"],\"table\":{\"frame\":[1,3,4],\"flat\":[8388608,4194304,0],\"flat_error\":[131072,65536,0],\"cum\":["
    "8388608,4194304,12582912],\"cum_error\":[131072,65536,262144],\"hidden\":{\"count\":2,\"total\":10}}," FRAMES "}";

const char scene_table_difference[] =
    HEAD "\"base\":{},\"notes\":[],\"table\":{\"frame\":[1,3,4],\"flat\":[8388608,4194304,0],\"flat_error\":[131072,"
         "65536,0],\"cum\":[8388608,4194304,12582912],\"cum_error\":[131072,65536,262144],\"flat_base\":[2097152,"
         "4190208,1048576],\"flat_significance\":[12.5,0.1,-4.5],\"hidden\":{\"count\":0,\"total\":0}}," FRAMES "}";

const char scene_values[] =
    HEAD "\"values\":[\"inuse_space\",\"age\",\"nonsense\",7],\"notes\":[],\"table\":{\"frame\":[1],\"flat\":[8388608],"
         "\"flat_error\":[131072],\"flat_other\":[1024],\"cum\":[8388608],\"cum_error\":[131072],\"cum_other\":[1024],"
         "\"hidden\":{\"count\":0,\"total\":0}}," FRAMES "}";

const char scene_ages[] =
    "{\"format\":\"jescope-page\",\"version\":1,\"value\":\"age\",\"unit\":\"byte-seconds\",\"noise\":1.96,\"source\":{"
    "\"shown\":{\"inuse_space\":{\"total\":12582912,\"error\":262144},\"age\":{\"total\":943718400,\"error\":1000}}},"
    "\"values\":[\"inuse_space\",\"age\"],\"notes\":[],\"table\":{\"frame\":[1,3,4],\"flat\":[754974720,188743680,0],"
    "\"flat_error\":[1,1,0],\"flat_other\":[8388608,4194304,0],\"cum\":[754974720,188743680,943718400],\"cum_error\":["
    "1,1,1],\"cum_other\":[8388608,4194304,12582912],\"hidden\":{\"count\":0,\"total\":0}}," FRAMES "}";

const char scene_nothing[] =
    HEAD "\"notes\":[],\"table\":{\"frame\":[],\"flat\":[],\"flat_error\":[],\"cum\":[],\"cum_error\":[],"
         "\"hidden\":{\"count\":0,\"total\":0}}," FRAMES "}";

const char scene_stacks[] =
    HEAD "\"notes\":[],\"stacks\":{\"frames\":[[1,2,0],[3,0],[4]],\"total\":[8388608,4194304,4096],\"error\":[131072,"
         "65536,4096],\"other\":[1024,77,1],\"hidden\":{\"count\":0,\"total\":0}}," FRAMES "}";

const char scene_graph[] = HEAD "\"notes\":[],\"graph\":{\"path\":0,\"parent\":[-1,0,1,1,2,1],\"frame\":[-1,0,1,3,2,4],"
                                "\"total\":[12582912,12582912,8388608,3145728,6291456,1048576]}," FRAMES "}";

const char scene_graph_difference[] = HEAD
    "\"base\":{},\"notes\":[],\"graph\":{\"path\":0,\"parent\":[-1,0,1,1,2,1],\"frame\":[-1,0,1,3,2,4],\"total\":["
    "12582912,12582912,8388608,3145728,6291456,1048576],\"extent\":[14680064,14680064,8388608,3145728,6291456,3145728],"
    "\"base\":[8388608,8388608,2097152,3145728,2097152,3145728],\"significance\":[9,9,12,0,11,-7]}," FRAMES "}";
