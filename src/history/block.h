/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A block: some samples of one incarnation in the order of time, as sections of columns: a row of the table "block".
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
    guint64 every_us;            /* of its incarnation, in a block that was read; 0: not known */
    const char *version;         /* same: interned, or NULL */
    GArray *times;               /* gint64, microseconds since 1970, never descending */
    Section *parts[BLOCK_PARTS]; /* NULL: not kept, or not read */
    gpointer attached;           /* block_attach() */
    GDestroyNotify attached_free;
} Block;

/* An empty block with every section. */
Block *block_new(gint64 target, gint64 incarnation);
void block_free(Block *block);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Block, block_free)

/* Lets BLOCK carry DATA, freed with it. */
void block_attach(Block *block, gpointer data, GDestroyNotify free_func);

guint block_rows(const Block *block);
gint64 block_time(const Block *block, guint row);

/* Whether there should have been samples between BEFORE_US and NOW_US, a row of BLOCK, where they are COARSEST_US apart
 * if that is more than the interval of the block. */
gboolean block_is_late(const Block *block, guint64 coarsest_us, gint64 before_us, gint64 now_us);

/* Whether another sample of TIME_US may be appended: times must ascend, and the size is bounded. */
gboolean block_takes(const Block *block, gint64 time_us);

/* Appends SAMPLE's PARTS. New words go to the dictionary: to be called in a transaction. */
gboolean block_append(Block *block, History *history, const StatsSample *sample, HistoryParts parts, GError **error);

/* Appends row ROW of FROM, which is loaded. */
void block_copy_row(Block *block, const Block *from, guint row);

/* Decodes all columns of the sections it has. */
gboolean block_load(Block *block, GError **error);

/* Row ROW of a block as a sample, from its decoded columns. */
StatsSample *block_sample(const Block *block, const History *history, guint row);

/* LEVEL is zstd's. */
gboolean block_write(const Block *block, History *history, int level, GError **error);

/* Reads block ID with those PARTS it has. HISTORY_ERROR_DAMAGED: its bytes make no sense. */
Block *block_read(History *history, gint64 id, HistoryParts parts, GError **error);

gboolean block_delete(History *history, gint64 id, GError **error);

#endif
