/* SPDX-License-Identifier: Apache-2.0 */
#include "history/cursor.h"
#include "stats/intern.h"

typedef struct {
    StatsIterator base;
    History *history;
    gint64 target;
    HistoryRange range;
    HistoryParts parts;
    gboolean only[STATS_METRIC_COUNT]; /* the requested metrics, if not all */
    gboolean everything;
} HistoryIterator;

static gboolean
load_wanted(Block *block, gpointer data, GError **error)
{
    const HistoryIterator *iterator = data;
    for (int part = 0; part < BLOCK_PARTS; part++)
        for (guint i = 0; block->parts[part] != NULL && i < section_columns(block->parts[part]); i++) {
            StatsMetric metric;
            if (dictionary_is_metric(iterator->history, section_key(block->parts[part], i)->metric, &metric) &&
                iterator->only[metric] && !section_load_column(block->parts[part], i, error))
                return FALSE;
        }
    return TRUE;
}

static gboolean
each_sample(StatsIterator *base, StatsSampleFunc func, gpointer data, GError **error)
{
    HistoryIterator *iterator = (HistoryIterator *)base;
    g_autoptr(Cursor) cursor = cursor_new(iterator->history, iterator->target, iterator->range, iterator->parts, error);
    if (cursor == NULL)
        return FALSE;
    if (!iterator->everything)
        cursor_set_open_func(cursor, load_wanted, iterator);
    for (;;) {
        Block *block;
        guint row;
        if (!cursor_next(cursor, &block, &row, error))
            return FALSE;
        if (block == NULL)
            return TRUE;
        g_autoptr(StatsSample) sample = block_sample(block, iterator->history, row);
        sample->version = stats_intern_ref(block->version);
        if (!func(sample, data, error))
            return FALSE;
    }
}

static void
free_iterator(StatsIterator *base)
{
    g_free(base);
}

StatsIterator *
history_iterator_new(History *history, const char *target, HistoryRange range, HistoryParts parts, GError **error)
{
    gint64 id;
    if (!database_find_target(history, target, &id, error))
        return NULL;
    HistoryIterator *iterator = g_new0(HistoryIterator, 1);
    *iterator = (HistoryIterator){
        .base = {.each = each_sample, .free = free_iterator},
        .history = history,
        .target = id,
        .range = range,
        .parts = parts,
        .everything = TRUE,
    };
    return &iterator->base;
}

void
history_iterator_only(StatsIterator *base, const StatsMetric *metrics, guint count)
{
    HistoryIterator *iterator = (HistoryIterator *)base;
    iterator->everything = FALSE;
    for (guint i = 0; i < count; i++)
        iterator->only[metrics[i]] = TRUE;
}
