/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/renewing.h"

#include "cli/user-times.h"
#include "confine/account.h"

enum {
    RENEW_US = RECORDER_RENEW_MS * 1000,
};

typedef struct {
    Recording *recording;
    uid_t account;
    gint64 due_us; /* monotonic */
    gboolean is_taken;
    GError *failure; /* NULL: none */
} Entry;

/* What two threads use is protected by the lock. */
struct Renewing {
    GMutex lock;
    GCond changed;
    GThread *thread;
    GPtrArray *entries; /* of Entry */
    UserTimes *waited;  /* for renewals */
    gint64 end_us;
    gboolean is_ending;
};

static void
free_entry(gpointer data)
{
    Entry *entry = data;
    g_clear_error(&entry->failure);
    g_free(entry);
}

static Entry *
find_entry(const Renewing *renewing, const Recording *recording)
{
    for (guint i = 0; i < renewing->entries->len; i++)
        if (((Entry *)renewing->entries->pdata[i])->recording == recording)
            return renewing->entries->pdata[i];
    g_assert_not_reached();
}

/* Whether ENTRY is renewed before OTHER: first the user whose processes have taken least time, then the renewal that is
 * due longest. */
static gboolean
comes_before(const Renewing *renewing, const Entry *entry, const Entry *other)
{
    const gint64 one = user_times_of(renewing->waited, entry->account);
    const gint64 two = user_times_of(renewing->waited, other->account);
    return one != two ? one < two : entry->due_us < other->due_us;
}

/* The entry that is renewed now; NULL: none before *NEXT_US. */
static Entry *
choose(const Renewing *renewing, gint64 *next_us)
{
    const gint64 now_us = g_get_monotonic_time();
    Entry *chosen = NULL;
    *next_us = now_us + RENEW_US;
    for (guint i = 0; i < renewing->entries->len; i++) {
        Entry *entry = renewing->entries->pdata[i];
        if (entry->is_taken || entry->failure != NULL)
            continue;
        *next_us = MIN(*next_us, entry->due_us);
        if (entry->due_us <= now_us && (chosen == NULL || comes_before(renewing, entry, chosen)))
            chosen = entry;
    }
    return chosen;
}

/* The lock is held, but not meanwhile. */
static void
renew(Renewing *renewing, Entry *entry)
{
    const gint64 begin_us = g_get_monotonic_time();
    const guint64 left_ms =
        renewing->end_us == G_MAXINT64 ? RECORDER_WITHOUT_END : (guint64)MAX(renewing->end_us - begin_us, 0) / 1000;
    GError *failure = NULL;
    entry->is_taken = TRUE;
    g_mutex_unlock(&renewing->lock);
    recording_renew(entry->recording, left_ms, &failure);
    g_mutex_lock(&renewing->lock);
    entry->is_taken = FALSE;
    entry->failure = failure;
    entry->due_us = g_get_monotonic_time() + RENEW_US;
    user_times_add_since(renewing->waited, entry->account, begin_us);
    g_cond_broadcast(&renewing->changed);
}

static gpointer
run(gpointer data)
{
    Renewing *renewing = data;
    g_mutex_lock(&renewing->lock);
    while (!renewing->is_ending) {
        gint64 next_us;
        Entry *entry = choose(renewing, &next_us);
        if (entry != NULL)
            renew(renewing, entry);
        else
            g_cond_wait_until(&renewing->changed, &renewing->lock, next_us);
    }
    g_mutex_unlock(&renewing->lock);
    return NULL;
}

Renewing *
renewing_new(GError **error)
{
    Renewing *renewing = g_new0(Renewing, 1);
    g_mutex_init(&renewing->lock);
    g_cond_init(&renewing->changed);
    renewing->entries = g_ptr_array_new_with_free_func(free_entry);
    renewing->waited = user_times_new();
    renewing->end_us = G_MAXINT64;
    renewing->thread = g_thread_try_new("renewing", run, renewing, error);
    if (renewing->thread != NULL)
        return renewing;
    renewing_free(renewing);
    return NULL;
}

void
renewing_stop(Renewing *renewing)
{
    if (renewing->thread == NULL)
        return;
    g_mutex_lock(&renewing->lock);
    renewing->is_ending = TRUE;
    g_cond_broadcast(&renewing->changed);
    g_mutex_unlock(&renewing->lock);
    g_thread_join(g_steal_pointer(&renewing->thread));
}

void
renewing_free(Renewing *renewing)
{
    if (renewing == NULL)
        return;
    renewing_stop(renewing);
    g_ptr_array_unref(renewing->entries);
    g_hash_table_unref(renewing->waited);
    g_cond_clear(&renewing->changed);
    g_mutex_clear(&renewing->lock);
    g_free(renewing);
}

void
renewing_set_end(Renewing *renewing, gint64 end_us)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&renewing->lock);
    renewing->end_us = end_us;
}

void
renewing_add(Renewing *renewing, Recording *recording)
{
    Entry *entry = g_new0(Entry, 1);
    *entry = (Entry){.recording = recording,
                     .account = account_of(recording->owner),
                     .due_us = (gint64)recording->recorder.renewed_ms * 1000 + RENEW_US};
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&renewing->lock);
    g_ptr_array_add(renewing->entries, entry);
    g_cond_broadcast(&renewing->changed);
}

void
renewing_take(Renewing *renewing, Recording *recording)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&renewing->lock);
    Entry *entry = find_entry(renewing, recording);
    while (entry->is_taken)
        g_cond_wait(&renewing->changed, &renewing->lock);
    entry->is_taken = TRUE;
}

gboolean
renewing_try_take(Renewing *renewing, Recording *recording)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&renewing->lock);
    Entry *entry = find_entry(renewing, recording);
    const gboolean is_free = !entry->is_taken;
    entry->is_taken = TRUE;
    return is_free;
}

void
renewing_give_back(Renewing *renewing, Recording *recording)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&renewing->lock);
    find_entry(renewing, recording)->is_taken = FALSE;
    g_cond_broadcast(&renewing->changed);
}

void
renewing_remove(Renewing *renewing, Recording *recording)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&renewing->lock);
    g_ptr_array_remove(renewing->entries, find_entry(renewing, recording));
}

gboolean
renewing_goes_on(Renewing *renewing, Recording *recording, GError **error)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&renewing->lock);
    const Entry *entry = find_entry(renewing, recording);
    if (entry->failure != NULL && error != NULL)
        *error = g_error_copy(entry->failure);
    return entry->failure == NULL;
}
