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
is_spared(guint64 left, guint64 limit)
{
    return left >= CLAMP(limit / PART, RESERVE_MIN, RESERVE);
}

gboolean
own_room_is_left(const char *proc, const char *cgroups)
{
    CgroupRooms rooms;
    cgroup_rooms_read(proc, cgroups, (int)getpid(), (int)getpid(), &rooms);
    return is_spared(rooms.shared.left, rooms.shared.limit) &&
           is_spared(own_room_machine("MemAvailable:"), own_room_machine("MemTotal:"));
}
