/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the content of a history: targets, their spans, gaps, notes and metrics. */
#include "history/cursor.h"

static void
clear_note(gpointer data)
{
    HistoryNote *note = data;
    g_free(note->text);
    g_free(note);
}

static void
free_target(gpointer data)
{
    HistoryTarget *target = data;
    g_free(target->name);
    g_free(target->version);
    g_clear_pointer(&target->gaps, g_array_unref);
    g_clear_pointer(&target->notes, g_ptr_array_unref);
    g_free(target);
}

static gboolean
read_lives(History *history, gint64 id, HistoryTarget *target, GError **error)
{
    sqlite3_stmt *statement = database_statement(history, SQL_LIFE_LAST, error);
    gboolean ok;
    database_bind(statement, id);
    while (database_next(history, statement, &ok, error)) {
        target->source = (HistorySource)sqlite3_column_int(statement, 0);
        target->version = g_strdup((const char *)sqlite3_column_text(statement, 1));
        target->every_us = (guint64)sqlite3_column_int64(statement, 2);
        target->incarnations = (guint)sqlite3_column_int(statement, 3);
    }
    return ok;
}

static gboolean
read_span(History *history, gint64 id, HistoryTarget *target, GError **error)
{
    sqlite3_stmt *statement = database_statement(history, SQL_BLOCK_SPAN, error);
    gboolean ok;
    database_bind(statement, id);
    while (database_next(history, statement, &ok, error)) {
        target->first_us = sqlite3_column_int64(statement, 0);
        target->last_us = sqlite3_column_int64(statement, 1);
        target->samples = (guint64)sqlite3_column_int64(statement, 2);
    }
    return ok;
}

static gboolean
read_notes(History *history, gint64 id, HistoryTarget *target, GError **error)
{
    sqlite3_stmt *statement = database_statement(history, SQL_NOTES, error);
    gboolean ok;
    target->notes = g_ptr_array_new_with_free_func(clear_note);
    database_bind(statement, id);
    while (database_next(history, statement, &ok, error)) {
        HistoryNote *note = g_new(HistoryNote, 1);
        note->time_us = sqlite3_column_int64(statement, 0);
        note->text = g_strdup(database_text(statement, 1));
        g_ptr_array_add(target->notes, note);
    }
    return ok;
}

static gboolean
read_gaps(History *history, gint64 id, HistoryTarget *target, GError **error)
{
    gint64 before_us = 0, incarnation = 0; /* the previous sample's */
    guint64 step_us = 0;
    target->gaps = g_array_new(FALSE, FALSE, sizeof(HistoryGap));
    g_autoptr(Cursor) cursor = cursor_new(history, id, HISTORY_ALL_TIME, 0, error);
    gboolean ok = cursor != NULL;
    Block *block;
    guint row;
    while (ok && (ok = cursor_next(cursor, &block, &row, error)) && block != NULL) {
        gint64 now_us = block_time(block, row);
        gboolean restart = incarnation != 0 && incarnation != block->incarnation;
        if (restart || (incarnation != 0 && block_is_late(block, step_us, before_us, now_us))) {
            HistoryGap gap = {.from_us = before_us, .to_us = now_us, .restart = restart};
            g_array_append_val(target->gaps, gap);
        }
        before_us = now_us;
        step_us = block->step_us;
        incarnation = block->incarnation;
    }
    return ok;
}

static HistoryTarget *
read_target(History *history, gint64 id, const char *name, GError **error)
{
    HistoryTarget *target = g_new0(HistoryTarget, 1);
    target->name = g_strdup(name);
    if (read_lives(history, id, target, error) && read_span(history, id, target, error) &&
        read_notes(history, id, target, error) && read_gaps(history, id, target, error))
        return target;
    free_target(target);
    return NULL;
}

typedef struct {
    gint64 id;
    char *name;
} Named;

static void
clear_named(gpointer data)
{
    g_free(((Named *)data)->name);
}

static GArray *
read_names(History *history, GError **error)
{
    g_autoptr(GArray) names = g_array_new(FALSE, FALSE, sizeof(Named));
    g_array_set_clear_func(names, clear_named);
    sqlite3_stmt *statement = database_statement(history, SQL_TARGETS, error);
    gboolean ok;
    while (database_next(history, statement, &ok, error)) {
        Named named = {.id = sqlite3_column_int64(statement, 0), .name = g_strdup(database_text(statement, 1))};
        g_array_append_val(names, named);
    }
    return ok ? g_steal_pointer(&names) : NULL;
}

GPtrArray *
history_targets(History *history, GError **error)
{
    g_autoptr(GArray) names = read_names(history, error);
    if (names == NULL)
        return NULL;
    g_autoptr(GPtrArray) targets = g_ptr_array_new_with_free_func(free_target);
    for (guint i = 0; i < names->len; i++) {
        const Named *named = &g_array_index(names, Named, i);
        HistoryTarget *target = read_target(history, named->id, named->name, error);
        if (target == NULL)
            return NULL;
        g_ptr_array_add(targets, target);
    }
    return g_steal_pointer(&targets);
}

GArray *
history_spans(History *history, const char *target, guint max, GError **error)
{
    gint64 id;
    gboolean ok;
    if (!database_find_target(history, target, &id, error))
        return NULL;
    g_autoptr(GArray) spans = g_array_new(FALSE, FALSE, sizeof(HistorySpan));
    sqlite3_stmt *statement = database_statement(history, SQL_SPANS, error);
    database_bind(statement, id, max);
    while (database_next(history, statement, &ok, error)) {
        const HistorySpan span = {
            .incarnation = sqlite3_column_int64(statement, 0),
            .pid = sqlite3_column_int64(statement, 1),
            .first_us = sqlite3_column_int64(statement, 2),
            .last_us = sqlite3_column_int64(statement, 3),
        };
        g_array_append_val(spans, span);
    }
    return ok ? g_steal_pointer(&spans) : NULL;
}

gboolean
history_process(History *history, gint64 incarnation, HistoryTakeProcess *take, gpointer data)
{
    sqlite3_stmt *statement = database_statement(history, SQL_PROCESS, NULL);
    gboolean ok;
    database_bind(statement, incarnation);
    gboolean known = database_next(history, statement, &ok, NULL);
    if (known)
        take(&(HistoryProcess){database_text(statement, 0), database_text(statement, 1), database_text(statement, 2)},
             data);
    sqlite3_reset(statement);
    return known;
}

gint64
history_user(History *history, const char *target)
{
    /* A file of an older jescope has no owners. */
    sqlite3_stmt *statement = database_statement(history, SQL_OWNER_FIND, NULL);
    gboolean ok;
    gint64 user = -1;
    database_bind_text(statement, 1, target);
    if (database_next(history, statement, &ok, NULL))
        user = sqlite3_column_int64(statement, 0);
    sqlite3_reset(statement);
    return user >= 0 && user < G_MAXUINT32 ? user : -1;
}

typedef struct {
    const History *history;
    gboolean found[STATS_METRIC_COUNT];
} MetricSearch;

static gboolean
note_metrics(Block *block, gpointer data, GError **error)
{
    MetricSearch *search = data;
    for (int part = 0; part < BLOCK_PARTS; part++)
        for (guint i = 0; block->parts[part] != NULL && i < section_columns(block->parts[part]); i++) {
            StatsMetric metric;
            if (dictionary_is_metric(search->history, section_key(block->parts[part], i)->metric, &metric))
                search->found[metric] = TRUE;
        }
    return TRUE;
}

GPtrArray *
history_metrics(History *history, const char *target, HistoryRange range, GError **error)
{
    gint64 id;
    MetricSearch search = {.history = history};
    if (!database_find_target(history, target, &id, error))
        return NULL;
    g_autoptr(Cursor) cursor = cursor_new(history, id, range, HISTORY_EVERYTHING, error);
    if (cursor == NULL)
        return NULL;
    cursor_set_open_func(cursor, note_metrics, &search);
    Block *block;
    guint row;
    do
        if (!cursor_next(cursor, &block, &row, error))
            return NULL;
    while (block != NULL);
    GPtrArray *names = g_ptr_array_new();
    for (int metric = 0; metric < STATS_METRIC_COUNT; metric++)
        if (search.found[metric])
            g_ptr_array_add(names, (gpointer)(guintptr)stats_metrics[metric].name);
    return names;
}
