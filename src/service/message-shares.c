/* SPDX-License-Identifier: Apache-2.0 */
#include "service/message-shares.h"

enum {
    SHARES_MAX = 4096, /* accounts with a share each; further ones have one together */
};

typedef struct {
    guint left;
    gint64 since_us; /* when a message was last added to them */
    guint untold;
} Share;

struct MessageShares {
    guint at_once;
    gint64 every_us;
    GMutex lock;
    GHashTable *shares; /* account -> Share */
};

MessageShares *
message_shares_new(guint at_once, gint64 every_us)
{
    MessageShares *shares = g_new0(MessageShares, 1);
    shares->at_once = at_once;
    shares->every_us = every_us;
    g_mutex_init(&shares->lock);
    shares->shares = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    return shares;
}

void
message_shares_free(MessageShares *shares)
{
    if (shares == NULL)
        return;
    g_hash_table_unref(shares->shares);
    g_mutex_clear(&shares->lock);
    g_free(shares);
}

static void
gain(const MessageShares *shares, Share *share, gint64 now_us)
{
    const gint64 gained = (now_us - share->since_us) / shares->every_us;
    share->since_us += gained * shares->every_us;
    share->left = (guint)MIN(share->left + gained, shares->at_once);
}

/* Forgets the shares that new ones would be the same as. */
static void
forget_whole(MessageShares *shares, gint64 now_us)
{
    GHashTableIter iterator;
    gpointer value;
    g_hash_table_iter_init(&iterator, shares->shares);
    while (g_hash_table_iter_next(&iterator, NULL, &value)) {
        Share *share = value;
        gain(shares, share, now_us);
        if (share->left == shares->at_once && share->untold == 0)
            g_hash_table_iter_remove(&iterator);
    }
}

static Share *
share_of(MessageShares *shares, uid_t account, gint64 now_us)
{
    Share *share = g_hash_table_lookup(shares->shares, GUINT_TO_POINTER(account));
    if (share != NULL)
        return share;
    if (g_hash_table_size(shares->shares) >= SHARES_MAX)
        forget_whole(shares, now_us);
    if (g_hash_table_size(shares->shares) >= SHARES_MAX && account != (uid_t)-1)
        return share_of(shares, (uid_t)-1, now_us);
    share = g_new(Share, 1);
    *share = (Share){.left = shares->at_once, .since_us = now_us};
    g_hash_table_insert(shares->shares, GUINT_TO_POINTER(account), share);
    return share;
}

gboolean
message_shares_take(MessageShares *shares, uid_t account, gint64 now_us, guint *untold)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&shares->lock);
    Share *share = share_of(shares, account, now_us);
    gain(shares, share, now_us);
    if (share->left == 0) {
        share->untold++;
        return FALSE;
    }
    share->left--;
    *untold = share->untold;
    share->untold = 0;
    return TRUE;
}
