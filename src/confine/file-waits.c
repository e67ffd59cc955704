/* SPDX-License-Identifier: Apache-2.0 */
#include "confine/file-waits.h"

#include "confine/thread-calls.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

enum {
    LOOK_MIN_MS = 500,
    LOOK_MAX_MS = 1500,
    DISK_MIN = 512 << 10, /* bytes between two looks: less from a disk does not excuse a file that is late */
};

struct FileWaits {
    pid_t pid;
    const int *kept;
    guint n_kept;
    GHashTable *calls; /* thread-calls.h */
    gint64 looked_us, due_us;
    gint64 waited_us;   /* excess of waiting over other time */
    guint64 disk_bytes; /* that the child has had read from disks */
};

/* Calls that wait for the parent, another thread or the clock. */
static const long others[] = {
    SYS_futex, SYS_recvmsg,   SYS_sendmsg,         SYS_write,           SYS_writev,
    SYS_ppoll, SYS_nanosleep, SYS_clock_nanosleep, SYS_restart_syscall,
#ifdef SYS_poll
    SYS_poll,
#endif
};

static void
plan(FileWaits *waits)
{
    waits->looked_us = g_get_monotonic_time();
    waits->due_us = waits->looked_us + g_random_int_range(LOOK_MIN_MS, LOOK_MAX_MS) * 1000;
}

FileWaits *
file_waits_new(pid_t pid, const int *kept, guint n)
{
    FileWaits *waits = g_new0(FileWaits, 1);
    *waits = (FileWaits){.pid = pid, .kept = kept, .n_kept = n, .calls = thread_calls_new()};
    plan(waits);
    return waits;
}

void
file_waits_free(FileWaits *waits)
{
    if (waits == NULL)
        return;
    g_hash_table_unref(waits->calls);
    g_free(waits);
}

int
file_waits_due_ms(const FileWaits *waits)
{
    const gint64 us = waits->due_us - g_get_monotonic_time();
    return (int)CLAMP(us / 1000 + 1, 0, LOOK_MAX_MS);
}

/* Whether FD of the child is a pipe, socket or terminal of the caller's, whose other end may take its time. Its type is
 * known without its file system. */
static gboolean
is_stream(const FileWaits *waits, guint64 fd)
{
    struct statx status;
    guint i = 0;
    while (i < waits->n_kept && (waits->kept[i] < 0 || (guint64)waits->kept[i] != fd))
        i++;
    return i < waits->n_kept && statx((int)fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &status) == 0 &&
           !S_ISREG(status.stx_mode);
}

static gboolean
is_for_a_file(const FileWaits *waits, const ThreadCall *call)
{
    for (gsize i = 0; i < G_N_ELEMENTS(others); i++)
        if (others[i] == call->number)
            return FALSE;
    return (call->number != SYS_read && call->number != SYS_readv) || !is_stream(waits, call->arguments[0]);
}

/* A stopped or frozen thread neither runs nor waits. */
static gboolean
look_at_threads(const FileWaits *waits)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/task", (int)waits->pid);
    g_autoptr(GDir) threads = g_dir_open(path, 0, NULL);
    const char *thread;
    gboolean waiting = FALSE, running = FALSE;
    while (threads != NULL && !running && (thread = g_dir_read_name(threads)) != NULL) {
        const ThreadCall *call = thread_calls_look(waits->calls, waits->pid, thread);
        running = call == NULL;
        waiting = waiting || (call != NULL && strchr("SD", call->state) != NULL && is_for_a_file(waits, call));
    }
    return waiting && !running;
}

/* Whether a disk, or a network file system, has been read from at length since the last look: a slow one is not the
 * file system of another user. */
static gboolean
has_read_from_disk(FileWaits *waits)
{
    static const char key[] = "\nread_bytes: ";
    g_autofree char *text = NULL, *path = g_strdup_printf("/proc/%d/io", (int)waits->pid);
    const char *line = g_file_get_contents(path, &text, NULL, NULL) ? strstr(text, key) : NULL;
    const guint64 before = waits->disk_bytes;
    waits->disk_bytes = line != NULL ? g_ascii_strtoull(line + strlen(key), NULL, 10) : before;
    return waits->disk_bytes - before >= DISK_MIN;
}

gboolean
file_waits_look(FileWaits *waits)
{
    if (g_get_monotonic_time() < waits->due_us)
        return TRUE;
    /* This process may have been stopped, or busy with a request of the child, for any time. */
    const gint64 since = MIN(g_get_monotonic_time() - waits->looked_us, 2 * LOOK_MAX_MS * 1000);
    const gboolean disk = has_read_from_disk(waits);
    const gboolean waiting = !disk && look_at_threads(waits);
    waits->waited_us = MAX(waits->waited_us + (waiting ? since : -since), 0);
    plan(waits);
    return waits->waited_us <= FILE_WAITS_S * G_USEC_PER_SEC;
}
