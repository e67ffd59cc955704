/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/ledger.h"

#include "stats/summary.h"

enum {
    KERNEL_STACK_BYTES = 16 << 10, /* THREAD_SIZE of x86_64 and aarch64 */
    TOLERANCE_BYTES = 4 << 20,
    TOLERANCE_SHARE = 100,
    FLAG_SLACK = 16, /* jemalloc's mappings may be 1/16 smaller than it reports, since the two are not read at the same
                      * time */
};

/* Keeps the sum of all lines far from overflow, whatever a target reports. */
#define VALUE_MAX (G_GINT64_CONSTANT(1) << 56)

const LedgerLineInfo ledger_lines[LEDGER_LINES] = {
#define LEDGER_LINE(ID, level, name, title, meaning) [LEDGER_##ID] = {LEDGER_LEVEL_##level, name, title, meaning},
#include "stats/ledger-lines.def"
#undef LEDGER_LINE
};

const char *
ledger_level_name(LedgerLevel level)
{
    static const char *const names[LEDGER_LEVELS] = {"rss", "own", "group", "sharing"};
    return names[level];
}

const char *
ledger_method_name(LedgerMethod method)
{
    static const char *const names[] = {
        [LEDGER_BY_NOTHING] = "nothing",
        [LEDGER_BY_FLAG] = "flag",
        [LEDGER_BY_SUBTRACTION] = "subtraction",
    };
    return names[method];
}

static gint64
bounded(guint64 value)
{
    return (gint64)MIN(value, (guint64)VALUE_MAX);
}

static void
set_range(Ledger *ledger, LedgerId id, gint64 bytes, gint64 low, gint64 high)
{
    ledger->lines[id] = (LedgerLine){TRUE, bytes, MIN(low, bytes), MAX(high, bytes)};
}

static void
set_exact(Ledger *ledger, LedgerId id, gint64 bytes)
{
    set_range(ledger, id, bytes, bytes, bytes);
}

static void
set_known(Ledger *ledger, LedgerId id, guint64 bytes)
{
    if (bytes != G_MAXUINT64)
        set_exact(ledger, id, bounded(bytes));
}

/* The sum of the lines of LEVEL, without the line REST. */
static gint64
sum_of(const Ledger *ledger, LedgerLevel level, LedgerId rest)
{
    gint64 sum = 0;
    for (LedgerId id = 0; id < LEDGER_LINES; id++)
        if (ledger_lines[id].level == level && id != rest)
            sum += ledger->lines[id].bytes;
    return sum;
}

/* Bytes that jemalloc reports as resident, by use. */
typedef struct {
    gint64 allocated, active, dirty, muzzy, base;
    gint64 cached, internal, sampling;
    gint64 holes;
    gboolean has_holes;
    gint64 retained, mapped;
} Heap;

static gint64
value_of(const StatsValues *values, StatsMetric metric)
{
    return values != NULL ? bounded(stats_values_or(values, metric, 0)) : 0;
}

static gint64
pages_of(const StatsValues *values, StatsMetric metric, guint64 page)
{
    guint64 pages = values != NULL ? stats_values_or(values, metric, 0) : 0, bytes;
    return __builtin_mul_overflow(pages, page, &bytes) ? VALUE_MAX : bounded(bytes);
}

static void
read_holes(const StatsTable *bins, Heap *heap)
{
    for (guint i = 0; bins != NULL && i < bins->count; i++) {
        uint64_t live, wasted;
        if (summary_bin_waste(stats_table_row(bins, i), &live, &wasted))
            heap->holes = MIN(heap->holes + bounded(wasted), VALUE_MAX);
    }
    heap->has_holes = bins != NULL;
}

static const StatsArena *
classes_of(const LedgerReadings *readings)
{
    return readings->classes != NULL ? stats_sample_find(readings->classes, STATS_ARENA_MERGED) : NULL;
}

static void
read_heap(const LedgerReadings *readings, Heap *heap)
{
    const StatsSample *sample = readings->sample;
    const StatsArena *arena = stats_sample_find(sample, STATS_ARENA_MERGED), *classes = classes_of(readings);
    const StatsValues *merged = arena != NULL ? arena->values : NULL;
    guint64 page = stats_values_or(sample->totals, STATS_PAGE, 4096);
    StatsHeld held;
    stats_held_parts(sample, &held);
    *heap = (Heap){
        .allocated = value_of(sample->totals, STATS_ALLOCATED),
        .active = value_of(sample->totals, STATS_ACTIVE),
        .dirty = pages_of(merged, STATS_ARENA_PDIRTY, page),
        .muzzy = pages_of(merged, STATS_ARENA_PMUZZY, page),
        .cached = bounded(held.cached),
        .internal = bounded(held.internal),
        .sampling = bounded(held.sampling),
        .retained = value_of(sample->totals, STATS_RETAINED),
        .mapped = value_of(sample->totals, STATS_MAPPED),
    };
    /* resident is active + dirty + the pages of base blocks; 3.x has neither resident nor metadata. */
    gint64 resident = value_of(sample->totals, STATS_RESIDENT);
    heap->base = MAX(0, resident - heap->active - heap->dirty);
    read_holes(classes != NULL ? classes->bins : NULL, heap);
}

/* An upper bound, since statistics do not have the rounding: every object of a class may be one byte larger than the
 * class below. */
static gint64
most_rounding(const StatsTable *table, StatsMetric size_metric, StatsMetric count_metric, gint64 *below)
{
    gint64 most = 0;
    for (guint i = 0; table != NULL && i < table->count; i++) {
        const StatsValues *row = stats_table_row(table, i);
        gint64 size = value_of(row, size_metric), bytes;
        if (!__builtin_mul_overflow(value_of(row, count_metric), MAX(0, size - *below - 1), &bytes))
            most = MIN(most + bytes, VALUE_MAX);
        *below = MAX(*below, size);
    }
    return most;
}

static void
set_live(const LedgerReadings *readings, const Heap *heap, Ledger *ledger)
{
    const StatsArena *classes = classes_of(readings);
    gint64 held = MAX(0, heap->allocated - heap->cached - heap->internal - heap->sampling), below = 0, most = 0;
    if (classes != NULL && classes->bins != NULL) {
        most = most_rounding(classes->bins, STATS_BIN_SIZE, STATS_BIN_CURREGS, &below);
        most += most_rounding(classes->large, STATS_LARGE_SIZE, STATS_LARGE_CURLEXTENTS, &below);
        most = MIN(most, held);
        set_range(ledger, LEDGER_ROUNDING, 0, 0, most);
    }
    set_range(ledger, LEDGER_LIVE, held, held - most, held + heap->sampling);
}

static gint64
smallest_large_bytes(const StatsSample *sample)
{
    const StatsArena *merged = stats_sample_find(sample, STATS_ARENA_MERGED);
    guint64 page = stats_values_or(sample->totals, STATS_PAGE, 4096);
    return merged != NULL
               ? pages_of(merged->values, STATS_ARENA_LARGE_SMALLEST, stats_smallest_large(page, sample->version))
               : 0;
}

/* Sets the lines that jemalloc's statistics give; returns their sum. */
static gint64
set_heap(const LedgerReadings *readings, const Heap *heap, Ledger *ledger)
{
    const MappingSum *kinds = readings->mappings->kinds;
    gint64 lazy = bounded(kinds[MAPPING_NORESERVE].lazy_free) + bounded(kinds[MAPPING_ANONYMOUS].lazy_free);
    gint64 gap = MAX(0, heap->active - heap->allocated);
    gint64 holes = heap->has_holes ? MIN(heap->holes, gap) : gap;
    gint64 muzzy = MIN(heap->muzzy, lazy);
    set_live(readings, heap, ledger);
    set_range(ledger, LEDGER_SAMPLER, heap->sampling, 0, smallest_large_bytes(readings->sample));
    set_exact(ledger, LEDGER_THREAD_CACHES, heap->cached);
    set_exact(ledger, LEDGER_SLAB_HOLES, holes);
    if (heap->has_holes)
        set_exact(ledger, LEDGER_LARGE_TAILS, gap - holes);
    set_exact(ledger, LEDGER_DIRTY, heap->dirty);
    set_range(ledger, LEDGER_MUZZY, muzzy, muzzy, heap->muzzy);
    set_exact(ledger, LEDGER_METADATA, heap->internal + heap->base);
    return sum_of(ledger, LEDGER_LEVEL_RSS, LEDGER_UNEXPLAINED);
}

/* Mappings with the flag are jemalloc's if their address space is as large as what it reports as mapped. */
static LedgerMethod
choose_method(const LedgerReadings *readings, const Heap *heap)
{
    gint64 size = bounded(readings->mappings->kinds[MAPPING_NORESERVE].size);
    if (readings->sample == NULL)
        return LEDGER_BY_NOTHING;
    return size > 0 && size >= heap->mapped - heap->mapped / FLAG_SLACK ? LEDGER_BY_FLAG : LEDGER_BY_SUBTRACTION;
}

static gint64
zeros_of(const LedgerReadings *readings, MappingKind kind)
{
    const MappingSum *sum = &readings->mappings->kinds[kind];
    return readings->zeros != NULL ? bounded(MIN(readings->zeros[kind], sum->huge)) : 0;
}

/* Memory that may be jemalloc's, still to be divided. */
typedef struct {
    gint64 said;     /* as reported by jemalloc */
    gint64 resident; /* resident according to the kernel */
    gint64 huge, zeros;
    gboolean looked; /* huge pages were examined for zeros */
} Pool;

/* Without an examination, the number of zero pages is only known if there are no huge pages. */
static void
set_zeros(Ledger *ledger, const Pool *pool, gint64 zeros)
{
    if (pool->looked || pool->huge == 0)
        set_range(ledger, LEDGER_HUGE_PAGES, zeros, 0, zeros);
    else
        ledger->lines[LEDGER_HUGE_PAGES] = (LedgerLine){0};
}

/* Explains the difference between the kernel's and jemalloc's figures. If the kernel has more: memory given back that
 * huge pages made resident again, or another user of the flag; otherwise unknown. If it has less: memory in use that
 * was not written to. Zeros in huge pages are resident although never written. */
static void
settle(const Pool *pool, const Heap *heap, gint64 foreign, Ledger *ledger)
{
    gint64 excess = MAX(0, pool->resident - pool->said);
    gint64 retained = MIN(excess, MIN(heap->retained, pool->huge));
    gint64 others = MIN(excess - retained, foreign);
    gint64 zeros = MAX(0, pool->zeros - retained);
    gint64 untouched = MAX(0, pool->said + retained + zeros - pool->resident);
    set_range(ledger, LEDGER_RETAINED, retained, 0, MIN(heap->retained, MAX(pool->huge, retained)));
    set_zeros(ledger, pool, zeros);
    set_range(ledger, LEDGER_UNTOUCHED, -untouched, -untouched, -(untouched - MIN(untouched, zeros)));
    ledger->lines[LEDGER_OTHER_ANONYMOUS].bytes += others;
    ledger->lines[LEDGER_OTHER_ANONYMOUS].high += others;
}

static Pool
pool_of(const LedgerReadings *readings, MappingKind kind)
{
    const MappingSum *sum = &readings->mappings->kinds[kind];
    return (Pool){.resident = bounded(sum->rss),
                  .huge = bounded(sum->huge),
                  .zeros = zeros_of(readings, kind),
                  .looked = readings->zeros != NULL};
}

/* Anonymous memory without the flag is not jemalloc's. Of that with the flag, at most the address space beyond
 * jemalloc's can belong to others. */
static void
divide_by_flag(const LedgerReadings *readings, const Heap *heap, gint64 said, Ledger *ledger)
{
    Pool pool = pool_of(readings, MAPPING_NORESERVE), rest = pool_of(readings, MAPPING_ANONYMOUS);
    gint64 size = bounded(readings->mappings->kinds[MAPPING_NORESERVE].size);
    pool.said = said;
    set_exact(ledger, LEDGER_OTHER_ANONYMOUS, rest.resident - rest.zeros);
    settle(&pool, heap, MAX(0, size - heap->mapped - heap->retained), ledger);
    rest.huge += pool.huge;
    set_zeros(ledger, &rest, ledger->lines[LEDGER_HUGE_PAGES].bytes + rest.zeros);
}

static void
divide_by_subtraction(const LedgerReadings *readings, const Heap *heap, gint64 said, Ledger *ledger)
{
    Pool pool = pool_of(readings, MAPPING_NORESERVE), rest = pool_of(readings, MAPPING_ANONYMOUS);
    pool.said = said;
    pool.resident += rest.resident;
    pool.huge += rest.huge;
    pool.zeros += rest.zeros;
    set_range(ledger, LEDGER_OTHER_ANONYMOUS, 0, 0, MAX(0, pool.resident - said));
    settle(&pool, heap, VALUE_MAX, ledger);
}

static void
set_anonymous(const LedgerReadings *readings, Ledger *ledger)
{
    Pool with = pool_of(readings, MAPPING_NORESERVE), without = pool_of(readings, MAPPING_ANONYMOUS);
    gint64 zeros = with.zeros + without.zeros, resident = with.resident + without.resident;
    set_range(ledger, LEDGER_OTHER_ANONYMOUS, resident - zeros, resident - zeros, resident);
    with.huge += without.huge;
    set_zeros(ledger, &with, zeros);
}

static void
divide_anonymous(const LedgerReadings *readings, Ledger *ledger)
{
    Heap heap = {0};
    gint64 said = 0;
    if (readings->sample != NULL) {
        read_heap(readings, &heap);
        said = set_heap(readings, &heap, ledger);
    }
    ledger->method = choose_method(readings, &heap);
    if (ledger->method == LEDGER_BY_FLAG)
        divide_by_flag(readings, &heap, said, ledger);
    else if (ledger->method == LEDGER_BY_SUBTRACTION)
        divide_by_subtraction(readings, &heap, said, ledger);
    else
        set_anonymous(readings, ledger);
}

static gint64
shared_of(const Mappings *mappings)
{
    return bounded(mappings->kinds[MAPPING_SHARED].rss) + bounded(mappings->kinds[MAPPING_MEMORY_FILE].rss);
}

/* Sets the lines that are kinds of mappings. */
static void
set_mappings(const Mappings *mappings, Ledger *ledger)
{
    static const struct {
        LedgerId id;
        MappingKind kind;
    } same[] = {
        {LEDGER_STACKS, MAPPING_STACK},       {LEDGER_STATIC_DATA, MAPPING_DATA},     {LEDGER_TEXT, MAPPING_TEXT},
        {LEDGER_FILE_MAPPINGS, MAPPING_FILE}, {LEDGER_SHARED_MEMORY, MAPPING_SHARED},
    };
    const MappingSum *kinds = mappings->kinds;
    for (gsize i = 0; i < G_N_ELEMENTS(same); i++)
        set_exact(ledger, same[i].id, bounded(kinds[same[i].kind].rss));
    set_exact(ledger, LEDGER_SHARED_MEMORY, shared_of(mappings));
    set_exact(ledger, LEDGER_OTHER_ALLOCATORS,
              bounded(kinds[MAPPING_BRK].rss) + bounded(kinds[MAPPING_GLIBC_ARENA].rss) +
                  bounded(kinds[MAPPING_ALLOCATOR].rss));
}

/* Moves blocks mapped by the C library's malloc to the line of its heap. */
static void
move_blocks(const LedgerReadings *readings, Ledger *ledger)
{
    LedgerLine *anonymous = &ledger->lines[LEDGER_OTHER_ANONYMOUS], *others = &ledger->lines[LEDGER_OTHER_ALLOCATORS];
    gint64 blocks = readings->blocks != NULL ? MIN(bounded(*readings->blocks), MAX(0, anonymous->bytes)) : 0;
    set_range(ledger, LEDGER_OTHER_ANONYMOUS, anonymous->bytes - blocks, MAX(0, anonymous->low - blocks),
              anonymous->high - blocks);
    set_range(ledger, LEDGER_OTHER_ALLOCATORS, others->bytes + blocks, others->low + blocks, others->high + blocks);
}

static guint64
total_of(const Mappings *mappings, gsize field)
{
    gint64 total = 0;
    for (MappingKind kind = 0; kind < MAPPING_KINDS; kind++)
        total += bounded(*(const guint64 *)(gconstpointer)((const char *)&mappings->kinds[kind] + field));
    return (guint64)total;
}

static void
set_own(const Holdings *own, guint64 mapped, Ledger *ledger)
{
    set_known(ledger, LEDGER_PAGE_TABLES, own->page_tables);
    set_known(ledger, LEDGER_SWAP, own->swap);
    set_known(ledger, LEDGER_SOCKETS, own->sockets);
    set_known(ledger, LEDGER_PIPES, own->pipes);
    set_known(ledger, LEDGER_CHILDREN, own->children);
    if (own->threads != G_MAXUINT64)
        set_exact(ledger, LEDGER_KERNEL_STACKS, bounded(own->threads) * KERNEL_STACK_BYTES);
    /* A mapped file need not be open. */
    if (own->tmpfs != G_MAXUINT64)
        set_range(ledger, LEDGER_TMPFS_FILES, MAX(0, bounded(own->tmpfs) - bounded(mapped)),
                  MAX(0, bounded(own->tmpfs) - bounded(mapped)), bounded(own->tmpfs));
}

static gint64
known_or(guint64 value, gint64 absent)
{
    return value != G_MAXUINT64 ? bounded(value) : absent;
}

/* File pages are charged to the group that read them first, so mapped pages may be charged to another group. */
static void
set_group(const Mappings *mappings, const CgroupCharges *group, Ledger *ledger)
{
    gint64 anonymous = bounded(total_of(mappings, G_STRUCT_OFFSET(MappingSum, anonymous)));
    gint64 shared = shared_of(mappings);
    gint64 files = MAX(0, (gint64)ledger->rss - anonymous - shared);
    gint64 all_anonymous = known_or(group->anonymous, anonymous), all_shared = known_or(group->shmem, 0);
    gint64 cache = MAX(0, known_or(group->file, 0) - all_shared);
    gint64 own = MIN(anonymous, all_anonymous);
    set_range(ledger, LEDGER_GROUP_PROCESS, own + MIN(files, cache) + MIN(shared, all_shared), own,
              own + MIN(files, cache) + MIN(shared, all_shared));
    set_exact(ledger, LEDGER_GROUP_OTHERS, all_anonymous - own);
    set_range(ledger, LEDGER_GROUP_CACHE, cache - MIN(files, cache), cache - MIN(files, cache), cache);
    set_range(ledger, LEDGER_GROUP_TMPFS, all_shared - MIN(shared, all_shared), all_shared - MIN(shared, all_shared),
              all_shared);
    set_known(ledger, LEDGER_GROUP_SOCKETS, group->sockets);
    set_known(ledger, LEDGER_GROUP_KERNEL_STACKS, group->kernel_stacks);
    set_known(ledger, LEDGER_GROUP_PAGE_TABLES, group->page_tables);
    if (group->kernel != G_MAXUINT64)
        set_exact(ledger, LEDGER_GROUP_KERNEL,
                  MAX(0, bounded(group->kernel) - known_or(group->kernel_stacks, 0) - known_or(group->page_tables, 0)));
    set_exact(ledger, LEDGER_GROUP_UNEXPLAINED,
              bounded(group->current) - sum_of(ledger, LEDGER_LEVEL_GROUP, LEDGER_GROUP_UNEXPLAINED));
    ledger->group = (guint64)bounded(group->current);
}

static void
set_sharing(const Mappings *mappings, Ledger *ledger)
{
    gint64 pss = bounded(total_of(mappings, G_STRUCT_OFFSET(MappingSum, pss)));
    set_exact(ledger, LEDGER_SHARED, MAX(0, (gint64)ledger->rss - pss));
    set_exact(ledger, LEDGER_SHARED_ANONYMOUS,
              bounded(total_of(mappings, G_STRUCT_OFFSET(MappingSum, shared_anonymous))));
}

void
ledger_compute(const LedgerReadings *readings, Ledger *ledger)
{
    const Mappings *mappings = readings->mappings;
    *ledger = (Ledger){.group = G_MAXUINT64};
    ledger->rss = total_of(mappings, G_STRUCT_OFFSET(MappingSum, rss)) + (guint64)bounded(mappings->unread);
    divide_anonymous(readings, ledger);
    set_mappings(mappings, ledger);
    move_blocks(readings, ledger);
    set_exact(ledger, LEDGER_UNEXPLAINED, (gint64)ledger->rss - sum_of(ledger, LEDGER_LEVEL_RSS, LEDGER_UNEXPLAINED));
    set_sharing(mappings, ledger);
    if (readings->holdings != NULL)
        set_own(readings->holdings, mappings->kinds[MAPPING_MEMORY_FILE].rss, ledger);
    if (readings->group != NULL && readings->group->current != G_MAXUINT64)
        set_group(mappings, readings->group, ledger);
}

gboolean
ledger_estimate(const StatsSample *sample, Ledger *ledger)
{
    /* Lines that cannot be separated from anonymous memory and files without the mappings. */
    static const LedgerId merged[] = {LEDGER_OTHER_ALLOCATORS, LEDGER_STACKS,          LEDGER_STATIC_DATA, LEDGER_TEXT,
                                      LEDGER_SHARED_MEMORY,    LEDGER_SHARED_ANONYMOUS};
    const StatsValues *totals = sample->totals;
    const guint64 none = G_MAXUINT64;
    guint64 rss = stats_values_or(totals, STATS_RSS, none), pss = stats_values_or(totals, STATS_PSS, none);
    guint64 anonymous = MIN(stats_values_or(totals, STATS_ANONYMOUS, rss), rss);
    gboolean counted = stats_values_or(totals, STATS_ALLOCATED, none) != none;
    Mappings mappings = {.kinds = {[MAPPING_ANONYMOUS] = {.rss = anonymous,
                                                          .pss = MIN(pss, rss),
                                                          .anonymous = anonymous,
                                                          .lazy_free = stats_values_or(totals, STATS_LAZY_FREE, 0),
                                                          .huge = stats_values_or(totals, STATS_HUGE_PAGES, 0)},
                                   [MAPPING_FILE] = {.rss = rss - anonymous}}};
    if (rss == none)
        return FALSE;
    ledger_compute(
        &(LedgerReadings){.sample = counted ? sample : NULL, .classes = counted ? sample : NULL, .mappings = &mappings},
        ledger);
    set_known(ledger, LEDGER_SWAP, stats_values_or(totals, STATS_SWAP, none));
    for (gsize i = 0; i < G_N_ELEMENTS(merged); i++)
        ledger->lines[merged[i]] = (LedgerLine){0};
    if (pss == none)
        ledger->lines[LEDGER_SHARED] = (LedgerLine){0};
    return TRUE;
}

guint64
ledger_tolerance(const Ledger *ledger)
{
    return MAX(ledger->rss / TOLERANCE_SHARE, (guint64)TOLERANCE_BYTES);
}
