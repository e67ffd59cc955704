/* SPDX-License-Identifier: Apache-2.0 */
#include "target/process-change.h"

#include "target/process-file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Of a file that the kernel writes, which no process delays. NULL with errno. */
static char *
read_in(int directory, const char *file)
{
    return process_read_whole(openat(directory, file, O_RDONLY | O_CLOEXEC));
}

static gboolean
had_id(const Process *found, uid_t user)
{
    for (guint i = 0; i < PROCESS_UIDS; i++)
        if (found->uids[i] == user)
            return TRUE;
    return FALSE;
}

static gboolean
could_take_any(int directory, const Process *found)
{
    if (had_id(found, 0))
        return TRUE;
    g_autofree char *map = read_in(directory, "uid_map");
    return had_id(found, process_namespace_root(map));
}

static gboolean
has_rights_of(const Process *now, const Process *found)
{
    return memcmp(now->uids, found->uids, sizeof(now->uids)) == 0 &&
           memcmp(now->gids, found->gids, sizeof(now->gids)) == 0 && (!now->closed || found->closed);
}

int
process_change_check_in(int directory, const Process *found)
{
    Process now = {.pid = found->pid};
    const uid_t owner = process_memory_owner(directory);
    g_autofree char *stat = read_in(directory, "stat");
    g_autofree char *status = stat != NULL ? read_in(directory, "status") : NULL;
    if (status == NULL && process_is_shortage(errno))
        return errno;
    if (!process_parse(stat, status, owner, &now) || now.start_time != found->start_time || process_has_ended(&now))
        return ESRCH;
    return has_rights_of(&now, found) || could_take_any(directory, found) ? 0 : EPERM;
}

/* Of process PID; -1 with errno. */
static int
open_directory(pid_t pid)
{
    char path[32];
    g_snprintf(path, sizeof(path), "/proc/%d", (int)pid);
    return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

int
process_change_check(const Process *found)
{
    int directory = open_directory(found->pid);
    if (directory < 0)
        return process_is_shortage(errno) ? errno : ESRCH;
    int error = process_change_check_in(directory, found);
    close(directory);
    return error;
}

gboolean
process_change_has_no_more(const Process *other, const Process *found)
{
    if (has_rights_of(other, found))
        return TRUE;
    int directory = open_directory(found->pid);
    const gboolean any = directory >= 0 && could_take_any(directory, found);
    if (directory >= 0)
        close(directory);
    return any;
}
