/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/index-table.h"

enum { LOG2_FIRST_CAPACITY = 10 };

static guint64
random_odd(void)
{
    return ((guint64)g_random_int() << 32) | g_random_int() | 1;
}

void
index_table_init(IndexTable *table)
{
    table->n = 0;
    table->log2_capacity = LOG2_FIRST_CAPACITY;
    table->of_key = random_odd();
    table->of_tag = random_odd();
    table->entries = g_new0(IndexEntry, (gsize)1 << LOG2_FIRST_CAPACITY);
}

void
index_table_clear(IndexTable *table)
{
    g_clear_pointer(&table->entries, g_free);
}

void
index_table_grow(IndexTable *table)
{
    gsize n_old = (gsize)1 << table->log2_capacity;
    g_autofree IndexEntry *old = table->entries;

    table->log2_capacity++;
    table->entries = g_new0(IndexEntry, n_old * 2);
    for (gsize i = 0; i < n_old; i++)
        if (old[i].value != 0)
            *index_table_slot(table, old[i].key, old[i].tag) = old[i];
}
