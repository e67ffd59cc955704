/* SPDX-License-Identifier: Apache-2.0 */
#include "target/open-files.h"

#include "confine/aside.h"
#include "confine/keyed-hash.h"
#include "target/memory-map.h"
#include "target/process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    FILES_MAX = 65536,
    MOUNTS_MAX_BYTES = 4 << 20,
    BLOCK = 512, /* unit of st_blocks */
};

typedef struct {
    pid_t pid;
    GHashTable *mounts; /* id -> whether it is a tmpfs */
    GHashTable *seen;   /* "device:inode" of counted files */
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

/* The mount through which a file was opened, without accessing its file system; -1 if unknown. */
static int
mount_of(pid_t pid, const char *number)
{
    enum { BEGINNING = 4096 }; /* bytes to read; after them, each lock has a line */
    g_autofree char *file = g_strconcat("fdinfo/", number, NULL);
    g_autofree char *text = process_text(pid, file, BEGINNING, NULL);
    const char *found = text != NULL ? strstr(text, "mnt_id:") : NULL;
    return found != NULL ? atoi(found + strlen("mnt_id:")) : -1;
}

/* A memory file is in a mount that the process does not see. */
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

/* Opens the pipe NAME, which descriptor NUMBER just referred to; -1 with errno, which is EBADF if it refers to another
 * file now: no other file has such a name. A copy of the descriptor (pidfd_getfd(2)) is not used, since it might be of
 * a socket by now; closing its last reference waits for as long as its owner has set (SO_LINGER). */
static int
open_pipe(int directory, const char *number, const char *name)
{
    char place[32], now[64];
    int pinned = openat(directory, number, O_PATH | O_CLOEXEC);
    if (pinned < 0) {
        errno = errno == ENOENT ? EBADF : errno;
        return -1;
    }
    g_snprintf(place, sizeof(place), "/proc/self/fd/%d", pinned);
    ssize_t length = readlink(place, now, sizeof(now) - 1);
    now[MAX(length, 0)] = '\0';
    int fd = strcmp(now, name) == 0 ? open(place, O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1;
    int code = strcmp(now, name) == 0 ? errno : EBADF;
    close(pinned);
    errno = code;
    return fd;
}

/* The unread bytes of a pipe are available only through an open descriptor, so it is opened briefly. */
static void
note_pipe(Walk *walk, const char *number, const char *name, int directory)
{
    enum { PAGE = 4096 };
    int bytes = 0;
    if (walk->files->pipes == G_MAXUINT64 || !g_hash_table_add(walk->seen, g_strdup(name)))
        return;
    int pipe = open_pipe(directory, number, name);
    if (pipe < 0 && errno != EBADF)
        walk->files->pipes = G_MAXUINT64;
    else if (pipe >= 0 && ioctl(pipe, FIONREAD, &bytes) == 0)
        walk->files->pipes += ((guint64)MAX(bytes, 0) + PAGE - 1) / PAGE * PAGE;
    if (pipe >= 0)
        close(pipe);
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
        note_pipe(walk, number, name, directory);
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

static gboolean
read_files(pid_t pid, gint64 until_us, OpenFiles *files)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/fd", (int)pid);
    g_autoptr(GDir) numbers = g_dir_open(path, 0, NULL);
    int directory = numbers != NULL ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (directory < 0)
        return FALSE;
    g_autoptr(GHashTable) mounts = g_hash_table_new(NULL, NULL);
    g_autoptr(GHashTable) seen = g_hash_table_new_full(keyed_hash_string, g_str_equal, g_free, NULL);
    Walk walk = {.pid = pid, .mounts = mounts, .seen = seen, .files = files};
    *files = (OpenFiles){.sockets = g_array_new(FALSE, FALSE, sizeof(guint32))};
    gboolean read = memory_map_read_list(pid, "mountinfo", MOUNTS_MAX_BYTES, note_mount, mounts) == MEMORY_MAP_READ &&
                    walk_descriptors(&walk, numbers, directory, until_us);
    close(directory);
    g_array_sort(files->sockets, compare);
    if (!read)
        open_files_clear(files);
    return read;
}

/* The part of OpenFiles that a child process transfers. */
typedef struct {
    gboolean read;
    guint n_sockets;
    guint64 tmpfs, pipes;
    guint32 sockets[FILES_MAX];
} Answer;

typedef struct {
    pid_t pid;
    uid_t user;
    gint64 until_us;
    OpenFiles *files;
    gboolean read;
} Question;

static void
read_aside(gpointer data, guint i, gpointer bytes)
{
    const Question *question = data;
    Answer *answer = bytes;
    OpenFiles files = {0};
    answer->read = read_files(question->pid, question->until_us, &files);
    if (!answer->read)
        return;
    answer->tmpfs = files.tmpfs;
    answer->pipes = files.pipes;
    answer->n_sockets = MIN(files.sockets->len, FILES_MAX);
    memcpy(answer->sockets, files.sockets->data, answer->n_sockets * sizeof(guint32));
}

static uid_t
user_of(gconstpointer data, guint i)
{
    return ((const Question *)data)->user;
}

static void
take(gpointer data, guint i, gconstpointer bytes)
{
    Question *question = data;
    const Answer *answer = bytes;
    question->read = answer != NULL && answer->read;
    if (!question->read)
        return;
    *question->files = (OpenFiles){
        .tmpfs = answer->tmpfs, .pipes = answer->pipes, .sockets = g_array_new(FALSE, FALSE, sizeof(guint32))};
    g_array_append_vals(question->files->sockets, answer->sockets, answer->n_sockets);
}

/* A pipe is locked while a process writes to it, possibly from memory of its own file system (FUSE), so reading may
 * block. */
gboolean
open_files_read(pid_t pid, gint64 until_us, OpenFiles *files)
{
    Question question = {.pid = pid, .until_us = until_us, .files = files};
    const AsideList list = {.n = 1, .size = sizeof(Answer), .data = &question, .each = read_aside, .user = user_of};
    if (!process_may_delay(pid, &question.user))
        return read_files(pid, until_us, files);
    aside_each(&list, take);
    return question.read;
}

void
open_files_clear(OpenFiles *files)
{
    g_clear_pointer(&files->sockets, g_array_unref);
}
