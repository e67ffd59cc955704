/* SPDX-License-Identifier: Apache-2.0 */
#include "target/open-files.h"

#include "target/memory-map.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    FILES_MAX = 65536,
    MOUNTS_MAX_BYTES = 4 << 20,
    BLOCK = 512, /* of st_blocks */
};

typedef struct {
    pid_t pid;
    GHashTable *mounts; /* id -> whether it is a tmpfs */
    GHashTable *seen;   /* "device:inode" of files counted */
    int process;        /* a descriptor of it (pidfd_open(2)); -1: none */
    OpenFiles *files;
} Walk;

/* "36 35 98:0 /root /mnt rw,noatime master:1 - tmpfs none rw". */
static gboolean
note_mount(char *line, gpointer data)
{
    GHashTable *mounts = data;
    const char *type = strstr(line, " - ");
    gboolean tmpfs = type != NULL && (g_str_has_prefix(type + 3, "tmpfs ") || g_str_has_prefix(type + 3, "devtmpfs "));
    g_hash_table_insert(mounts, GINT_TO_POINTER(atoi(line)), GINT_TO_POINTER(tmpfs));
    return TRUE;
}

/* The mount that a file was opened through, without asking its file system; -1: unknown. */
static int
mount_of(pid_t pid, const char *number)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/fdinfo/%s", (int)pid, number);
    g_autofree char *text = NULL;
    if (!g_file_get_contents(path, &text, NULL, NULL))
        return -1;
    const char *found = strstr(text, "mnt_id:");
    return found != NULL ? atoi(found + strlen("mnt_id:")) : -1;
}

/* A memory file is in no mount that the process sees. */
static gboolean
is_in_memory(const Walk *walk, const char *number, const char *name)
{
    gpointer tmpfs;
    int mount = mount_of(walk->pid, number);
    if (mount < 0)
        return FALSE;
    if (g_hash_table_lookup_extended(walk->mounts, GINT_TO_POINTER(mount), NULL, &tmpfs))
        return GPOINTER_TO_INT(tmpfs);
    return g_str_has_prefix(name, "/memfd:");
}

static void
note_file(Walk *walk, const char *number, const char *name, int directory)
{
    struct stat about;
    if (!is_in_memory(walk, number, name) || fstatat(directory, number, &about, 0) != 0 || !S_ISREG(about.st_mode))
        return;
    char *key = g_strdup_printf("%jx:%jx", (uintmax_t)about.st_dev, (uintmax_t)about.st_ino);
    if (g_hash_table_add(walk->seen, key))
        walk->files->tmpfs += (guint64)MAX(about.st_blocks, 0) * BLOCK;
}

/* What waits in a pipe is known to those that have it open: a copy of the descriptor is, for a moment. */
static void
note_pipe(Walk *walk, const char *number, const char *name)
{
    enum { PAGE = 4096 };
    int bytes = 0;
    if (walk->files->pipes == G_MAXUINT64 || !g_hash_table_add(walk->seen, g_strdup(name)))
        return;
    int copy = (int)syscall(SYS_pidfd_getfd, walk->process, atoi(number), 0);
    if (copy < 0 && errno != EBADF)
        walk->files->pipes = G_MAXUINT64;
    else if (copy >= 0 && ioctl(copy, FIONREAD, &bytes) == 0)
        walk->files->pipes += ((guint64)MAX(bytes, 0) + PAGE - 1) / PAGE * PAGE;
    if (copy >= 0)
        close(copy);
}

static void
note_descriptor(Walk *walk, const char *number, int directory)
{
    char name[PATH_MAX];
    ssize_t length = readlinkat(directory, number, name, sizeof(name) - 1);
    if (length <= 0)
        return;
    name[length] = '\0';
    if (g_str_has_prefix(name, "socket:[")) {
        guint32 inode = (guint32)g_ascii_strtoull(name + strlen("socket:["), NULL, 10);
        g_array_append_val(walk->files->sockets, inode);
    } else if (g_str_has_prefix(name, "pipe:[")) {
        note_pipe(walk, number, name);
    } else if (name[0] == '/') {
        note_file(walk, number, name, directory);
    }
}

static int
compare(gconstpointer a, gconstpointer b)
{
    guint32 left = *(const guint32 *)a, right = *(const guint32 *)b;
    return left < right ? -1 : left > right;
}

static gboolean
walk_descriptors(Walk *walk, GDir *numbers, int directory, gint64 until_us)
{
    const char *number;
    for (guint n = 0; (number = g_dir_read_name(numbers)) != NULL; n++) {
        if (n == FILES_MAX || g_get_monotonic_time() >= until_us)
            return FALSE;
        note_descriptor(walk, number, directory);
    }
    return TRUE;
}

gboolean
open_files_read(pid_t pid, gint64 until_us, OpenFiles *files)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/fd", (int)pid);
    g_autoptr(GDir) numbers = g_dir_open(path, 0, NULL);
    int directory = numbers != NULL ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (directory < 0)
        return FALSE;
    g_autoptr(GHashTable) mounts = g_hash_table_new(NULL, NULL);
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    Walk walk = {
        .pid = pid, .mounts = mounts, .seen = seen, .process = (int)syscall(SYS_pidfd_open, pid, 0), .files = files};
    *files = (OpenFiles){.pipes = walk.process >= 0 ? 0 : G_MAXUINT64,
                         .sockets = g_array_new(FALSE, FALSE, sizeof(guint32))};
    gboolean read = memory_map_read_list(pid, "mountinfo", MOUNTS_MAX_BYTES, note_mount, mounts) == MEMORY_MAP_READ &&
                    walk_descriptors(&walk, numbers, directory, until_us);
    close(directory);
    if (walk.process >= 0)
        close(walk.process);
    g_array_sort(files->sockets, compare);
    if (!read)
        open_files_clear(files);
    return read;
}

void
open_files_clear(OpenFiles *files)
{
    g_clear_pointer(&files->sockets, g_array_unref);
}
