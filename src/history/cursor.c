/* SPDX-License-Identifier: Apache-2.0 */
#include "history/cursor.h"

typedef struct {
    gint64 id;
    gint64 first_us;
} Listed;

typedef struct {
    Block *block;
    guint row;   /* the next one */
    guint order; /* among those with the same time: as listed */
} Open;

struct Cursor {
    History *history;
    HistoryRange range;
    HistoryParts parts;
    CursorOpenFunc func;
    gpointer data;
    GArray *listed;      /* of Listed, by first_us */
    guint next;          /* index in listed of the first unopened block */
    GSequence *open;     /* of Open, by the time of the next row; nearly always one, but any number may overlap */
    gboolean handed_out; /* the caller has the row of the first one */
};

static gboolean
load_all(Block *block, gpointer data, GError **error)
{
    return block_load(block, error);
}

static void
free_open(gpointer data)
{
    block_free(((Open *)data)->block);
    g_free(data);
}

static gboolean
list_blocks(Cursor *cursor, gint64 target, GError **error)
{
    sqlite3_stmt *statement = database_statement(cursor->history, SQL_BLOCKS_IN_RANGE, error);
    gboolean ok;
    database_bind(statement, target, cursor->range.from_us, cursor->range.to_us);
    while (database_next(cursor->history, statement, &ok, error)) {
        Listed listed = {sqlite3_column_int64(statement, 0), sqlite3_column_int64(statement, 1)};
        g_array_append_val(cursor->listed, listed);
    }
    return ok;
}

Cursor *
cursor_new(History *history, gint64 target, HistoryRange range, HistoryParts parts, GError **error)
{
    g_autoptr(Cursor) cursor = g_new0(Cursor, 1);
    cursor->history = history;
    cursor->range = range;
    cursor->parts = parts;
    cursor->func = load_all;
    cursor->listed = g_array_new(FALSE, FALSE, sizeof(Listed));
    cursor->open = g_sequence_new(free_open);
    return list_blocks(cursor, target, error) ? g_steal_pointer(&cursor) : NULL;
}

void
cursor_free(Cursor *cursor)
{
    if (cursor == NULL)
        return;
    g_array_unref(cursor->listed);
    g_sequence_free(cursor->open);
    g_free(cursor);
}

void
cursor_set_open_func(Cursor *cursor, CursorOpenFunc func, gpointer data)
{
    cursor->func = func;
    cursor->data = data;
}

/* Of equal times, the block written first. */
static gint
compare_open(gconstpointer a, gconstpointer b, gpointer data)
{
    const Open *one = a, *other = b;
    const gint64 time_us = block_time(one->block, one->row), other_us = block_time(other->block, other->row);
    if (time_us != other_us)
        return time_us < other_us ? -1 : 1;
    return (one->order > other->order) - (one->order < other->order);
}

static gboolean
open_block(Cursor *cursor, gint64 id, GError **error)
{
    g_autoptr(GError) cause = NULL;
    g_autoptr(Block) block = block_read(cursor->history, id, cursor->parts, &cause);
    if (block == NULL || !cursor->func(block, cursor->data, &cause)) {
        if (!g_error_matches(cause, HISTORY_ERROR, HISTORY_ERROR_DAMAGED)) {
            g_propagate_error(error, g_steal_pointer(&cause));
            return FALSE;
        }
        cursor->history->damaged++;
        return TRUE;
    }
    Open open = {.order = cursor->next};
    while (open.row < block_rows(block) && block_time(block, open.row) < cursor->range.from_us)
        open.row++;
    if (open.row < block_rows(block)) {
        open.block = g_steal_pointer(&block);
        g_sequence_insert_sorted(cursor->open, g_memdup2(&open, sizeof(open)), compare_open, NULL);
    }
    return TRUE;
}

/* The open block with the earliest next row, or NULL. */
static Open *
earliest(const Cursor *cursor)
{
    GSequenceIter *first = g_sequence_get_begin_iter(cursor->open);
    return g_sequence_iter_is_end(first) ? NULL : g_sequence_get(first);
}

/* Passes the row that the caller has had. */
static void
pass_row(Cursor *cursor)
{
    if (!cursor->handed_out)
        return;
    cursor->handed_out = FALSE;
    GSequenceIter *first = g_sequence_get_begin_iter(cursor->open);
    Open *open = g_sequence_get(first);
    if (++open->row >= block_rows(open->block))
        g_sequence_remove(first);
    else if (!g_sequence_iter_is_end(g_sequence_iter_next(first)))
        g_sequence_sort_changed(first, compare_open, NULL);
}

gboolean
cursor_next(Cursor *cursor, Block **block, guint *row, GError **error)
{
    pass_row(cursor);
    const Open *best = earliest(cursor);
    while (cursor->next < cursor->listed->len) {
        const Listed *listed = &g_array_index(cursor->listed, Listed, cursor->next);
        if (best != NULL && block_time(best->block, best->row) < listed->first_us)
            break;
        cursor->next++;
        if (!open_block(cursor, listed->id, error))
            return FALSE;
        best = earliest(cursor);
    }
    if (best == NULL || block_time(best->block, best->row) >= cursor->range.to_us) {
        *block = NULL;
        return TRUE;
    }
    *block = best->block;
    *row = best->row;
    cursor->handed_out = TRUE;
    return TRUE;
}
