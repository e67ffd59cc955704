/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An open-addressing table from (key, tag) to a 32-bit index: the addresses of a dump. A function call per look-up, as
 * in a generic table, would cost more than the rest of reading a frame. The hash multiplies the key and the tag by a
 * random odd number each, so that no file can cause collisions deliberately.
 */
#ifndef JESCOPE_PROFILE_INDEX_TABLE_H
#define JESCOPE_PROFILE_INDEX_TABLE_H

#include <glib.h>

typedef struct {
    guint64 key;
    guint32 tag;
    guint32 value; /* index + 1; 0: empty */
} IndexEntry;

typedef struct {
    IndexEntry *entries;
    guint64 of_key, of_tag; /* the numbers by which they are multiplied */
    guint32 n;
    guint32 log2_capacity;
} IndexTable;

void index_table_init(IndexTable *table);
void index_table_clear(IndexTable *table);
void index_table_grow(IndexTable *table);

static inline IndexEntry *
index_table_slot(const IndexTable *table, guint64 key, guint32 tag)
{
    gsize mask = ((gsize)1 << table->log2_capacity) - 1;
    gsize i = (key * table->of_key + tag * table->of_tag) >> (64 - table->log2_capacity);

    while (table->entries[i].value != 0 && (table->entries[i].key != key || table->entries[i].tag != tag))
        i = (i + 1) & mask;
    return &table->entries[i];
}

/* The index of (key, tag), or G_MAXUINT32. */
static inline guint32
index_table_find(const IndexTable *table, guint64 key, guint32 tag)
{
    return index_table_slot(table, key, tag)->value - 1;
}

/* Adds a new (key, tag). */
static inline void
index_table_put(IndexTable *table, guint64 key, guint32 tag, guint32 index)
{
    *index_table_slot(table, key, tag) = (IndexEntry){key, tag, index + 1};
    table->n++;
    if (table->n > ((gsize)1 << table->log2_capacity) / 2)
        index_table_grow(table);
}

/* The index of (key, tag); a new key gets the number of keys before it. */
static inline guint32
index_table_intern(IndexTable *table, guint64 key, guint32 tag)
{
    IndexEntry *entry = index_table_slot(table, key, tag);

    if (G_LIKELY(entry->value != 0))
        return entry->value - 1;
    guint32 index = table->n;
    index_table_put(table, key, tag, index);
    return index;
}

#endif
