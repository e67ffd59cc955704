/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Iterates over the samples of one target in time order, block by block. Blocks rarely overlap; those that do (the
 * clock was set back, or two collectors recorded the target) are open at the same time and merged.
 */
#ifndef JESCOPE_HISTORY_CURSOR_H
#define JESCOPE_HISTORY_CURSOR_H

#include "history/block.h"

typedef struct Cursor Cursor;

/* Called for each opened block, to decode the columns needed. HISTORY_ERROR_DAMAGED skips the block and counts it in
 * history_damaged_blocks(); any other error ends the iteration. */
typedef gboolean (*CursorOpenFunc)(Block *block, gpointer data, GError **error);

Cursor *cursor_new(History *history, gint64 target, HistoryRange range, HistoryParts parts, GError **error);
void cursor_free(Cursor *cursor);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Cursor, cursor_free)

/* Replaces block_load(), the default. */
void cursor_set_open_func(Cursor *cursor, CursorOpenFunc func, gpointer data);

/* Moves to the next sample: row *ROW of *BLOCK (borrowed until the next call); *BLOCK is NULL at the end. */
gboolean cursor_next(Cursor *cursor, Block **block, guint *row, GError **error);

#endif
