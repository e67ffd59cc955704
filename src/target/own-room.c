/* SPDX-License-Identifier: Apache-2.0 */
#include "target/own-room.h"

#include "target/cgroup.h"

#include <string.h>
#include <unistd.h>

enum {
    /* Bytes that must be left in our own groups and on the machine: several threads may take outputs at once. */
    RESERVE = 128 << 20,
    PART = 16, /* or this part of a smaller limit, */
    RESERVE_MIN = 8 << 20,
};

guint64
own_room_machine(const char *word)
{
    g_autofree char *text = NULL;
    if (!g_file_get_contents("/proc/meminfo", &text, NULL, NULL))
        return G_MAXUINT64;
    const char *line = strstr(text, word);
    return line != NULL ? g_ascii_strtoull(line + strlen(word), NULL, 10) * 1024 : G_MAXUINT64;
}

static gboolean
is_spared(guint64 left, guint64 limit, guint64 held)
{
    const guint64 reserve = CLAMP(limit / PART, RESERVE_MIN, RESERVE);
    return left >= reserve && left - reserve >= held;
}

gboolean
own_room_is_left(const char *proc, const char *cgroups, guint64 held)
{
    CgroupRooms rooms;
    cgroup_rooms_read(proc, cgroups, (int)getpid(), (int)getpid(), &rooms);
    return is_spared(rooms.shared.left, rooms.shared.limit, held) &&
           is_spared(own_room_machine("MemAvailable:"), own_room_machine("MemTotal:"), held);
}

gboolean
own_room_may_hold(guint64 held)
{
    return own_room_is_left("/proc", "/sys/fs/cgroup", held);
}

static GMutex lock;
static GHashTable *holders; /* bytes of each account that holds some. Protected by the lock */

/* Only numbers: NULL is 0 bytes. The caller holds the lock. */
static guint64
held_by(uid_t account)
{
    return holders != NULL ? GPOINTER_TO_SIZE(g_hash_table_lookup(holders, GUINT_TO_POINTER(account))) : 0;
}

void
own_room_hold(uid_t account, gint64 bytes)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&lock);
    if (holders == NULL)
        holders = g_hash_table_new(NULL, NULL);
    const guint64 now = held_by(account) + (guint64)bytes;
    if (now > 0)
        g_hash_table_insert(holders, GUINT_TO_POINTER(account), GSIZE_TO_POINTER(now));
    else
        g_hash_table_remove(holders, GUINT_TO_POINTER(account));
}

guint64
own_room_held(uid_t account)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&lock);
    return held_by(account);
}
