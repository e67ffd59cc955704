/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/intern.h"

#include "confine/keyed-hash.h"
#include "text/printable.h"

enum {
    INTERNED_MAX = 65536,
    LENGTH_MAX = 512,
};

const char *
stats_intern(const char *text, gsize length)
{
    static GMutex lock;
    static GHashTable *interned;
    if (length > LENGTH_MAX)
        return NULL;
    g_autofree char *copy = g_strndup(text, length);
    g_mutex_lock(&lock);
    if (interned == NULL)
        interned = g_hash_table_new(keyed_hash_string, g_str_equal);
    const char *known = g_hash_table_lookup(interned, copy);
    /* Known strings are already printable. */
    if (known == NULL) {
        text_clean_line(copy, length + 1);
        known = g_hash_table_lookup(interned, copy);
    }
    if (known == NULL && g_hash_table_size(interned) < INTERNED_MAX) {
        known = copy;
        g_hash_table_add(interned, g_steal_pointer(&copy));
    }
    g_mutex_unlock(&lock);
    return known;
}
