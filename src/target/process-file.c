/* SPDX-License-Identifier: Apache-2.0 */
#include "target/process-file.h"

#include "confine/aside.h"
#include "confine/rights.h"
#include "target/process-stat.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    CHUNK = 4096,
    STAT_MAX = 4096,
    STATUS_MAX = 1 << 20, /* a list of 65536 groups takes 720 KiB */
};

gboolean
process_sees_our_files(pid_t pid)
{
    g_autofree char *path = g_strdup_printf("/proc/%d", (int)pid);
    int directory = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    gboolean same = directory >= 0 && rights_see_our_files(directory);
    if (directory >= 0)
        close(directory);
    return same;
}

gboolean
process_may_delay(pid_t pid, uid_t *user)
{
    uid_t real, effective, saved;
    const uid_t ours = geteuid();
    if (aside_is_inside())
        return FALSE;
    g_autofree char *status = process_text(pid, "status", STATUS_MAX, NULL);
    const char *ids = status != NULL ? strstr(status, "\nUid:") : NULL;
    if (ids == NULL || sscanf(ids, "\nUid: %u %u %u", &real, &effective, &saved) != 3)
        return FALSE;
    *user = effective;
    /* Without privileges it cannot be told which files our other processes see, and only their user would be harmed. */
    return real != ours || effective != ours || saved != ours || (ours == 0 && !process_sees_our_files(pid));
}

/* Whether reading FILE cannot block. The kernel generates other files from the process's memory, or while it holds a
 * lock of its memory map. */
static gboolean
is_quick(const char *file)
{
    static const char *const quick[] = {"stat", "statm", "status", "cgroup", "uid_map", "mountinfo", "comm", NULL};
    return g_strv_contains(quick, file) || g_str_has_prefix(file, "fdinfo/") || g_str_has_suffix(file, "/children");
}

static char
state_of(pid_t thread)
{
    g_autofree char *stat = process_text(thread, "stat", STAT_MAX, NULL);
    return process_stat_state(stat);
}

pid_t
process_thread(pid_t pid)
{
    if (state_of(pid) != 'Z')
        return pid;
    g_autofree char *path = g_strdup_printf("/proc/%d/task", (int)pid);
    g_autoptr(GDir) threads = g_dir_open(path, 0, NULL);
    const char *name;
    while (threads != NULL && (name = g_dir_read_name(threads)) != NULL) {
        const pid_t thread = (pid_t)atoi(name);
        const char state = state_of(thread);
        if (state != 'Z' && state != 'X' && state != '\0')
            return thread;
    }
    return pid;
}

typedef struct {
    const char *path;
    gsize limit;
} Wanted;

static void
copy_aside(gpointer data, ChannelMessage *answer)
{
    const Wanted *wanted = data;
    int *error = answer->bytes;
    int from = open(wanted->path, O_RDONLY | O_CLOEXEC);
    int to = memfd_create("jescope-proc", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    char bytes[CHUNK * 4];
    ssize_t got = from >= 0 && to >= 0 ? 1 : -1;
    for (gsize total = 0; got > 0 && total < wanted->limit; total += (gsize)MAX(got, 0)) {
        got = read(from, bytes, sizeof(bytes));
        if (got > 0 && write(to, bytes, (size_t)got) != got)
            got = -1;
    }
    *error = got < 0 ? errno : 0;
    if (got >= 0 && lseek(to, 0, SEEK_SET) == 0)
        answer->fds[answer->n_fds++] = to;
}

int
process_open(pid_t pid, const char *file, gsize limit)
{
    const gboolean quick = is_quick(file);
    g_autofree char *path = g_strdup_printf("/proc/%d/%s", (int)(quick ? pid : process_thread(pid)), file);
    const Wanted wanted = {path, limit};
    uid_t user;
    int error = 0;
    ChannelMessage answer = {.bytes = &error, .size = sizeof(error)};
    if (quick || !process_may_delay(pid, &user))
        return open(path, O_RDONLY | O_CLOEXEC);
    if (aside_run(copy_aside, (gpointer)(guintptr)&wanted, user, &answer) != ASIDE_DONE)
        error = ETIMEDOUT;
    errno = error;
    return answer.n_fds > 0 && error == 0 ? answer.fds[0] : -1;
}

char *
process_read_whole(int fd)
{
    if (fd < 0)
        return NULL;
    g_autoptr(GString) text = g_string_new(NULL);
    char bytes[16 * 1024];
    ssize_t got;
    while ((got = read(fd, bytes, sizeof(bytes))) > 0)
        g_string_append_len(text, bytes, got);
    int error = errno;
    close(fd);
    errno = error;
    return got == 0 ? g_string_free(g_steal_pointer(&text), FALSE) : NULL;
}

gboolean
process_is_shortage(int error)
{
    return error == EMFILE || error == ENFILE || error == ENOMEM;
}

static GByteArray *
read_bytes(int fd, gsize limit)
{
    GByteArray *bytes = g_byte_array_new();
    gssize got = 1;
    while (got > 0 && bytes->len < limit) {
        const guint before = bytes->len;
        const gsize room = MIN((gsize)MAX(before, CHUNK), limit - before);
        g_byte_array_set_size(bytes, before + (guint)room);
        got = read(fd, bytes->data + before, room);
        g_byte_array_set_size(bytes, before + (guint)MAX(got, 0));
    }
    if (got < 0)
        g_clear_pointer(&bytes, g_byte_array_unref);
    return bytes;
}

char *
process_text(pid_t pid, const char *file, gsize limit, gsize *length)
{
    int fd = process_open(pid, file, limit);
    g_autoptr(GByteArray) bytes = fd >= 0 ? read_bytes(fd, limit) : NULL;
    if (fd >= 0)
        close(fd);
    if (bytes == NULL)
        return NULL;
    if (length != NULL)
        *length = bytes->len;
    g_byte_array_append(bytes, (const guint8 *)"", 1);
    return (char *)g_byte_array_free(g_steal_pointer(&bytes), FALSE);
}
