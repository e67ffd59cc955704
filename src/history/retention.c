/* SPDX-License-Identifier: Apache-2.0 */
#include "history/forget.h"
#include "history/space.h"
#include "history/store.h"

/* Deletes the blocks that STATEMENT lists, and adds the numbers of their samples to *REMOVED. */
static gboolean
delete_listed(History *history, sqlite3_stmt *statement, guint64 *removed, GError **error)
{
    guint64 rows = 0;
    g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(gint64));
    gboolean ok;
    while (database_next(history, statement, &ok, error)) {
        gint64 id = sqlite3_column_int64(statement, 0);
        rows += (guint64)sqlite3_column_int64(statement, 1);
        g_array_append_val(ids, id);
    }
    for (guint i = 0; ok && i < ids->len; i++)
        ok = block_delete(history, g_array_index(ids, gint64, i), error);
    *removed += rows;
    return ok;
}

static gboolean
remove_old(History *history, gint64 before_us, guint64 *removed, GError **error)
{
    sqlite3_stmt *blocks = database_statement(history, SQL_BLOCKS_OLD, error);
    database_bind(blocks, before_us, HISTORY_SOURCE_IMPORT);
    if (!delete_listed(history, blocks, removed, error))
        return FALSE;
    sqlite3_stmt *notes = database_statement(history, SQL_NOTES_OLD, error);
    database_bind(notes, before_us);
    return database_run(history, notes, error);
}

/* The state of thinning one incarnation. */
typedef struct {
    History *history;
    guint64 step_us;
    Block *kept;
    gint64 last_slot;
    guint64 dropped;
} Thinning;

static gboolean
flush_kept(Thinning *thinning, GError **error)
{
    if (thinning->kept == NULL)
        return TRUE;
    thinning->kept->step_us = thinning->step_us;
    gboolean ok = block_write(thinning->kept, thinning->history, STORE_LEVEL_PACKED, error);
    g_clear_pointer(&thinning->kept, block_free);
    return ok;
}

/* Keeps the first sample of each time slot, with its original time. */
static gboolean
thin_row(Thinning *thinning, const Block *block, guint row, GError **error)
{
    gint64 slot = block_time(block, row) / thinning->step_us;
    if (slot == thinning->last_slot) {
        thinning->dropped++;
        return TRUE;
    }
    thinning->last_slot = slot;
    if (thinning->kept != NULL && !block_takes(thinning->kept, block_time(block, row), block_columns(block)) &&
        !flush_kept(thinning, error))
        return FALSE;
    if (thinning->kept == NULL)
        thinning->kept = block_new(block->target, block->incarnation);
    block_copy_row(thinning->kept, block, row);
    return TRUE;
}

static gboolean
thin_block(Thinning *thinning, gint64 id, GError **error)
{
    g_autoptr(GError) cause = NULL;
    g_autoptr(Block) block = block_read(thinning->history, id, HISTORY_EVERYTHING, &cause);
    if (block == NULL || !block_load(block, &cause)) {
        if (g_error_matches(cause, HISTORY_ERROR, HISTORY_ERROR_DAMAGED))
            return TRUE;
        g_propagate_error(error, g_steal_pointer(&cause));
        return FALSE;
    }
    for (guint row = 0; row < block_rows(block); row++)
        if (!thin_row(thinning, block, row, error))
            return FALSE;
    return block_delete(thinning->history, id, error);
}

static gboolean
thin_life(Thinning *thinning, gint64 incarnation, gint64 before_us, GError **error)
{
    sqlite3_stmt *statement = database_statement(thinning->history, SQL_BLOCKS_THICK, error);
    database_bind(statement, incarnation, before_us, thinning->step_us);
    g_autoptr(GArray) found = database_ids(thinning->history, statement, error);
    gboolean ok = found != NULL;
    thinning->last_slot = G_MININT64;
    for (guint i = 0; ok && i < found->len; i++)
        ok = thin_block(thinning, g_array_index(found, gint64, i), error);
    ok = ok && flush_kept(thinning, error);
    g_clear_pointer(&thinning->kept, block_free);
    return ok;
}

static gboolean
thin_old(History *history, gint64 before_us, guint64 step_us, guint64 *thinned, GError **error)
{
    sqlite3_stmt *statement = database_statement(history, SQL_LIVES_THICK, error);
    database_bind(statement, before_us, step_us, HISTORY_SOURCE_IMPORT);
    g_autoptr(GArray) lives = database_ids(history, statement, error);
    Thinning thinning = {.history = history, .step_us = step_us};
    gboolean ok = lives != NULL;
    for (guint i = 0; ok && i < lives->len; i++)
        ok = thin_life(&thinning, g_array_index(lives, gint64, i), before_us, error);
    *thinned += thinning.dropped;
    return ok;
}

static gboolean
retain(History *history, const HistoryRetention *retention, gint64 now_us, HistoryRetained *done, GError **error)
{
    if (retention->keep_us > 0 && !remove_old(history, now_us - (gint64)retention->keep_us, &done->removed, error))
        return FALSE;
    if (retention->thin_step_us > 0 &&
        !thin_old(history, now_us - (gint64)retention->thin_after_us, retention->thin_step_us, &done->thinned, error))
        return FALSE;
    if (retention->keep_us > 0 && !forget_empty(history, error))
        return FALSE;
    return retention->max_bytes == 0 || space_keep_to(history, retention->max_bytes, &done->removed, error);
}

gboolean
history_retain(History *history, const HistoryRetention *retention, gint64 now_us, HistoryRetained *retained,
               GError **error)
{
    gboolean mine;
    HistoryRetained done = {0};
    if (!database_begin(history, &mine, error) ||
        !database_end(history, mine, retain(history, retention, now_us, &done, error), error))
        return FALSE;
    /* Optional, so a lock or a full disk is not an error here. */
    sqlite3_exec(history->db, "PRAGMA incremental_vacuum", NULL, NULL, NULL);
    guint64 dumps;
    if (!space_used(history, &done.bytes, &dumps, error))
        return FALSE;
    if (retained != NULL)
        *retained = done;
    return TRUE;
}
