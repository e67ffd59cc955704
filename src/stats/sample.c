/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/stats.h"

#include "stats/intern.h"
#include "target/own-room.h"

#include <string.h>

static guint
place(StatsMetric metric)
{
    return metric - stats_scope_first(stats_metrics[metric].scope);
}

static gsize
values_size(StatsScope scope)
{
    return sizeof(StatsValues) + stats_scope_count(scope) * sizeof(uint64_t);
}

StatsValues *
stats_values_new(StatsScope scope)
{
    return g_malloc0(values_size(scope));
}

gboolean
stats_values_get(const StatsValues *values, StatsMetric metric, uint64_t *value)
{
    guint bit = place(metric);
    if ((values->present & (UINT64_C(1) << bit)) == 0)
        return FALSE;
    *value = values->values[bit];
    return TRUE;
}

uint64_t
stats_values_or(const StatsValues *values, StatsMetric metric, uint64_t absent)
{
    uint64_t value = absent;
    stats_values_get(values, metric, &value);
    return value;
}

void
stats_values_set(StatsValues *values, StatsMetric metric, uint64_t value)
{
    guint bit = place(metric);
    values->present |= UINT64_C(1) << bit;
    values->values[bit] = value;
}

StatsTable *
stats_table_new(StatsScope scope)
{
    StatsTable *table = g_new0(StatsTable, 1);
    table->scope = scope;
    return table;
}

void
stats_table_free(StatsTable *table)
{
    if (table == NULL)
        return;
    for (guint i = 0; table->names != NULL && i < table->count; i++)
        stats_intern_unref(table->names[i]);
    g_free(table->names);
    g_free(table->rows);
    g_free(table);
}

StatsValues *
stats_table_row(const StatsTable *table, guint index)
{
    return (StatsValues *)(void *)(table->rows + (gsize)index * (1 + stats_scope_count(table->scope)));
}

StatsValues *
stats_table_add(StatsTable *table, const char *name)
{
    if (table->count == table->reserved) {
        table->reserved = MAX(16, table->reserved * 2);
        table->rows = g_realloc_n(table->rows, table->reserved, values_size(table->scope));
        if (table->scope == STATS_SCOPE_MUTEX)
            table->names = g_renew(const char *, table->names, table->reserved);
    }
    if (table->scope == STATS_SCOPE_MUTEX) {
        const char *interned = stats_intern(name, strlen(name));
        table->names[table->count] = interned != NULL ? interned : stats_intern("?", 1);
    }
    StatsValues *row = stats_table_row(table, table->count++);
    memset(row, 0, values_size(table->scope));
    return row;
}

const StatsValues *
stats_table_find(const StatsTable *table, const char *name)
{
    for (guint i = 0; table->names != NULL && i < table->count; i++)
        if (strcmp(table->names[i], name) == 0)
            return stats_table_row(table, i);
    return NULL;
}

static void
arena_free(gpointer data)
{
    StatsArena *arena = data;
    stats_intern_unref(arena->name);
    stats_intern_unref(arena->dss);
    stats_table_free(arena->bins);
    stats_table_free(arena->large);
    stats_table_free(arena->mutexes);
    g_free(arena);
}

StatsSample *
stats_sample_new(StatsSource source)
{
    StatsSample *sample = g_new0(StatsSample, 1);
    g_atomic_ref_count_init(&sample->references);
    sample->time_us = STATS_TIME_UNKNOWN;
    sample->source = source;
    sample->totals = stats_values_new(STATS_SCOPE_TOTALS);
    sample->arenas = g_ptr_array_new_with_free_func(arena_free);
    return sample;
}

StatsSample *
stats_sample_ref(StatsSample *sample)
{
    g_atomic_ref_count_inc(&sample->references);
    return sample;
}

void
stats_sample_unref(StatsSample *sample)
{
    if (!g_atomic_ref_count_dec(&sample->references))
        return;
    stats_intern_unref(sample->version);
    stats_intern_unref(sample->stream);
    g_free(sample->totals);
    stats_table_free(sample->mutexes);
    g_ptr_array_unref(sample->arenas);
    stats_sample_charge(sample, sample->account, 0);
    g_free(sample);
}

/* The first arena whose number is not below INDEX. */
static guint
lower_bound(const StatsSample *sample, guint index)
{
    guint low = 0;
    guint high = sample->arenas->len;
    while (low < high) {
        guint middle = low + (high - low) / 2;
        const StatsArena *arena = sample->arenas->pdata[middle];
        if (arena->index < index)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

StatsArena *
stats_sample_find(const StatsSample *sample, guint index)
{
    guint at = lower_bound(sample, index);
    if (at == sample->arenas->len)
        return NULL;
    StatsArena *arena = sample->arenas->pdata[at];
    return arena->index == index ? arena : NULL;
}

StatsArena *
stats_sample_arena(StatsSample *sample, guint index)
{
    StatsArena *arena = stats_sample_find(sample, index);
    if (arena != NULL)
        return arena;
    /* One allocation for both: a day's log has a million of them. */
    arena = g_malloc0(sizeof(*arena) + values_size(STATS_SCOPE_ARENA));
    arena->index = index;
    arena->values = (StatsValues *)(void *)(arena + 1);
    g_ptr_array_insert(sample->arenas, lower_bound(sample, index), arena);
    return arena;
}

StatsSample *
stats_sample_summary(const StatsSample *sample)
{
    StatsSample *summary = stats_sample_new(sample->source);
    const StatsArena *merged = stats_sample_find(sample, STATS_ARENA_MERGED);

    summary->time_us = sample->time_us;
    summary->version = stats_intern_ref(sample->version);
    memcpy(summary->totals, sample->totals, values_size(STATS_SCOPE_TOTALS));
    if (merged != NULL)
        memcpy(stats_sample_arena(summary, STATS_ARENA_MERGED)->values, merged->values, values_size(STATS_SCOPE_ARENA));
    return summary;
}

static guint64
count_in_table(const StatsTable *table)
{
    guint64 count = 0;
    for (guint i = 0; table != NULL && i < table->count; i++)
        count += (guint)__builtin_popcountll(stats_table_row(table, i)->present);
    return count;
}

guint64
stats_sample_values(const StatsSample *sample)
{
    guint64 count = (guint)__builtin_popcountll(sample->totals->present) + count_in_table(sample->mutexes);
    for (guint i = 0; i < sample->arenas->len; i++) {
        const StatsArena *arena = sample->arenas->pdata[i];
        count += (guint)__builtin_popcountll(arena->values->present) + (arena->name != NULL) + (arena->dss != NULL) +
                 count_in_table(arena->bins) + count_in_table(arena->large) + count_in_table(arena->mutexes);
    }
    return count;
}

static guint64
table_bytes(const StatsTable *table)
{
    if (table == NULL)
        return 0;
    return sizeof(StatsTable) +
           table->reserved * (values_size(table->scope) + (table->names != NULL ? sizeof(const char *) : 0));
}

guint64
stats_sample_bytes(const StatsSample *sample)
{
    guint64 bytes = sizeof(StatsSample) + values_size(STATS_SCOPE_TOTALS) + table_bytes(sample->mutexes);
    for (guint i = 0; i < sample->arenas->len; i++) {
        const StatsArena *arena = sample->arenas->pdata[i];
        bytes += sizeof(gpointer) + sizeof(StatsArena) + values_size(STATS_SCOPE_ARENA) + table_bytes(arena->bins) +
                 table_bytes(arena->large) + table_bytes(arena->mutexes);
    }
    return bytes;
}

void
stats_sample_charge(StatsSample *sample, uid_t account, guint64 bytes)
{
    if (sample->charged > 0)
        own_room_hold(sample->account, -(gint64)sample->charged);
    sample->account = account;
    sample->charged = bytes;
    if (bytes > 0)
        own_room_hold(account, (gint64)bytes);
}

char *
stats_unread_notice(const StatsSample *sample)
{
    if (sample->unread == 0)
        return NULL;
    return g_strdup_printf("the size classes of %u of %u arenas were left out: there are more than a sample may have, "
                           "or too little memory is left for them",
                           sample->unread, stats_sample_arena_count(sample));
}

guint
stats_sample_arena_count(const StatsSample *sample)
{
    return lower_bound(sample, STATS_ARENA_MERGED);
}

gboolean
stats_time_is_known(gint64 time_us)
{
    static const gint64 first_us = -62135596800 * G_USEC_PER_SEC, end_us = 253402300800 * G_USEC_PER_SEC;
    return time_us >= first_us && time_us < end_us;
}
