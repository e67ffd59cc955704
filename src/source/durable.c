/* SPDX-License-Identifier: Apache-2.0 */
#include "source/durable.h"

#include "confine/walk.h"
#include "wire/transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static gboolean
sync_directory(int directory)
{
    int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    gboolean synced = fd >= 0 && fsync(fd) == 0;
    int saved = errno;
    if (fd >= 0)
        close(fd);
    errno = saved;
    return synced;
}

typedef struct {
    gconstpointer bytes;
    gsize size;
    int descriptor; /* -1: BYTES */
} Content;

static gboolean
write_content(int fd, const Content *content)
{
    gboolean written = content->descriptor < 0 ? transfer_write(fd, content->bytes, content->size)
                                               : transfer_copy(content->descriptor, fd, G_MAXUINT64);
    return written && fdatasync(fd) == 0;
}

/* Writes a file in DIRECTORY with CONTENT and syncs it; returns its name, or NULL with errno. */
static char *
write_beside(int directory, const char *name, const Content *content)
{
    static gint number;
    g_autofree char *made =
        g_strdup_printf("%s.%d-%d" DURABLE_UNFINISHED, name, (int)getpid(), g_atomic_int_add(&number, 1));
    /* Of an earlier process with this pid, or another user's second name of a file of ours. */
    unlinkat(directory, made, 0);
    int fd = openat(directory, made, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return NULL;
    gboolean written = write_content(fd, content);
    int saved = errno;
    if (close(fd) == 0 && written)
        return g_steal_pointer(&made);
    saved = written ? errno : saved;
    unlinkat(directory, made, 0);
    errno = saved;
    return NULL;
}

/* FALSE with errno. */
static gboolean
replace(int directory, const char *name, const Content *content)
{
    g_autofree char *made = write_beside(directory, name, content);
    if (made != NULL && renameat(directory, made, directory, name) == 0 && sync_directory(directory))
        return TRUE;
    int code = errno;
    if (made != NULL)
        unlinkat(directory, made, 0);
    errno = code;
    return FALSE;
}

static gboolean
set_failed(GError **error, const char *path)
{
    int code = errno;
    g_set_error(error, G_FILE_ERROR, (int)g_file_error_from_errno(code), "cannot write %s: %s", path, g_strerror(code));
    return FALSE;
}

static gboolean
replace_path(const char *path, const Content *content, GError **error)
{
    g_autofree char *parent = g_path_get_dirname(path), *name = g_path_get_basename(path);
    const int directory = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0)
        return set_failed(error, path);
    const gboolean replaced = replace(directory, name, content) || set_failed(error, path);
    close(directory);
    return replaced;
}

gboolean
durable_write(const char *path, gconstpointer bytes, gsize size, GError **error)
{
    return replace_path(path, &(Content){bytes, size, -1}, error);
}

gboolean
durable_copy(const char *path, int descriptor, GError **error)
{
    return replace_path(path, &(Content){.descriptor = descriptor}, error);
}

gboolean
durable_write_at(int directory, const char *name, gconstpointer bytes, gsize size, GError **error)
{
    if (replace(directory, name, &(Content){bytes, size, -1}))
        return TRUE;
    int code = errno;
    g_autofree char *place = walk_name(directory);
    g_autofree char *path = g_build_filename(place != NULL ? place : "", name, NULL);
    errno = code;
    return set_failed(error, path);
}
