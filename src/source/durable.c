/* SPDX-License-Identifier: Apache-2.0 */
#include "source/durable.h"

#include "wire/transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static gboolean
sync_directory(const char *path)
{
    g_autofree char *directory = g_path_get_dirname(path);
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
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

/* Writes a file with CONTENT and syncs it; returns its name, or NULL with errno. */
static char *
write_beside(const char *path, const Content *content)
{
    static gint number;
    g_autofree char *name =
        g_strdup_printf("%s.%d-%d" DURABLE_UNFINISHED, path, (int)getpid(), g_atomic_int_add(&number, 1));
    unlink(name); /* of an earlier process with this pid, or another user's second name of a file of ours */
    int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return NULL;
    gboolean written = write_content(fd, content);
    int saved = errno;
    if (close(fd) == 0 && written)
        return g_steal_pointer(&name);
    saved = written ? errno : saved;
    unlink(name);
    errno = saved;
    return NULL;
}

static gboolean
replace(const char *path, const Content *content, GError **error)
{
    g_autofree char *name = write_beside(path, content);
    if (name != NULL && rename(name, path) == 0 && sync_directory(path))
        return TRUE;
    int code = errno;
    g_set_error(error, G_FILE_ERROR, (int)g_file_error_from_errno(code), "cannot write %s: %s", path, g_strerror(code));
    if (name != NULL)
        unlink(name);
    return FALSE;
}

gboolean
durable_write(const char *path, gconstpointer bytes, gsize size, GError **error)
{
    return replace(path, &(Content){bytes, size, -1}, error);
}

gboolean
durable_copy(const char *path, int descriptor, GError **error)
{
    return replace(path, &(Content){.descriptor = descriptor}, error);
}
