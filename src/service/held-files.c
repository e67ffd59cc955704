/* SPDX-License-Identifier: Apache-2.0 */
#include "service/held-files.h"

#include "confine/keyed-hash.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct {
    char *key;
    guint64 user;
    int fd;
    guint64 bytes;
    gint64 used;   /* time of the last use, monotonic microseconds */
    gboolean kept; /* set by held_files_keep() */
} Entry;

struct HeldFiles {
    GMutex lock;
    GQueue entries; /* of Entry, most recently used first */
    HeldFilesLimits limits;
};

static void
free_entry(gpointer data)
{
    Entry *entry = data;

    close(entry->fd);
    g_free(entry->key);
    g_free(entry);
}

HeldFiles *
held_files_new(const HeldFilesLimits *limits)
{
    HeldFiles *files = g_new0(HeldFiles, 1);

    g_mutex_init(&files->lock);
    g_queue_init(&files->entries);
    files->limits = *limits;
    return files;
}

void
held_files_free(HeldFiles *files)
{
    g_queue_clear_full(&files->entries, free_entry);
    g_mutex_clear(&files->lock);
    g_free(files);
}

static GList *
find_link(const HeldFiles *files, const char *key)
{
    GList *at = files->entries.head;

    while (at != NULL && strcmp(((const Entry *)at->data)->key, key) != 0)
        at = at->next;
    return at;
}

int
held_files_find(HeldFiles *files, const char *key)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&files->lock);
    GList *found = find_link(files, key);

    if (found == NULL)
        return -1;
    Entry *entry = found->data;
    entry->used = g_get_monotonic_time();
    g_queue_unlink(&files->entries, found);
    g_queue_push_head_link(&files->entries, found);
    return fcntl(entry->fd, F_DUPFD_CLOEXEC, 0);
}

gboolean
held_files_has(HeldFiles *files, const char *key)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&files->lock);

    return find_link(files, key) != NULL;
}

static void
drop(HeldFiles *files, GList *link)
{
    free_entry(link->data);
    g_queue_delete_link(&files->entries, link);
}

static gboolean
are_too_many(const HeldFiles *files)
{
    return files->entries.length > files->limits.number;
}

static guint64
bytes_of(const HeldFiles *files, guint64 user)
{
    guint64 bytes = 0;

    for (const GList *at = files->entries.head; at != NULL; at = at->next) {
        const Entry *entry = at->data;
        bytes += entry->user == user ? entry->bytes : 0;
    }
    return bytes;
}

/* What each user has of that of which there is too much: files, or else bytes. */
static GHashTable *
share_out(const HeldFiles *files)
{
    GHashTable *shares = g_hash_table_new_full(keyed_hash_int64, g_int64_equal, NULL, g_free);

    for (const GList *at = files->entries.head; at != NULL; at = at->next) {
        const Entry *entry = at->data;
        guint64 *share = g_hash_table_lookup(shares, &entry->user);
        if (share == NULL)
            g_hash_table_insert(shares, (gpointer)(guintptr)&entry->user, share = g_new0(guint64, 1));
        *share += are_too_many(files) ? 1 : entry->bytes;
    }
    return shares;
}

/* The least recently used entry of the user with the largest share; NULL if all are kept. */
static GList *
choose_victim(const HeldFiles *files)
{
    g_autoptr(GHashTable) shares = share_out(files);
    GList *victim = NULL;
    guint64 most = 0;

    for (GList *at = files->entries.tail; at != NULL; at = at->prev) {
        const Entry *entry = at->data;
        const guint64 *share = g_hash_table_lookup(shares, &entry->user);
        if (!entry->kept && (victim == NULL || *share > most)) {
            victim = at;
            most = *share;
        }
    }
    return victim;
}

static gboolean
is_full(const HeldFiles *files)
{
    guint64 bytes = 0;

    for (const GList *at = files->entries.head; at != NULL; at = at->next)
        bytes += ((const Entry *)at->data)->bytes;
    return are_too_many(files) || bytes > files->limits.bytes;
}

gboolean
held_files_add(HeldFiles *files, const char *key, guint64 user, int fd)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&files->lock);
    GList *before = find_link(files, key);
    struct stat status;

    if (before != NULL)
        drop(files, before);
    if (fstat(fd, &status) != 0 || (guint64)status.st_size > files->limits.bytes ||
        !files->limits.has_room(bytes_of(files, user) + (guint64)status.st_size))
        return FALSE;
    int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (own < 0)
        return FALSE;
    Entry *entry = g_new(Entry, 1);
    *entry = (Entry){g_strdup(key), user, own, (guint64)status.st_size, g_get_monotonic_time(), FALSE};
    g_queue_push_head(&files->entries, entry);
    for (GList *victim; is_full(files) && (victim = choose_victim(files)) != NULL;)
        drop(files, victim);
    return find_link(files, key) != NULL;
}

/* Whether WANTED may be kept, too: what is kept is never evicted, and would leave others no room. */
static gboolean
may_be_kept(const HeldFiles *files, const Entry *wanted)
{
    guint64 bytes = wanted->bytes, own_bytes = wanted->bytes;
    guint n = 1, own = 1;

    for (const GList *at = files->entries.head; at != NULL; at = at->next) {
        const Entry *entry = at->data;
        if (!entry->kept)
            continue;
        n++;
        bytes += entry->bytes;
        own += entry->user == wanted->user;
        own_bytes += entry->user == wanted->user ? entry->bytes : 0;
    }
    return n <= files->limits.number / HELD_FILES_KEPT && bytes <= files->limits.bytes / HELD_FILES_KEPT &&
           own <= files->limits.number / HELD_FILES_KEPT_OF && own_bytes <= files->limits.bytes / HELD_FILES_KEPT_OF;
}

HeldFilesKeep
held_files_keep(HeldFiles *files, const char *key)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&files->lock);
    GList *found = find_link(files, key);

    if (found == NULL)
        return HELD_FILES_NONE;
    Entry *entry = found->data;
    entry->kept = entry->kept || may_be_kept(files, entry);
    return entry->kept ? HELD_FILES_DONE : HELD_FILES_CROWDED;
}

gboolean
held_files_remove(HeldFiles *files, const char *key)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&files->lock);
    GList *found = find_link(files, key);

    if (found != NULL)
        drop(files, found);
    return found != NULL;
}

void
held_files_expire(HeldFiles *files, gint64 now)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&files->lock);

    for (GList *at = files->entries.tail, *before; at != NULL; at = before) {
        const Entry *entry = at->data;
        before = at->prev;
        if (!entry->kept && now - entry->used > HELD_FILES_IDLE_S * G_USEC_PER_SEC)
            drop(files, at);
    }
}
