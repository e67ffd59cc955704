/* SPDX-License-Identifier: Apache-2.0 */
/* Each cause is the first finding for evidence that was made for it, and is not found if the evidence contradicts
 * it. */
#include "doctor/judge.h"

#include <string.h>

#define MIB (UINT64_C(1) << 20)

enum { MOMENTS = 31 }; /* one per second */

/* The properties of a simulated process; 0: none. */
typedef struct {
    guint64 live;                           /* MiB in the class of 4096 bytes at the start */
    guint64 leak;                           /* growth in KiB per second */
    gboolean cached;                        /* thread caches fill, instead of that growth */
    gdouble slower;                         /* the leak's rate at the end relative to the start; 0: constant */
    guint64 turnover;                       /* KiB per second allocated and freed in that class */
    guint64 more_descriptors, more_threads; /* a second */
    guint64 dirty, tcache, metadata, retained;
    gint64 decay_ms;
    guint64 peak;         /* VmHWM; 0: that of the resident set */
    guint64 requests;     /* a second */
    guint64 processor_ms; /* of processor time per second */
    gboolean rests;       /* no processor time after two thirds of the watch */
    guint64 empty_slabs;  /* MiB of slabs of 64 KiB with one region of 512 bytes each */
    guint64 unread;       /* number of arenas if only their sum is known */
    guint arenas;         /* number of arenas with the slabs; 0: one */
    guint64 base;         /* KiB of each arena's own data */
    LedgerId line;        /* a line of the ledger with the following bytes */
    gint64 bytes;         /* MiB, at the end */
    gint64 bytes_before;  /* MiB, at the start; 0: the same as at the end */
} Simulated;

typedef struct {
    DoctorEvidence evidence;
    Ledger first, last;
    DoctorClasses classes;
    DoctorReport report;
} Examined;

static void
add_bin(StatsArena *arena, guint64 size, guint64 slabs, guint64 live, guint64 made)
{
    if (arena->bins == NULL)
        arena->bins = stats_table_new(STATS_SCOPE_BIN);
    StatsValues *bin = stats_table_add(arena->bins, NULL);
    stats_values_set(bin, STATS_BIN_SIZE, size);
    stats_values_set(bin, STATS_BIN_NREGS, 65536 / size);
    stats_values_set(bin, STATS_BIN_SLAB_SIZE, 65536);
    stats_values_set(bin, STATS_BIN_CURSLABS, slabs);
    stats_values_set(bin, STATS_BIN_CURREGS, live);
    stats_values_set(bin, STATS_BIN_NMALLOC, made);
}

static gdouble
leaked(const Simulated *process, guint second)
{
    gdouble end = process->slower > 0 ? process->slower : 1;
    gdouble t = second, whole = MOMENTS - 1;
    return 1024.0 * (gdouble)process->leak * (t - (1 - end) * t * t / whole / 2);
}

static StatsSample *
sample_of(const Simulated *process, guint second)
{
    StatsSample *sample = stats_sample_new(STATS_SOURCE_LIVE);
    StatsArena *merged = stats_sample_arena(sample, STATS_ARENA_MERGED);
    guint64 live = process->live * MIB + (guint64)leaked(process, second);
    guint64 cached = process->tcache * MIB + (process->cached ? (guint64)leaked(process, second) : 0);
    guint64 holes = process->empty_slabs * 16;
    guint arenas = process->unread > 0 ? 0 : MAX(process->arenas, 1);

    stats_values_set(sample->totals, STATS_PAGE, 4096);
    if (process->unread > 0)
        stats_values_set(sample->totals, STATS_ARENAS, process->unread);
    stats_values_set(sample->totals, STATS_ALLOCATED, live + holes * 512 + process->tcache * MIB);
    stats_values_set(sample->totals, STATS_HELD, live + holes * 512 + process->tcache * MIB - cached);
    stats_values_set(sample->totals, STATS_ACTIVE, live + process->empty_slabs * MIB);
    stats_values_set(sample->totals, STATS_RESIDENT, live + (process->empty_slabs + process->dirty) * MIB);
    stats_values_set(sample->totals, STATS_METADATA, process->metadata * MIB);
    stats_values_set(sample->totals, STATS_RETAINED, process->retained * MIB);
    stats_values_set(merged->values, STATS_ARENA_PDIRTY, process->dirty * 256);
    stats_values_set(merged->values, STATS_ARENA_DIRTY_DECAY,
                     (uint64_t)(process->decay_ms != 0 ? process->decay_ms : 10000));
    stats_values_set(merged->values, STATS_ARENA_TCACHE, cached);
    stats_values_set(merged->values, STATS_ARENA_SMALL_NREQUESTS, process->requests * second);
    guint64 made = (live + process->turnover * 1024 * second) / 4096;
    add_bin(merged, 512, holes, holes, holes);
    add_bin(merged, 4096, live / 65536 + 1, live / 4096, made);
    for (guint i = 0; i < arenas; i++) {
        StatsArena *arena = stats_sample_arena(sample, i);
        if (process->decay_ms < 0 && i == 0) {
            stats_values_set(arena->values, STATS_ARENA_DIRTY_DECAY, (uint64_t)-1);
            stats_values_set(arena->values, STATS_ARENA_PDIRTY, process->dirty * 256);
        }
        stats_values_set(arena->values, STATS_ARENA_BASE, process->base * 1024);
        add_bin(arena, 512, holes / arenas, process->arenas > 0 ? 1 : holes, 0);
        add_bin(arena, 4096, live / 65536 / arenas + 1, live / 4096 / arenas, 0);
    }
    return sample;
}

static guint64
resident_of(const Simulated *process, guint second)
{
    return (10 + process->live + process->empty_slabs + process->dirty + process->tcache + process->metadata) * MIB +
           (guint64)leaked(process, second) +
           (process->line < LEDGER_TMPFS_FILES ? (guint64)MAX(process->bytes, 0) * MIB : 0);
}

static void
set_line(Ledger *ledger, LedgerId id, gint64 mib)
{
    ledger->lines[id] = (LedgerLine){TRUE, mib * (gint64)MIB, mib * (gint64)MIB, mib * (gint64)MIB};
}

static DoctorStack *
stack_new(const char *function, gdouble bytes, gdouble grown)
{
    DoctorStack *stack = g_new0(DoctorStack, 1);
    stack->functions = g_ptr_array_new_with_free_func(g_free);
    g_ptr_array_add(stack->functions, g_strdup(function));
    g_ptr_array_add(stack->functions, g_strdup("main"));
    stack->bytes = bytes;
    stack->grown = grown;
    stack->samples = grown / 524288;
    stack->block = 4096;
    return stack;
}

static void
examine(Examined *examined, const Simulated *process)
{
    *examined = (Examined){0};
    doctor_evidence_init(&examined->evidence);
    for (guint i = 0; i < MOMENTS; i++) {
        DoctorMoment moment = {.seconds = i,
                               .sample = sample_of(process, i),
                               .rss = resident_of(process, i),
                               .peak = process->peak != 0 ? process->peak * MIB : resident_of(process, i),
                               .threads = 4 + process->more_threads * i,
                               .descriptors = 20 + process->more_descriptors * i,
                               .processor_ms = process->processor_ms * (process->rests ? MIN(i, MOMENTS * 2 / 3) : i)};
        g_array_append_val(examined->evidence.moments, moment);
    }
    examined->first.rss = resident_of(process, 0);
    examined->last.rss = resident_of(process, MOMENTS - 1);
    if (process->bytes != 0) {
        set_line(&examined->first, process->line, process->bytes_before != 0 ? process->bytes_before : process->bytes);
        set_line(&examined->last, process->line, process->bytes);
    }
    examined->evidence.first = &examined->first;
    examined->evidence.last = &examined->last;
    doctor_classes(examined->evidence.moments, &examined->classes);
}

static void
judge(Examined *examined)
{
    doctor_judge(&examined->evidence, &examined->classes, &examined->report);
}

static void
examined_clear(Examined *examined)
{
    doctor_evidence_clear(&examined->evidence);
    doctor_classes_clear(&examined->classes);
    doctor_report_clear(&examined->report);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Examined, examined_clear)

static const DoctorFinding *
finding_at(const Examined *examined, guint index)
{
    g_assert_cmpuint(index, <, examined->report.findings->len);
    return examined->report.findings->pdata[index];
}

/* CAUSE_HEALTHY: there is no finding. */
static CauseId
first_cause(const Examined *examined)
{
    return examined->report.findings->len > 0 ? finding_at(examined, 0)->cause : CAUSE_HEALTHY;
}

static const struct {
    Simulated process;
    CauseId cause; /* CAUSE_HEALTHY: no finding */
    guint64 bytes; /* MiB */
} cases[] = {
    {{.live = 40}, CAUSE_HEALTHY, 0},
    {{.live = 40, .turnover = 4096}, CAUSE_HEALTHY, 0},
    {{.live = 40, .leak = 1024}, CAUSE_HEAP_LEAK, 70},
    {{.live = 40, .leak = 100}, CAUSE_HEAP_LEAK, 43},
    {{.live = 40, .leak = 100, .cached = TRUE}, CAUSE_HEALTHY, 0},
    /* A cache that fills is not a leak; a program that does less leaks less. */
    {{.live = 5, .leak = 2000, .slower = 0.01}, CAUSE_HEALTHY, 0},
    {{.live = 40, .leak = 3000, .slower = 0.01}, CAUSE_CACHE, 84},
    {{.live = 40, .leak = 3000, .slower = 0.01, .processor_ms = 500}, CAUSE_CACHE, 84},
    {{.live = 40, .leak = 3000, .slower = 0.01, .processor_ms = 500, .rests = TRUE}, CAUSE_HEAP_LEAK, 84},
    /* Each of 110 descriptors holds a third of a MiB, each of 34 threads one. */
    {{.live = 40, .leak = 1024, .more_descriptors = 3}, CAUSE_LOAD, 36},
    {{.live = 40, .leak = 1024, .more_threads = 1}, CAUSE_LOAD, 34},
    {{.live = 200, .turnover = 2048}, CAUSE_CACHE, 200},
    {{.live = 200}, CAUSE_STARTUP, 200},
    {{.live = 40, .requests = 500000}, CAUSE_CHURN, 40},
    {{.live = 40, .requests = 40000, .processor_ms = 500}, CAUSE_CHURN, 40},
    {{.live = 40, .requests = 40000, .processor_ms = 50}, CAUSE_HEALTHY, 0}, /* a server at work */
    {{.live = 40, .empty_slabs = 120}, CAUSE_FRAGMENTATION, 119},
    {{.live = 40, .empty_slabs = 120, .arenas = 1920}, CAUSE_ARENAS, 201},
    /* Most of it is the arenas' own data. */
    {{.live = 40, .empty_slabs = 20, .arenas = 320, .base = 128, .metadata = 50}, CAUSE_METADATA, 50},
    {{.live = 40, .empty_slabs = 30, .arenas = 480, .base = 16, .metadata = 17}, CAUSE_ARENAS, 50},
    {{.live = 40, .empty_slabs = 120, .unread = 2000}, CAUSE_ARENAS, 119},
    {{.live = 40, .dirty = 100}, CAUSE_DIRTY, 100},
    {{.live = 40, .dirty = 100, .decay_ms = -1}, CAUSE_DIRTY, 100},
    {{.live = 40, .tcache = 80}, CAUSE_THREAD_CACHES, 80},
    {{.live = 40, .metadata = 60}, CAUSE_METADATA, 60},
    {{.live = 20, .retained = 1000}, CAUSE_RETAINED, 1000},
    {{.live = 40, .peak = 300}, CAUSE_BURST, 250},
    {{.live = 40, .peak = 300, .retained = 260}, CAUSE_BURST, 250}, /* a burst leaves retained address space */
    {{.live = 20, .peak = 140, .retained = 1000}, CAUSE_RETAINED, 1000},
    /* Every program holds something: a past event takes precedence only if it is much larger. */
    {{.live = 80, .peak = 400}, CAUSE_BURST, 310},
    {{.live = 150, .peak = 400}, CAUSE_STARTUP, 150},
    {{.live = 80, .retained = 1000}, CAUSE_RETAINED, 1000},
    {{.live = 40, .line = LEDGER_OTHER_ANONYMOUS, .bytes = 100}, CAUSE_ANON_MMAP, 100},
    {{.live = 40, .line = LEDGER_OTHER_ANONYMOUS, .bytes = 50, .bytes_before = 20}, CAUSE_ANON_MMAP, 50},
    {{.live = 40, .line = LEDGER_OTHER_ALLOCATORS, .bytes = 100}, CAUSE_OTHER_ALLOCATOR, 100},
    {{.live = 40, .line = LEDGER_STATIC_DATA, .bytes = 100}, CAUSE_PROGRAM_DATA, 100},
    {{.live = 40, .line = LEDGER_FILE_MAPPINGS, .bytes = 100}, CAUSE_FILES, 100},
    {{.live = 40, .line = LEDGER_SHARED_MEMORY, .bytes = 100}, CAUSE_SHARED, 100},
    {{.live = 40, .line = LEDGER_TMPFS_FILES, .bytes = 100}, CAUSE_TMPFS, 100},
    {{.live = 40, .line = LEDGER_SOCKETS, .bytes = 100}, CAUSE_KERNEL, 100},
    {{.live = 40, .line = LEDGER_STACKS, .bytes = 100}, CAUSE_STACKS, 100},
    {{.live = 40, .line = LEDGER_RETAINED, .bytes = 100}, CAUSE_THP, 100},
    {{.live = 40, .line = LEDGER_CHILDREN, .bytes = 100}, CAUSE_FORK, 100},
    /* Below the amounts that are worth a change. */
    {{.live = 40, .line = LEDGER_STACKS, .bytes = 10}, CAUSE_HEALTHY, 0},
    {{.live = 45, .dirty = 12}, CAUSE_HEALTHY, 0},
    {{.live = 45, .tcache = 15}, CAUSE_HEALTHY, 0},
};

static const Simulated *
process_of(gsize i)
{
    return &cases[i].process;
}

static void
test_causes(void)
{
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_auto(Examined) examined = {0};
        examine(&examined, &cases[i].process);
        judge(&examined);
        g_test_message("case %u: %s", (guint)i, causes[first_cause(&examined)].name);
        g_assert_cmpint(first_cause(&examined), ==, cases[i].cause);
        if (cases[i].cause == CAUSE_HEALTHY)
            continue;
        const DoctorFinding *finding = finding_at(&examined, 0);
        g_assert_cmpfloat_with_epsilon(finding->bytes, (gdouble)(cases[i].bytes * MIB), 1.5 * (gdouble)MIB);
        g_assert_cmpuint(finding->evidence->len, >, 0);
        g_assert_nonnull(finding->advice);
        g_assert_cmpfloat(finding->gives_back, <=,
                          finding->bytes + (gdouble)(process_of(i)->arenas * process_of(i)->base) * 1024);
        g_assert_true(finding->confidence > 0 && finding->confidence < 1);
    }
}

/* The function whose objects cause the holes is named, by the slabs themselves or only by shares. */
static void
test_holes_have_an_owner(void)
{
    static const char *const said[] = {
        "30.0 MiB of free regions are charged to session_store in proportion to its objects in each size class",
        "30.0 MiB of free regions are in slabs that contain objects of session_store"};

    for (guint known = 0; known < G_N_ELEMENTS(said); known++) {
        g_auto(Examined) examined = {0};
        const Simulated process = {.live = 40, .empty_slabs = 120};
        DoctorStack *holder = g_new0(DoctorStack, 1);
        holder->functions = g_ptr_array_new_with_free_func(g_free);
        g_ptr_array_add(holder->functions, g_strdup("session_store"));
        examine(&examined, &process);
        examined.evidence.class_holder = holder;
        examined.evidence.pinned = 30 * (gdouble)MIB;
        examined.evidence.slabs_known = known != 0;
        judge(&examined);
        const DoctorFinding *finding = finding_at(&examined, 0);
        g_assert_cmpint(finding->cause, ==, CAUSE_FRAGMENTATION);
        g_assert_true(g_ptr_array_find_with_equal_func(finding->evidence, said[known], g_str_equal, NULL));
    }
}

static void
test_growth_has_a_rate(void)
{
    g_auto(Examined) examined = {0};
    const Simulated process = {.live = 40, .leak = 1024};

    examine(&examined, &process);
    examined.evidence.limit = 200 * MIB;
    judge(&examined);
    const DoctorFinding *leak = finding_at(&examined, 0);
    g_assert_true(leak->grows);
    g_assert_cmpfloat_with_epsilon(leak->rate, (gdouble)MIB, 20000);
    g_assert_true(leak->low <= leak->rate && leak->rate <= leak->high);
    /* 80 MiB are resident at the end, and 120 MiB are left. */
    g_assert_cmpfloat_with_epsilon(leak->hours, 120 / 3600.0, 0.001);
    g_assert_nonnull(strstr(leak->against->pdata[0], "not bounded-cache, because"));
}

static void
test_healthy_says_what_would_have_been_seen(void)
{
    g_auto(Examined) examined = {0};
    const Simulated process = {.live = 40};

    examine(&examined, &process);
    judge(&examined);
    g_assert_cmpfloat_with_epsilon(examined.report.detectable, (gdouble)TREND_LEAST / (MOMENTS - 1), 1);
}

/* One class grows significantly, and eleven others, with most of the growth, do not; if they shrink instead, only the
 * first class counts. */
static void
test_growth_of_many_sizes(void)
{
    enum { CLASSES = 12 };

    for (guint shrinks = 0; shrinks < 2; shrinks++) {
        g_autoptr(GArray) moments = g_array_new(FALSE, FALSE, sizeof(DoctorMoment));
        g_auto(DoctorClasses) classes = {0};
        for (guint i = 0; i < MOMENTS; i++) {
            StatsSample *sample = stats_sample_new(STATS_SOURCE_LIVE);
            StatsArena *merged = stats_sample_arena(sample, STATS_ARENA_MERGED);
            guint64 all = 0;
            for (guint j = 0; j < CLASSES; j++) {
                guint64 size = 4096 * (guint64)(j + 1), grown = (j == 0 ? 80 : 30) * 1024 * (guint64)i;
                guint64 live = (20 * MIB + (shrinks && j > 0 ? 0 : grown)) / size;
                add_bin(merged, size, 1, live, live);
                all += live * size;
            }
            stats_values_set(sample->totals, STATS_ALLOCATED, all);
            stats_values_set(sample->totals, STATS_HELD, all);
            DoctorMoment moment = {.seconds = i, .sample = sample};
            g_array_append_val(moments, moment);
        }
        doctor_classes(moments, &classes);
        g_assert_true(classes.grows);
        g_assert_cmpfloat_with_epsilon(classes.rate, (shrinks ? 80 : 80 + 11 * 30) * 1024.0, 8192);
        for (guint i = 0; i < moments->len; i++)
            doctor_moment_clear(&g_array_index(moments, DoctorMoment, i));
    }
}

/* The bytes held by a leak: the fewer samples, the more by its rate, if they agree; never less than it grew by, or more
 * than the program holds. */
static void
test_bytes_of_a_leak(void)
{
    static const struct {
        gboolean sampled;
        gdouble bytes, error, age; /* MiB, seconds */
        gdouble said;
        gboolean recent;
    } leaks[] = {{TRUE, 90, 5, 60, 90, FALSE},    {TRUE, 90, 25, 60, 81.8, FALSE}, {TRUE, 90, 25, 600, 90, FALSE},
                 {TRUE, 90, 90, 50, 56.2, FALSE}, {TRUE, 90, 9, 75, 89.4, FALSE},  {TRUE, 20, 8, 32, 30, FALSE},
                 {TRUE, 20, 8, 0, 30, FALSE},     {FALSE, 0, 0, 0, 70, FALSE},     {FALSE, 0, 0, 50, 50, FALSE},
                 {FALSE, 0, 0, 5000, 70, FALSE},  {TRUE, 20, 1, 50, 50, TRUE},     {TRUE, 900, 60, 60, 110, FALSE}};

    for (gsize i = 0; i < G_N_ELEMENTS(leaks); i++) {
        g_auto(Examined) examined = {0};
        const Simulated process = {.live = leaks[i].sampled ? 80 : 40, .leak = 1024};
        examine(&examined, &process);
        examined.evidence.profile = leaks[i].sampled ? DOCTOR_PROFILE_WHOLE : DOCTOR_PROFILE_NONE;
        examined.evidence.age = leaks[i].age;
        if (leaks[i].sampled) {
            DoctorStack *stack = stack_new("session_store", leaks[i].bytes * (gdouble)MIB, 30.0 * (gdouble)MIB);
            stack->error = leaks[i].error * (gdouble)MIB;
            stack->recent = leaks[i].recent;
            g_ptr_array_add(examined.evidence.growing, stack);
        }
        judge(&examined);
        g_test_message("leak %u", (guint)i);
        g_assert_cmpfloat_with_epsilon(finding_at(&examined, 0)->bytes, leaks[i].said * (gdouble)MIB,
                                       0.1 * (gdouble)MIB);
    }
}

/* Two leaks: each has its share, the faster is first; and their cause if their code was unloaded. */
static void
test_stacks(void)
{
    g_auto(Examined) examined = {0};
    const Simulated process = {.live = 40, .leak = 2048};

    examine(&examined, &process);
    examined.evidence.profile = DOCTOR_PROFILE_WHOLE;
    g_ptr_array_add(examined.evidence.growing, stack_new("session_store", 45.0 * (gdouble)MIB, 45.0 * (gdouble)MIB));
    DoctorStack *plugin = stack_new("plugin_keep", 15.0 * (gdouble)MIB, 15.0 * (gdouble)MIB);
    plugin->unloaded = TRUE;
    plugin->object = g_strdup("/lib/plugin.so");
    g_ptr_array_add(examined.evidence.growing, plugin);
    g_ptr_array_add(examined.evidence.growing, stack_new("noise", 20.0 * (gdouble)MIB, 1e5));
    judge(&examined);
    g_assert_cmpuint(examined.report.findings->len, ==, 2);
    const DoctorFinding *one = finding_at(&examined, 0), *two = finding_at(&examined, 1);
    g_assert_cmpint(one->cause, ==, CAUSE_HEAP_LEAK);
    g_assert_cmpstr(one->functions->pdata[0], ==, "session_store");
    g_assert_cmpfloat_with_epsilon(one->rate / two->rate, 3, 0.1);
    g_assert_cmpint(two->cause, ==, CAUSE_UNLOADED_CODE);
    g_assert_cmpfloat_with_epsilon(two->bytes, 15.0 * (gdouble)MIB, 1);
}

/* The holder has a function; containers with spare capacity are recognised by memory that was never written. */
static void
test_holder(void)
{
    static const struct {
        gboolean container;
        gint64 untouched; /* MiB */
        CauseId cause;
        guint64 block;
        gdouble moved; /* MiB */
    } holders[] = {{FALSE, 0, CAUSE_STARTUP, 4096, 0},       {TRUE, 0, CAUSE_STARTUP, 5120, 0},
                   {TRUE, -60, CAUSE_CAPACITY, 5120, 0},     {TRUE, 0, CAUSE_CAPACITY, 32768, 0},
                   {FALSE, -60, CAUSE_CAPACITY, 1 << 20, 0}, {FALSE, -60, CAUSE_STARTUP, 4096, 0},
                   {FALSE, 0, CAUSE_CACHE, 4096, 2},         {TRUE, 0, CAUSE_CACHE, 32768, 2}};

    for (gsize i = 0; i < G_N_ELEMENTS(holders); i++) {
        g_auto(Examined) examined = {0};
        const Simulated process = {.live = 200, .line = LEDGER_UNTOUCHED, .bytes = holders[i].untouched};
        examine(&examined, &process);
        examined.evidence.profile = DOCTOR_PROFILE_WHOLE;
        examined.evidence.holder = stack_new("load_tables", 150.0 * (gdouble)MIB, 0);
        examined.evidence.holder->container = holders[i].container;
        examined.evidence.holder->block = holders[i].block;
        examined.evidence.holder->moved = holders[i].moved * (gdouble)MIB;
        judge(&examined);
        g_assert_cmpint(first_cause(&examined), ==, holders[i].cause);
        g_assert_cmpstr(finding_at(&examined, 0)->functions->pdata[0], ==, "load_tables");
        g_assert_cmpfloat_with_epsilon(finding_at(&examined, 0)->bytes, 150.0 * (gdouble)MIB, 1);
    }
}

/* Others allocate in the holder's size class: its own samples do not change as they would if it turned over. */
static void
test_holder_by_its_samples(void)
{
    static const struct {
        guint64 turnover; /* KiB/s */
        gdouble moved;    /* MiB */
        CauseId cause;
    } holders[] = {{4096, 0, CAUSE_STARTUP},
                   {4096, 2, CAUSE_STARTUP},
                   {4096, 60, CAUSE_CACHE},
                   {40, 0, CAUSE_STARTUP},
                   {40, 2, CAUSE_CACHE}};

    for (gsize i = 0; i < G_N_ELEMENTS(holders); i++) {
        g_auto(Examined) examined = {0};
        const Simulated process = {.live = 200, .turnover = holders[i].turnover};
        examine(&examined, &process);
        examined.evidence.profile = DOCTOR_PROFILE_WHOLE;
        examined.evidence.profiled_seconds = MOMENTS - 1;
        examined.evidence.holder = stack_new("load_tables", 150.0 * (gdouble)MIB, 0);
        examined.evidence.holder->error = 9.0 * (gdouble)MIB;
        examined.evidence.holder->moved = holders[i].moved * (gdouble)MIB;
        judge(&examined);
        g_assert_cmpint(first_cause(&examined), ==, holders[i].cause);
    }
}

/* Memory of a plugin that was unloaded long ago. */
static void
test_unloaded_holder(void)
{
    g_auto(Examined) examined = {0};
    const Simulated process = {.live = 200};

    examine(&examined, &process);
    examined.evidence.profile = DOCTOR_PROFILE_WHOLE;
    examined.evidence.holder = stack_new("with_plugin", 150.0 * (gdouble)MIB, 0);
    examined.evidence.holder->unloaded = TRUE;
    judge(&examined);
    g_assert_cmpint(first_cause(&examined), ==, CAUSE_UNLOADED_CODE);
}

/* Other arenas purge all the time. */
static void
test_dirty_pages_of_a_sleeper(void)
{
    g_auto(Examined) examined = {0};
    const Simulated process = {.live = 40, .dirty = 100};

    examine(&examined, &process);
    for (guint i = 0; i < MOMENTS; i++) {
        const DoctorMoment *moment = &g_array_index(examined.evidence.moments, DoctorMoment, i);
        stats_values_set(stats_sample_find(moment->sample, STATS_ARENA_MERGED)->values, STATS_ARENA_DIRTY_NPURGE, i);
    }
    judge(&examined);
    g_assert_cmpint(first_cause(&examined), ==, CAUSE_DIRTY);
}

/* The counters of classes miss what thread caches serve; births do not. Without births, a note says how to get them. */
static void
test_churn_by_births(void)
{
    g_auto(Examined) quiet = {0}, busy = {0}, counted = {0};
    const Simulated process = {.live = 40}, counter = {.live = 40, .requests = 500000};

    examine(&quiet, &process);
    quiet.evidence.born_objects = 50000;
    quiet.evidence.born_bytes = 30.0 * (gdouble)MIB;
    judge(&quiet);
    g_assert_cmpint(first_cause(&quiet), ==, CAUSE_HEALTHY);
    examine(&busy, &process);
    busy.evidence.born_objects = 150000;
    busy.evidence.born_bytes = 30.0 * (gdouble)MIB;
    busy.evidence.mover = stack_new("render_page", 0, 0);
    judge(&busy);
    g_assert_cmpint(first_cause(&busy), ==, CAUSE_CHURN);
    g_assert_cmpstr(finding_at(&busy, 0)->functions->pdata[0], ==, "render_page");
    g_assert_cmpstr(finding_at(&busy, 0)->evidence->pdata[0], ==,
                    "150000 allocations and at least 30.0 MiB per second, while the live bytes stay the same");
    examine(&counted, &counter);
    judge(&counted);
    g_assert_cmpint(first_cause(&counted), ==, CAUSE_CHURN);
    g_assert_nonnull(strstr(counted.report.notes->pdata[counted.report.notes->len - 1], "(--record)"));
    for (guint i = 0; i < busy.report.notes->len; i++)
        g_assert_null(strstr(busy.report.notes->pdata[i], "(--record)"));
}

static gboolean
notes_missing_births(const Examined *examined)
{
    for (guint i = 0; i < examined->report.notes->len; i++)
        if (strstr(examined->report.notes->pdata[i], "births (--record) would show"))
            return TRUE;
    return FALSE;
}

/* Thread caches may serve all allocations of a busy process, so that no counter changes. */
static void
test_unseen_allocations(void)
{
    g_auto(Examined) idle = {0}, busy = {0}, counted = {0}, holding = {0};
    const Simulated quiet = {.live = 40}, working = {.live = 40, .processor_ms = 400};
    const Simulated large = {.live = 200, .processor_ms = 400};

    examine(&idle, &quiet);
    judge(&idle);
    g_assert_false(notes_missing_births(&idle));
    examine(&busy, &working);
    judge(&busy);
    g_assert_cmpint(first_cause(&busy), ==, CAUSE_HEALTHY);
    g_assert_true(notes_missing_births(&busy));
    examine(&counted, &working);
    counted.evidence.born_objects = 100;
    judge(&counted);
    g_assert_false(notes_missing_births(&counted));
    examine(&holding, &large);
    judge(&holding);
    g_assert_cmpint(first_cause(&holding), ==, CAUSE_STARTUP);
    g_assert_true(notes_missing_births(&holding));
}

/* A profile of the whole run without a large holder: many functions hold the heap, which is not a finding. */
static void
test_many_holders(void)
{
    g_auto(Examined) examined = {0};
    const Simulated process = {.live = 200};

    examine(&examined, &process);
    examined.evidence.profile = DOCTOR_PROFILE_WHOLE;
    examined.evidence.profiled = 200.0 * (gdouble)MIB;
    examined.evidence.holder = stack_new("one_of_many", 30.0 * (gdouble)MIB, 0);
    judge(&examined);
    g_assert_cmpint(first_cause(&examined), ==, CAUSE_HEALTHY);
}

/* Without a profile, one size class, or those that are renewed or those that are not, show how much is held, and
 * why. */
static void
test_part_of_the_heap(void)
{
    static const struct {
        struct {
            guint64 size;
            gdouble bytes, allocated; /* MiB */
        } classes[4];
        CauseId cause;
        gdouble bytes;    /* MiB */
        gint64 unwritten; /* MiB */
    } heaps[] = {
        {{{64, 90, 0}, {256, 30, 3}, {512, 30, 3}}, CAUSE_STARTUP, 90, 0},
        {{{64, 30, 0}, {1024, 90, 9}, {4096, 30, 0}}, CAUSE_CACHE, 90, 0},
        {{{64, 40, 0}, {80, 40, 0.01}, {96, 30, 0}, {4096, 30, 3}}, CAUSE_STARTUP, 110, 0},
        {{{64, 90, 0.1}, {256, 30, 0}, {512, 30, 0}}, CAUSE_CACHE, 90, 0},
        {{{64, 40, 4}, {80, 40, 4}, {96, 30, 4}, {4096, 30, 0}}, CAUSE_CACHE, 110, 0},
        {{{64, 30, 3}, {81920, 70, 0}, {163840, 40, 0}, {1048576, 10, 1}}, CAUSE_CAPACITY, 110, 60},
        {{{64, 30, 3}, {81920, 70, 0}, {163840, 40, 0}, {1048576, 10, 1}}, CAUSE_STARTUP, 70, 0},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(heaps); i++) {
        g_auto(Examined) examined = {0};
        const Simulated process = {.live = 150};
        examine(&examined, &process);
        g_array_set_size(examined.classes.classes, 0);
        for (gsize j = 0; j < G_N_ELEMENTS(heaps[i].classes); j++) {
            const DoctorClass class = {.size = heaps[i].classes[j].size,
                                       .bytes = heaps[i].classes[j].bytes * (gdouble)MIB,
                                       .allocated = heaps[i].classes[j].allocated * (gdouble)MIB};
            g_array_append_val(examined.classes.classes, class);
        }
        set_line(&examined.last, LEDGER_UNTOUCHED, -heaps[i].unwritten);
        judge(&examined);
        g_assert_cmpint(first_cause(&examined), ==, heaps[i].cause);
        g_assert_cmpfloat_with_epsilon(finding_at(&examined, 0)->bytes, heaps[i].bytes * (gdouble)MIB, 1);
    }
}

/* F18: pages that are being returned, and arenas that purge, are not findings. */
static void
test_dirty_pages_that_fall(void)
{
    g_auto(Examined) examined = {0};
    const Simulated process = {.live = 40, .dirty = 100};

    examine(&examined, &process);
    const DoctorMoment *first = &g_array_index(examined.evidence.moments, DoctorMoment, 0);
    stats_values_set(stats_sample_find(first->sample, STATS_ARENA_MERGED)->values, STATS_ARENA_PDIRTY, 120 * 256);
    judge(&examined);
    g_assert_cmpint(first_cause(&examined), ==, CAUSE_HEALTHY);
}

/* Growth is reported first, even if there is more waste. */
static void
test_order(void)
{
    g_auto(Examined) examined = {0};
    const Simulated process = {.live = 40, .leak = 1024, .tcache = 80, .dirty = 90};

    examine(&examined, &process);
    judge(&examined);
    g_assert_cmpuint(examined.report.findings->len, ==, 3);
    g_assert_cmpint(first_cause(&examined), ==, CAUSE_HEAP_LEAK);
    g_assert_cmpint(finding_at(&examined, 1)->cause, ==, CAUSE_DIRTY);
    g_assert_cmpint(finding_at(&examined, 2)->cause, ==, CAUSE_THREAD_CACHES);
}

static void
test_nothing_is_known(void)
{
    g_auto(Examined) examined = {0};

    doctor_evidence_init(&examined.evidence);
    doctor_classes(examined.evidence.moments, &examined.classes);
    judge(&examined);
    g_assert_cmpint(first_cause(&examined), ==, CAUSE_HEALTHY);
}

/* One dump shows which function holds the memory, but not for how long. */
static void
test_one_look(void)
{
    g_auto(Examined) examined = {0};

    doctor_evidence_init(&examined.evidence);
    doctor_classes(examined.evidence.moments, &examined.classes);
    examined.evidence.profile = DOCTOR_PROFILE_WHOLE;
    examined.evidence.profiled = 200.0 * (gdouble)MIB;
    examined.evidence.holder = stack_new("load_tables", 150.0 * (gdouble)MIB, 0);
    judge(&examined);
    g_assert_cmpint(first_cause(&examined), ==, CAUSE_HEALTHY);
    g_assert_true(g_str_has_prefix(examined.report.notes->pdata[0], "load_tables holds the largest part, 150.0 MiB;"));
}

/* One size class fills more and more slowly beside one that grows steadily: the latter leaks. */
static void
test_filling_is_set_apart(void)
{
    g_autoptr(GArray) moments = g_array_new(FALSE, FALSE, sizeof(DoctorMoment));
    g_auto(DoctorClasses) classes = {0};

    for (guint i = 0; i < MOMENTS; i++) {
        const Simulated filling = {.live = 1, .leak = 4000, .slower = 0.01}, steady = {.live = 1, .leak = 400};
        StatsSample *sample = stats_sample_new(STATS_SOURCE_LIVE);
        StatsArena *merged = stats_sample_arena(sample, STATS_ARENA_MERGED);
        guint64 fills = MIB + (guint64)leaked(&filling, i), leaks = MIB + (guint64)leaked(&steady, i);
        add_bin(merged, 512, 1, leaks / 512, leaks / 512);
        add_bin(merged, 4096, 1, fills / 4096, fills / 4096);
        stats_values_set(sample->totals, STATS_HELD, fills + leaks);
        DoctorMoment moment = {.seconds = i, .sample = sample};
        g_array_append_val(moments, moment);
    }
    doctor_classes(moments, &classes);
    g_assert_true(classes.grows && !classes.slows);
    g_assert_cmpfloat_with_epsilon(classes.rate, 400 * 1024.0, 4096);
    g_assert_cmpfloat(classes.apart, >, 1000 * 1024.0);
    g_assert_true(doctor_class_of(&classes, 4096)->fills && doctor_class_of(&classes, 4096)->grown <= 0);
    for (guint i = 0; i < moments->len; i++)
        doctor_moment_clear(&g_array_index(moments, DoctorMoment, i));
}

/* Growth without a function: the evidence says how many samples the profile should have, or without a profile which
 * code was unloaded. */
static void
test_growth_without_a_function(void)
{
    static const struct {
        DoctorProfile profile;
        const char *unloaded;
        CauseId cause;
        const char *said;
    } growths[] = {
        {DOCTOR_PROFILE_WHOLE, NULL, CAUSE_HEAP_LEAK, "the profile should contain about 60 samples of it"},
        {DOCTOR_PROFILE_WHOLE, "/lib/plugin.so", CAUSE_HEAP_LEAK, "the profile should contain about 60 samples of it"},
        {DOCTOR_PROFILE_READY, "/lib/plugin.so", CAUSE_UNLOADED_CODE, "/lib/plugin.so was unloaded during the watch"}};

    for (gsize i = 0; i < G_N_ELEMENTS(growths); i++) {
        g_auto(Examined) examined = {0};
        const Simulated process = {.live = 40, .leak = 1024};
        examine(&examined, &process);
        for (guint j = 0; j < examined.evidence.moments->len; j++)
            stats_values_set(g_array_index(examined.evidence.moments, DoctorMoment, j).sample->totals,
                             STATS_SAMPLING_LG_PERIOD, 19);
        examined.evidence.profile = growths[i].profile;
        examined.evidence.unloaded = growths[i].unloaded;
        judge(&examined);
        const DoctorFinding *finding = finding_at(&examined, 0);
        g_assert_cmpint(finding->cause, ==, growths[i].cause);
        g_assert_true(g_str_has_prefix(finding->evidence->pdata[finding->evidence->len - 1], growths[i].said));
    }
}

/* In a heap that does not grow, live memory that was allocated since sampling began is a cache's, with all of its
 * class. */
static void
test_young_profile_of_a_cache(void)
{
    g_auto(Examined) examined = {0};
    const Simulated process = {.live = 100};

    examine(&examined, &process);
    examined.evidence.profile = DOCTOR_PROFILE_YOUNG;
    examined.evidence.holder = stack_new("cache_insert", 20.0 * (gdouble)MIB, 0);
    examined.evidence.holder->moved = 20.0 * (gdouble)MIB;
    judge(&examined);
    const DoctorFinding *finding = finding_at(&examined, 0);
    g_assert_cmpint(finding->cause, ==, CAUSE_CACHE);
    g_assert_cmpstr(finding->functions->pdata[0], ==, "cache_insert");
    g_assert_cmpfloat_with_epsilon(finding->bytes, 100.0 * (gdouble)MIB, 1);
}

/* Limiting caches to small objects frees only what the larger classes must hold. */
static void
test_remedy_of_thread_caches(void)
{
    static const struct {
        guint64 live;
        const char *remedy;
    } caches[] = {{200, "thread.tcache.flush in each"}, {10, "lg_tcache_max:13"}};

    for (gsize i = 0; i < G_N_ELEMENTS(caches); i++) {
        g_auto(Examined) examined = {0};
        const Simulated process = {.live = caches[i].live, .tcache = 80};
        examine(&examined, &process);
        judge(&examined);
        const DoctorFinding *finding = finding_at(&examined, 0);
        g_assert_cmpint(finding->cause, ==, CAUSE_THREAD_CACHES);
        g_assert_true(g_str_has_prefix(finding->advice, caches[i].remedy));
        g_assert_cmpfloat_with_epsilon(finding->gives_back, (i == 0 ? 80 : 70) * (gdouble)MIB, 65536);
    }
}

/* Dumps without statistics are judged by the significance of the stack. */
static void
test_dumps_alone(void)
{
    for (guint i = 0; i < 2; i++) {
        g_auto(Examined) examined = {0};
        doctor_evidence_init(&examined.evidence);
        doctor_classes(examined.evidence.moments, &examined.classes);
        examined.evidence.profile = DOCTOR_PROFILE_WHOLE;
        examined.evidence.profiled = 100.0 * (gdouble)MIB;
        examined.evidence.profiled_seconds = 3600;
        DoctorStack *stack = stack_new("session_store", 60.0 * (gdouble)MIB, 36.0 * (gdouble)MIB);
        stack->p = i == 0 ? 1e-4 : 0.2;
        g_ptr_array_add(examined.evidence.growing, stack);
        judge(&examined);
        g_assert_cmpuint(examined.report.findings->len, ==, i == 0);
        if (i == 0)
            g_assert_cmpfloat_with_epsilon(finding_at(&examined, 0)->rate, 36.0 * (gdouble)MIB / 3600, 1);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/doctor/judge/causes", test_causes);
    g_test_add_func("/doctor/judge/growth", test_growth_has_a_rate);
    g_test_add_func("/doctor/judge/holes", test_holes_have_an_owner);
    g_test_add_func("/doctor/judge/healthy", test_healthy_says_what_would_have_been_seen);
    g_test_add_func("/doctor/judge/stacks", test_stacks);
    g_test_add_func("/doctor/judge/growth-of-many-sizes", test_growth_of_many_sizes);
    g_test_add_func("/doctor/judge/bytes-of-a-leak", test_bytes_of_a_leak);
    g_test_add_func("/doctor/judge/holder", test_holder);
    g_test_add_func("/doctor/judge/holder-by-its-samples", test_holder_by_its_samples);
    g_test_add_func("/doctor/judge/unloaded-holder", test_unloaded_holder);
    g_test_add_func("/doctor/judge/dirty-pages-of-a-sleeper", test_dirty_pages_of_a_sleeper);
    g_test_add_func("/doctor/judge/churn-by-births", test_churn_by_births);
    g_test_add_func("/doctor/judge/unseen-allocations", test_unseen_allocations);
    g_test_add_func("/doctor/judge/many-holders", test_many_holders);
    g_test_add_func("/doctor/judge/part-of-the-heap", test_part_of_the_heap);
    g_test_add_func("/doctor/judge/dirty-pages-that-fall", test_dirty_pages_that_fall);
    g_test_add_func("/doctor/judge/order", test_order);
    g_test_add_func("/doctor/judge/nothing", test_nothing_is_known);
    g_test_add_func("/doctor/judge/one-look", test_one_look);
    g_test_add_func("/doctor/judge/filling-apart", test_filling_is_set_apart);
    g_test_add_func("/doctor/judge/growth-without-function", test_growth_without_a_function);
    g_test_add_func("/doctor/judge/young-cache", test_young_profile_of_a_cache);
    g_test_add_func("/doctor/judge/thread-caches", test_remedy_of_thread_caches);
    g_test_add_func("/doctor/judge/dumps-alone", test_dumps_alone);
    return g_test_run();
}
