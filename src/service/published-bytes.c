/* SPDX-License-Identifier: Apache-2.0 */
#include "service/published-bytes.h"

static GMutex lock;
static GHashTable *totals; /* uid -> guint64; without zeros */

gboolean
published_bytes_change(uid_t user, guint64 before, guint64 now)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&lock);
    if (totals == NULL)
        totals = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    const guint64 *known = g_hash_table_lookup(totals, GUINT_TO_POINTER(user));
    const guint64 total = (known != NULL ? *known : 0) - before + now;
    if (now > before && total > PUBLISHED_BYTES_MAX)
        return FALSE;
    if (total == 0)
        g_hash_table_remove(totals, GUINT_TO_POINTER(user));
    else
        g_hash_table_replace(totals, GUINT_TO_POINTER(user), g_memdup2(&total, sizeof(total)));
    return TRUE;
}
