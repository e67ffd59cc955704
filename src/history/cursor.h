/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks the samples of one target in the order of time, block by block. Blocks rarely overlap; where they do (the clock
 * was set back, two collectors kept the same target) those that overlap are open at once and merged.
 */
#ifndef JESCOPE_HISTORY_CURSOR_H
#define JESCOPE_HISTORY_CURSOR_H

#include "history/block.h"

typedef struct Cursor Cursor;

/* Called for each block that is opened, to decode what will be looked at. HISTORY_ERROR_DAMAGED leaves the block out,
 * counted in history_damaged_blocks(); another error ends the walk. */
typedef gboolean (*CursorOpenFunc)(Block *block, gpointer data, GError **error);

Cursor *cursor_new(History *history, gint64 target, HistoryRange range, HistoryParts parts, GError **error);
void cursor_free(Cursor *cursor);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Cursor, cursor_free)

/* Default: block_load(). */
void cursor_set_open_func(Cursor *cursor, CursorOpenFunc func, gpointer data);

/* The next sample: row *ROW of *BLOCK (borrowed until the next call), or *BLOCK NULL at the end. */
gboolean cursor_next(Cursor *cursor, Block **block, guint *row, GError **error);

#endif
