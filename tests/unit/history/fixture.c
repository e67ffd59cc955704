/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include "stats/intern.h"

#include <glib/gstdio.h>

char *
fixture_path(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *directory = g_dir_make_tmp("jescope-history-XXXXXX", &error);
    g_assert_no_error(error);
    return g_build_filename(directory, "history.db", NULL);
}

void
fixture_remove(char *path)
{
    static const char *const endings[] = {"", "-wal", "-shm", "-journal"};
    for (size_t i = 0; i < G_N_ELEMENTS(endings); i++) {
        g_autofree char *name = g_strconcat(path, endings[i], NULL);
        g_unlink(name);
    }
    g_autofree char *directory = g_path_get_dirname(path);
    g_assert_cmpint(g_rmdir(directory), ==, 0);
    g_free(path);
}

static StatsTable *
make_classes(StatsScope scope, StatsMetric size, StatsMetric count, guint number)
{
    StatsTable *table = stats_table_new(scope);
    for (guint i = 0; i < 3; i++) {
        StatsValues *row = stats_table_add(table, NULL);
        stats_values_set(row, size, 16 * (i + 1));
        stats_values_set(row, count, number * (i + 1) * 2654435761u % 1000003); /* as unsteady as life */
    }
    return table;
}

StatsSample *
fixture_sample(gint64 time_us, guint number)
{
    StatsSample *sample = stats_sample_new(STATS_SOURCE_LIVE);
    sample->time_us = time_us;
    stats_values_set(sample->totals, STATS_ALLOCATED, 1000000 + number * 4096);
    stats_values_set(sample->totals, STATS_RESIDENT, 9000000 - number);
    sample->mutexes = stats_table_new(STATS_SCOPE_MUTEX);
    stats_values_set(stats_table_add(sample->mutexes, "ctl"), STATS_MUTEX_OPS, number * 5);
    static const guint arenas[] = {0, 3, STATS_ARENA_MERGED};
    for (guint i = 0; i < G_N_ELEMENTS(arenas); i++) {
        StatsArena *arena = stats_sample_arena(sample, arenas[i]);
        arena->name = arenas[i] == 3 ? stats_intern("auto 3", 6) : NULL;
        arena->dss = stats_intern("secondary", 9);
        stats_values_set(arena->values, STATS_ARENA_MAPPED, number * 1000 + arenas[i]);
        stats_values_set(arena->values, STATS_ARENA_DIRTY_DECAY, (guint64)-1);
        arena->bins = make_classes(STATS_SCOPE_BIN, STATS_BIN_SIZE, STATS_BIN_CURREGS, number);
        arena->large = make_classes(STATS_SCOPE_LARGE, STATS_LARGE_SIZE, STATS_LARGE_CURLEXTENTS, number);
        arena->mutexes = stats_table_new(STATS_SCOPE_MUTEX);
        stats_values_set(stats_table_add(arena->mutexes, "extents_dirty"), STATS_MUTEX_WAIT, number + arenas[i]);
    }
    return sample;
}

static void
assert_table(const StatsTable *a, const StatsTable *b)
{
    g_assert_cmpint(a == NULL, ==, b == NULL);
    if (a == NULL)
        return;
    g_assert_cmpuint(a->count, ==, b->count);
    for (guint i = 0; i < a->count; i++) {
        gsize bytes = sizeof(guint64) * (1 + stats_scope_count(a->scope));
        g_assert_cmpmem(stats_table_row(a, i), bytes, stats_table_row(b, i), bytes);
        if (a->scope == STATS_SCOPE_MUTEX)
            g_assert_cmpstr(a->names[i], ==, b->names[i]);
    }
}

static void
assert_values(const StatsValues *a, const StatsValues *b, StatsScope scope)
{
    gsize bytes = sizeof(guint64) * (1 + stats_scope_count(scope));
    g_assert_cmpmem(a, bytes, b, bytes);
}

void
fixture_assert_sample(const StatsSample *sample, guint number)
{
    g_autoptr(StatsSample) wanted = fixture_sample(sample->time_us, number);
    assert_values(sample->totals, wanted->totals, STATS_SCOPE_TOTALS);
    assert_table(sample->mutexes, wanted->mutexes);
    g_assert_cmpuint(sample->arenas->len, ==, wanted->arenas->len);
    for (guint i = 0; i < wanted->arenas->len; i++) {
        const StatsArena *a = sample->arenas->pdata[i], *b = wanted->arenas->pdata[i];
        g_assert_cmpuint(a->index, ==, b->index);
        g_assert_cmpstr(a->name, ==, b->name);
        g_assert_cmpstr(a->dss, ==, b->dss);
        assert_values(a->values, b->values, STATS_SCOPE_ARENA);
        assert_table(a->bins, b->bins);
        assert_table(a->large, b->large);
        assert_table(a->mutexes, b->mutexes);
    }
}

History *
fixture_open(const char *path)
{
    g_autoptr(GError) error = NULL;
    History *history = history_open(path, HISTORY_WRITE, &error);
    g_assert_no_error(error);
    return history;
}

gint64
fixture_begin(History *history, const char *target, gint64 pid)
{
    g_autoptr(GError) error = NULL;
    HistoryLife life = {.target = target,
                        .source = HISTORY_SOURCE_LIVE,
                        .pid = pid,
                        .start_ticks = 100,
                        .boot = "boot",
                        .version = "5.3.0",
                        .every_us = (guint64)(10 * SECOND)};
    gint64 incarnation;
    history_begin(history, &life, &incarnation, &error);
    g_assert_no_error(error);
    return incarnation;
}

void
fixture_add(History *history, gint64 incarnation, gint64 first_us, guint count)
{
    for (guint i = 0; i < count; i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(StatsSample) sample = fixture_sample(first_us + i * 10 * SECOND, i);
        history_add(history, incarnation, sample, HISTORY_EVERYTHING, &error);
        g_assert_no_error(error);
    }
}

static gboolean
keep_sample(StatsSample *sample, gpointer data, GError **error)
{
    g_ptr_array_add(data, stats_sample_ref(sample));
    return TRUE;
}

static void
unref_sample(gpointer sample)
{
    stats_sample_unref(sample);
}

GPtrArray *
fixture_read(History *history, const char *target, HistoryRange range)
{
    g_autoptr(GError) error = NULL;
    GPtrArray *samples = g_ptr_array_new_with_free_func(unref_sample);
    StatsIterator *iterator = history_iterator_new(history, target, range, HISTORY_EVERYTHING, &error);
    g_assert_no_error(error);
    iterator->each(iterator, keep_sample, samples, &error);
    g_assert_no_error(error);
    iterator->free(iterator);
    return samples;
}
