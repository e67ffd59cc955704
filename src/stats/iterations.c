/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/iterations.h"

typedef struct {
    guint first; /* index of its first arena in ARENAS */
    guint count;
    gint64 time_us;
    ArenaSizes totals;
} Iteration;

struct Iterations {
    GArray *iterations; /* of Iteration */
    GArray *arenas;     /* of ArenaSizes */
};

Iterations *
iterations_new(void)
{
    Iterations *iterations = g_new0(Iterations, 1);
    iterations->iterations = g_array_new(FALSE, FALSE, sizeof(Iteration));
    iterations->arenas = g_array_new(FALSE, FALSE, sizeof(ArenaSizes));
    return iterations;
}

void
iterations_free(Iterations *iterations)
{
    if (iterations == NULL)
        return;
    g_array_unref(iterations->iterations);
    g_array_unref(iterations->arenas);
    g_free(iterations);
}

static ArenaSizes
sizes_of(guint arena, const StatsValues *values, const StatsMetric *metrics)
{
    ArenaSizes sizes = {.arena = arena};
    for (guint i = 0; i < SIZE_COUNT; i++)
        if (stats_values_get(values, metrics[i], &sizes.sizes[i]))
            sizes.present |= 1u << i;
    return sizes;
}

gboolean
iterations_add(StatsSample *sample, gpointer data, GError **error)
{
    static const StatsMetric of_totals[SIZE_COUNT] = {STATS_ALLOCATED, STATS_ACTIVE, STATS_MAPPED};
    static const StatsMetric of_arena[SIZE_COUNT] = {STATS_ARENA_ALLOCATED, STATS_ARENA_ACTIVE, STATS_ARENA_MAPPED};
    Iterations *iterations = data;
    Iteration iteration = {
        .first = iterations->arenas->len,
        .count = stats_sample_arena_count(sample),
        .time_us = sample->time_us,
        .totals = sizes_of(0, sample->totals, of_totals),
    };
    for (guint i = 0; i < iteration.count; i++) {
        const StatsArena *arena = sample->arenas->pdata[i];
        ArenaSizes sizes = sizes_of(arena->index, arena->values, of_arena);
        g_array_append_val(iterations->arenas, sizes);
    }
    g_array_append_val(iterations->iterations, iteration);
    return TRUE;
}

guint
iterations_count(const Iterations *iterations)
{
    return iterations->iterations->len;
}

static const Iteration *
at(const Iterations *iterations, guint index)
{
    return &g_array_index(iterations->iterations, Iteration, index);
}

const ArenaSizes *
iterations_arenas(const Iterations *iterations, guint index, guint *count)
{
    *count = at(iterations, index)->count;
    return &g_array_index(iterations->arenas, ArenaSizes, at(iterations, index)->first);
}

const ArenaSizes *
iterations_totals(const Iterations *iterations, guint index)
{
    return &at(iterations, index)->totals;
}

gint64
iterations_time(const Iterations *iterations, guint index)
{
    return at(iterations, index)->time_us;
}

const char *
size_kind_name(SizeKind kind)
{
    static const char *const names[SIZE_COUNT] = {"total", "active", "mapped"};
    return names[kind];
}
