/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A block: consecutive samples of one incarnation as sections of columns, stored as a row of the table "block".
 */
#ifndef JESCOPE_HISTORY_BLOCK_H
#define JESCOPE_HISTORY_BLOCK_H

#include "history/database.h"
#include "history/section.h"

/* The sections, in the order of the table's columns and of the bits of HistoryParts. */
enum {
    BLOCK_TOTALS,
    BLOCK_ARENAS,
    BLOCK_CLASSES,
    BLOCK_MUTEXES,
    BLOCK_PARTS,
};

typedef struct {
    gint64 id; /* 0: not stored */
    gint64 target;
    gint64 incarnation;
    guint64 step_us;             /* interval after thinning; 0: not thinned */
    guint64 every_us;            /* the incarnation's interval, if the block was read; 0: unknown */
    const char *version;         /* the incarnation's version, if the block was read: interned, or NULL */
    GArray *times;               /* of gint64, microseconds since 1970, never descending */
    Section *parts[BLOCK_PARTS]; /* NULL: not kept, or not read */
    gpointer attached;           /* set by block_attach() */
    GDestroyNotify attached_free;
} Block;

/* An empty block with every section. */
Block *block_new(gint64 target, gint64 incarnation);
void block_free(Block *block);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Block, block_free)

/* Attaches DATA to BLOCK; FREE_FUNC frees it with the block. */
void block_attach(Block *block, gpointer data, GDestroyNotify free_func);

guint block_rows(const Block *block);
gint64 block_time(const Block *block, guint row);

/* Whether samples are missing between BEFORE_US and NOW_US, the time of a row of BLOCK. The expected interval is the
 * larger of COARSEST_US and the block's interval. */
gboolean block_is_late(const Block *block, guint64 coarsest_us, gint64 before_us, gint64 now_us);

/* The number of values that a row has at most. */
guint64 block_columns(const Block *block);

/* Whether a sample of TIME_US with VALUES values may be appended: times must ascend, and the size is limited. */
gboolean block_takes(const Block *block, gint64 time_us, guint64 values);

/* Words of memory that the values of a block under construction take, about. */
guint64 block_words(const Block *block);

/* Appends the PARTS of SAMPLE; of one with more values than any program has, not those of classes and mutexes. Adds new
 * words to the dictionary, so it must be called in a transaction. */
gboolean block_append(Block *block, History *history, const StatsSample *sample, HistoryParts parts, GError **error);

/* Appends row ROW of FROM, which must be loaded. */
void block_copy_row(Block *block, const Block *from, guint row);

/* Decodes all columns of all present sections. */
gboolean block_load(Block *block, GError **error);

/* Row ROW of a block as a sample, from its decoded columns. */
StatsSample *block_sample(const Block *block, const History *history, guint row);

/* Stores the block, compressed at zstd's LEVEL. */
gboolean block_write(const Block *block, History *history, int level, GError **error);

/* Reads block ID with the available sections of PARTS. NULL with HISTORY_ERROR_DAMAGED if its data is invalid. */
Block *block_read(History *history, gint64 id, HistoryParts parts, GError **error);

gboolean block_delete(History *history, gint64 id, GError **error);

#endif
