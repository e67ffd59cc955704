/* SPDX-License-Identifier: Apache-2.0 */
#include "history/space.h"

#include "history/block.h"
#include "history/forget.h"

enum {
    LEAST_SHARE = 4, /* a user keeps a quarter of an equal share */
};

/* The bytes of a user. */
typedef struct {
    gboolean known; /* FALSE: targets that belong to no user */
    gint64 user;
    guint64 blocks;
    guint64 size; /* of blocks and texts */
} Share;

gboolean
space_used(History *history, guint64 *bytes, guint64 *dumps, GError **error)
{
    sqlite3_stmt *statement = database_statement(history, SQL_PAGES, error);
    if (!database_step_row(history, statement, error))
        return FALSE;
    guint64 pages = (guint64)sqlite3_column_int64(statement, 0),
            free_pages = (guint64)sqlite3_column_int64(statement, 2);
    *bytes = (pages - free_pages) * (guint64)sqlite3_column_int64(statement, 1);
    *dumps = MIN((guint64)sqlite3_column_int64(statement, 3), *bytes);
    sqlite3_reset(statement);
    return TRUE;
}

gboolean
history_size(History *history, guint64 *bytes, GError **error)
{
    guint64 dumps;
    if (!space_used(history, bytes, &dumps, error))
        return FALSE;
    *bytes -= dumps;
    return TRUE;
}

static gint
smallest_first(gconstpointer a, gconstpointer b)
{
    const Share *one = a, *other = b;
    return one->size < other->size ? -1 : one->size > other->size;
}

/* The shares of all users, of Share, the smallest first; *SUM is their size. */
static GArray *
read_shares(History *history, guint64 *sum, GError **error)
{
    g_autoptr(GArray) shares = g_array_new(FALSE, FALSE, sizeof(Share));
    sqlite3_stmt *statement = database_statement(history, SQL_USERS_SIZES, error);
    gboolean ok;
    *sum = 0;
    database_bind(statement, HISTORY_SOURCE_IMPORT);
    while (database_next(history, statement, &ok, error)) {
        const Share share = {.known = sqlite3_column_type(statement, 0) != SQLITE_NULL,
                             .user = sqlite3_column_int64(statement, 0),
                             .blocks = (guint64)sqlite3_column_int64(statement, 1),
                             .size = (guint64)sqlite3_column_int64(statement, 2)};
        g_array_append_val(shares, share);
        *sum += share.size;
    }
    g_array_sort(shares, smallest_first);
    return ok ? g_steal_pointer(&shares) : NULL;
}

/* The size that no user may exceed for all to take at most WANTED bytes. */
static guint64
find_bound(const GArray *shares, guint64 wanted)
{
    for (guint i = 0; i < shares->len; i++) {
        const guint64 size = g_array_index(shares, Share, i).size, equal = wanted / (shares->len - i);
        if (size > equal)
            return equal;
        wanted -= size;
    }
    return G_MAXUINT64;
}

/* Removes the oldest blocks of SHARE's user: as large a part of them as its size exceeds BOUND by. */
static gboolean
remove_oldest(History *history, const Share *share, guint64 bound, guint64 *removed, GError **error)
{
    const gdouble wanted = (gdouble)share->blocks * (1 - (gdouble)bound / (gdouble)share->size);
    gdouble freed = 0;
    g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(gint64));
    sqlite3_stmt *statement = database_statement(history, SQL_BLOCKS_OLDEST, error);
    gboolean ok = TRUE;
    database_bind(statement, HISTORY_SOURCE_IMPORT, share->user);
    if (statement != NULL && !share->known)
        sqlite3_bind_null(statement, 2);
    while (freed < wanted && database_next(history, statement, &ok, error)) {
        const gint64 id = sqlite3_column_int64(statement, 0);
        *removed += (guint64)sqlite3_column_int64(statement, 1);
        freed += (gdouble)sqlite3_column_int64(statement, 2);
        g_array_append_val(ids, id);
    }
    if (statement != NULL)
        sqlite3_reset(statement);
    for (guint i = 0; ok && i < ids->len; i++)
        ok = block_delete(history, g_array_index(ids, gint64, i), error);
    return ok;
}

/* Removes EXCESS bytes of samples. Of several users, each keeps a part of its equal share of MAX_BYTES. */
static gboolean
remove_excess(History *history, guint64 excess, guint64 max_bytes, guint64 *removed, GError **error)
{
    guint64 sum;
    g_autoptr(GArray) shares = read_shares(history, &sum, error);
    if (shares == NULL)
        return FALSE;
    const guint64 least = shares->len > 1 ? max_bytes / LEAST_SHARE / shares->len : 0;
    const guint64 bound = MAX(find_bound(shares, sum > excess ? sum - excess : 0), least);
    for (guint i = 0; i < shares->len; i++) {
        const Share *share = &g_array_index(shares, Share, i);
        if (share->size > bound && !remove_oldest(history, share, bound, removed, error))
            return FALSE;
    }
    return TRUE;
}

gboolean
space_keep_to(History *history, guint64 max_bytes, guint64 *removed, GError **error)
{
    guint64 bytes, dumps, before;
    do {
        before = *removed;
        if (!space_used(history, &bytes, &dumps, error))
            return FALSE;
        if (bytes - dumps > max_bytes &&
            (!remove_excess(history, bytes - dumps - max_bytes, max_bytes, removed, error) ||
             !forget_empty(history, error)))
            return FALSE;
    } while (*removed != before);
    return TRUE;
}
