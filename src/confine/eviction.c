/* SPDX-License-Identifier: Apache-2.0 */
#include "confine/eviction.h"

#include "confine/keyed-hash.h"

/* What an account has. */
typedef struct {
    guint64 account;
    guint64 bytes;
    guint entries;
    guint oldest; /* index of the first entry that stays; the number of entries: none */
} Share;

typedef struct {
    Evictable *held;
    guint n;
    guint *next;       /* of each entry: index of the next one of its account, or N */
    GPtrArray *shares; /* of Share */
    GHashTable *by_account;
    guint64 bytes; /* of all that stay, and of what is added */
    guint entries;
} Holding;

static void
holding_clear(Holding *holding)
{
    g_clear_pointer(&holding->next, g_free);
    g_clear_pointer(&holding->by_account, g_hash_table_unref);
    g_clear_pointer(&holding->shares, g_ptr_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Holding, holding_clear)

/* Adds an entry to the share of its account. */
static Share *
charge(Holding *holding, const Evictable *entry)
{
    Share *share = g_hash_table_lookup(holding->by_account, &entry->account);
    if (share == NULL) {
        share = g_new(Share, 1);
        *share = (Share){.account = entry->account, .oldest = holding->n};
        g_ptr_array_add(holding->shares, share);
        g_hash_table_insert(holding->by_account, &share->account, share);
    }
    share->bytes += entry->bytes;
    share->entries++;
    holding->bytes += entry->bytes;
    holding->entries++;
    return share;
}

static void
share_out(Holding *holding, const Evictable *added)
{
    holding->next = g_new(guint, holding->n + 1);
    holding->shares = g_ptr_array_new_with_free_func(g_free);
    holding->by_account = g_hash_table_new(keyed_hash_int64, g_int64_equal);
    for (guint i = holding->n; i > 0; i--) {
        Share *share = charge(holding, &holding->held[i - 1]);
        holding->next[i - 1] = share->oldest;
        share->oldest = i - 1;
    }
    if (added != NULL)
        charge(holding, added);
}

static gboolean
is_before(const Share *share, const Share *other, gboolean by_entries)
{
    const guint64 size = by_entries ? share->entries : share->bytes;
    const guint64 other_size = by_entries ? other->entries : other->bytes;
    return size > other_size || (size == other_size && share->oldest < other->oldest);
}

/* The share with most entries or bytes; of several, the one with the oldest entry. There is one. */
static Share *
find_largest(const Holding *holding, gboolean by_entries)
{
    Share *largest = holding->shares->pdata[0];
    for (guint i = 1; i < holding->shares->len; i++)
        if (is_before(holding->shares->pdata[i], largest, by_entries))
            largest = holding->shares->pdata[i];
    return largest;
}

static void
drop_oldest(Holding *holding, Share *share)
{
    Evictable *entry = &holding->held[share->oldest];
    entry->leaves = TRUE;
    share->oldest = holding->next[share->oldest];
    share->bytes -= entry->bytes;
    share->entries--;
    holding->bytes -= entry->bytes;
    holding->entries--;
}

gboolean
eviction_choose(Evictable *held, guint n, const Evictable *added, const EvictionLimits *limits)
{
    g_auto(Holding) holding = {.held = held, .n = n};
    share_out(&holding, added);
    while (holding.entries > limits->entries || holding.bytes > limits->bytes) {
        Share *largest = find_largest(&holding, holding.entries > limits->entries);
        if (largest->oldest == n)
            return FALSE;
        drop_oldest(&holding, largest);
    }
    return TRUE;
}
