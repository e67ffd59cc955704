/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/summary.h"

#include "stats/readable.h"

enum {
    CLASSES_SHOWN = 5,
    ARENAS_SHOWN = 8,
    WIDTH = 11,
};

static const StatsValues *
merged_values(const StatsSample *sample)
{
    const StatsArena *merged = stats_sample_find(sample, STATS_ARENA_MERGED);
    return merged != NULL ? merged->values : NULL;
}

/* One step from allocated to mapped: the size, and the meaning of the difference to the previous one. */
static const struct {
    StatsMetric metric;
    const char *name;
    const char *gap;
} steps[] = {
    {STATS_ALLOCATED, "allocated", NULL},
    {STATS_ACTIVE, "active", "free space inside pages in use (fragmentation)"},
    {STATS_RESIDENT, "resident", "unused pages not returned yet, and jemalloc's own data"},
    {STATS_MAPPED, "mapped", "untouched pages, and muzzy ones (resident until taken)"},
};

static void
append_part(GString *out, uint64_t bytes, uint64_t whole, const char *meaning)
{
    if (bytes == 0 || whole == 0)
        return;
    g_string_append(out, "    +");
    readable_append_size(out, (double)bytes, WIDTH + 6);
    g_string_append_printf(out, "  %5.1f%%  %s\n", 100.0 * (double)bytes / (double)whole, meaning);
}

/* Appends the memory held by the program, and the rest of allocated. */
static void
append_held(GString *out, const StatsSample *sample)
{
    uint64_t held, allocated;
    StatsHeld parts;
    if (!stats_values_get(sample->totals, STATS_HELD, &held) ||
        !stats_values_get(sample->totals, STATS_ALLOCATED, &allocated))
        return;
    stats_held_parts(sample, &parts);
    g_string_append_printf(out, "  %-13s", "held");
    readable_append_size(out, (double)held, WIDTH);
    g_string_append_printf(out, "          what the program holds%s\n",
                           parts.has_cached ? "" : ", with what waits in thread caches");
    append_part(out, parts.cached, allocated, "in thread caches, freed by the program");
    append_part(out, parts.internal, allocated, "jemalloc's own allocations, part of metadata");
    append_part(out, parts.sampling, allocated, "added by sampling (estimate)");
}

static void
append_steps(GString *out, const StatsSample *sample)
{
    uint64_t before = 0;
    append_held(out, sample);
    for (gsize i = 0; i < G_N_ELEMENTS(steps); i++) {
        uint64_t value;
        if (!stats_values_get(sample->totals, steps[i].metric, &value))
            continue;
        if (before != 0 && value >= before)
            append_part(out, value - before, value, steps[i].gap);
        g_string_append_printf(out, "  %-13s", steps[i].name);
        readable_append_size(out, (double)value, WIDTH);
        g_string_append_c(out, '\n');
        before = value;
    }
}

static void
append_line(GString *out, const char *name, uint64_t bytes, const char *meaning)
{
    g_string_append_printf(out, "  %-13s", name);
    readable_append_size(out, (double)bytes, WIDTH);
    g_string_append_printf(out, "          %s\n", meaning);
}

static void
append_pages(GString *out, const StatsSample *sample, StatsMetric metric, const char *name, const char *meaning)
{
    uint64_t page, pages;
    const StatsValues *merged = merged_values(sample);
    if (merged != NULL && stats_values_get(sample->totals, STATS_PAGE, &page) &&
        stats_values_get(merged, metric, &pages))
        append_line(out, name, pages * page, meaning);
}

static const char *
dirty_meaning(const StatsSample *sample)
{
    for (guint i = 0; i < sample->arenas->len; i++) {
        const StatsArena *arena = sample->arenas->pdata[i];
        uint64_t decay;
        if (stats_values_get(arena->values, STATS_ARENA_DIRTY_DECAY, &decay) && (int64_t)decay < 0)
            return "unused pages, never returned if dirty_decay_ms is -1";
    }
    return "unused pages, returned after the decay time";
}

static void
append_waiting(GString *out, const StatsSample *sample)
{
    uint64_t value;
    append_pages(out, sample, STATS_ARENA_PDIRTY, "dirty", dirty_meaning(sample));
    append_pages(out, sample, STATS_ARENA_PMUZZY, "muzzy", "unused pages the kernel may take (MADV_FREE)");
    if (stats_values_get(sample->totals, STATS_RETAINED, &value))
        append_line(out, "retained", value, "address space kept for reuse (no memory except in huge pages)");
    if (stats_values_get(sample->totals, STATS_METADATA, &value))
        append_line(out, "metadata", value, "jemalloc's own data");
}

/* Appends the kernel's figures of the process, next to jemalloc's resident. */
static void
append_process(GString *out, const StatsSample *sample)
{
    static const struct {
        StatsMetric metric;
        const char *name;
        const char *meaning;
    } lines[] = {
        {STATS_RSS, "RSS", "resident memory of the process, as the kernel counts it"},
        {STATS_PSS, "PSS", "the same, shared pages divided among the processes that share them"},
        {STATS_ANONYMOUS, "anonymous", "the part of RSS without a file: heaps, stacks"},
        {STATS_OUTSIDE, "outside", "the part of anonymous that is not this jemalloc's (lower bound)"},
    };
    uint64_t value;
    if (!stats_values_get(sample->totals, STATS_RSS, &value))
        return;
    g_string_append_c(out, '\n');
    for (gsize i = 0; i < G_N_ELEMENTS(lines); i++)
        if (stats_values_get(sample->totals, lines[i].metric, &value))
            append_line(out, lines[i].name, value, lines[i].meaning);
}

gboolean
summary_bin_waste(const StatsValues *bin, uint64_t *live_bytes, uint64_t *wasted_bytes)
{
    uint64_t size, regs, slabs, live, capacity;
    if (!stats_values_get(bin, STATS_BIN_SIZE, &size) || !stats_values_get(bin, STATS_BIN_NREGS, &regs) ||
        !stats_values_get(bin, STATS_BIN_CURSLABS, &slabs) || !stats_values_get(bin, STATS_BIN_CURREGS, &live))
        return FALSE;
    if (__builtin_mul_overflow(slabs, regs, &capacity) || __builtin_mul_overflow(capacity, size, &capacity) ||
        __builtin_mul_overflow(live, size, &live) || live > capacity)
        return FALSE;
    *live_bytes = live;
    *wasted_bytes = capacity - live;
    return TRUE;
}

typedef struct {
    uint64_t size;
    uint64_t live;
    uint64_t wasted;
} ClassRow;

static gint
by_waste(gconstpointer one, gconstpointer other)
{
    const ClassRow *a = one;
    const ClassRow *b = other;
    return a->wasted != b->wasted ? (a->wasted > b->wasted ? -1 : 1) : (a->size > b->size) - (a->size < b->size);
}

static GArray *
wasteful_classes(const StatsTable *bins)
{
    GArray *rows = g_array_new(FALSE, FALSE, sizeof(ClassRow));
    for (guint i = 0; bins != NULL && i < bins->count; i++) {
        const StatsValues *bin = stats_table_row(bins, i);
        ClassRow row;
        if (!summary_bin_waste(bin, &row.live, &row.wasted) || row.wasted == 0)
            continue;
        row.size = stats_values_or(bin, STATS_BIN_SIZE, 0);
        g_array_append_val(rows, row);
    }
    g_array_sort(rows, by_waste);
    return rows;
}

static void
append_classes(GString *out, const StatsSample *sample)
{
    const StatsArena *merged = stats_sample_find(sample, STATS_ARENA_MERGED);
    g_autoptr(GArray) rows = wasteful_classes(merged != NULL ? merged->bins : NULL);
    if (rows->len == 0)
        return;
    g_string_append(out, "\n  size class       wasted     in use   full   (the emptiest)\n");
    for (guint i = 0; i < MIN(rows->len, CLASSES_SHOWN); i++) {
        const ClassRow *row = &g_array_index(rows, ClassRow, i);
        g_string_append_printf(out, "  %10" G_GUINT64_FORMAT "  ", row->size);
        readable_append_size(out, (double)row->wasted, WIDTH);
        readable_append_size(out, (double)row->live, WIDTH);
        g_string_append_printf(out, "  %4.0f%%\n", 100.0 * (double)row->live / (double)(row->live + row->wasted));
    }
}

static uint64_t
arena_allocated(const StatsArena *arena)
{
    return stats_values_or(arena->values, STATS_ARENA_ALLOCATED, 0);
}

static gint
by_allocated(gconstpointer one, gconstpointer other)
{
    const StatsArena *a = *(StatsArena *const *)one;
    const StatsArena *b = *(StatsArena *const *)other;
    if (arena_allocated(a) != arena_allocated(b))
        return arena_allocated(a) > arena_allocated(b) ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

static void
append_arena(GString *out, const StatsArena *arena, uint64_t all)
{
    static const StatsMetric shown[] = {STATS_ARENA_ACTIVE, STATS_ARENA_RESIDENT};
    g_string_append_printf(out, "  %5u  %5.1f%%", arena->index,
                           all > 0 ? 100.0 * (double)arena_allocated(arena) / (double)all : 0.0);
    readable_append_size(out, (double)arena_allocated(arena), WIDTH);
    for (gsize i = 0; i < G_N_ELEMENTS(shown); i++) {
        uint64_t value;
        if (stats_values_get(arena->values, shown[i], &value))
            readable_append_size(out, (double)value, WIDTH);
        else
            g_string_append_printf(out, "%*s", WIDTH, "-");
    }
    uint64_t threads;
    if (stats_values_get(arena->values, STATS_ARENA_THREADS, &threads))
        g_string_append_printf(out, "  %7" G_GUINT64_FORMAT, threads);
    if (arena->name != NULL)
        g_string_append_printf(out, "  %s", arena->name);
    g_string_append_c(out, '\n');
}

static void
append_arenas(GString *out, const StatsSample *sample)
{
    guint count = stats_sample_arena_count(sample);
    g_autoptr(GPtrArray) arenas = g_ptr_array_new();
    uint64_t all = 0;
    for (guint i = 0; i < count; i++) {
        g_ptr_array_add(arenas, sample->arenas->pdata[i]);
        all += arena_allocated(sample->arenas->pdata[i]);
    }
    if (count == 0)
        return;
    g_ptr_array_sort(arenas, by_allocated);
    g_string_append(out, "\n  arena   share  allocated     active   resident  threads\n");
    for (guint i = 0; i < MIN(count, ARENAS_SHOWN); i++)
        append_arena(out, arenas->pdata[i], all);
    if (count > ARENAS_SHOWN)
        g_string_append_printf(out, "  and %u more\n", count - ARENAS_SHOWN);
}

void
summary_append(GString *out, const StatsSample *sample)
{
    g_autofree char *notice = stats_outside_notice(sample->totals);
    if (notice != NULL)
        g_string_append_printf(out, "  WARNING: %s\n\n", notice);
    append_steps(out, sample);
    g_string_append_c(out, '\n');
    append_waiting(out, sample);
    append_process(out, sample);
    append_classes(out, sample);
    append_arenas(out, sample);
}
