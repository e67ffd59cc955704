/* SPDX-License-Identifier: Apache-2.0 */
#include "blackbox/round.h"

static gint
earliest_first(gconstpointer a, gconstpointer b)
{
    const RoundEntry *one = a, *other = b;
    return one->since_us < other->since_us ? -1 : one->since_us > other->since_us;
}

void
round_choose(GArray *due)
{
    g_autoptr(GHashTable) of_account = g_hash_table_new(NULL, NULL); /* account -> number of targets chosen */
    guint kept = 0;
    g_array_sort(due, earliest_first);
    for (guint i = 0; i < due->len; i++) {
        const RoundEntry entry = g_array_index(due, RoundEntry, i);
        guint n = GPOINTER_TO_UINT(g_hash_table_lookup(of_account, GUINT_TO_POINTER(entry.account)));
        if (n >= ROUND_OF_USER && !entry.ended)
            continue;
        g_hash_table_insert(of_account, GUINT_TO_POINTER(entry.account), GUINT_TO_POINTER(n + !entry.ended));
        g_array_index(due, RoundEntry, kept++) = entry;
    }
    g_array_set_size(due, kept);
}
