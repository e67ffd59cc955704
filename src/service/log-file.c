/* SPDX-License-Identifier: Apache-2.0 */
#include "service/log-file.h"

#include "confine/input-file.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static gsize
read_head(int fd, char *head)
{
    ssize_t length = pread(fd, head, LOG_FILE_HEAD, 0);
    return length > 0 ? (gsize)length : 0;
}

/* Whether the open file begins as the one that was read. */
static gboolean
has_same_head(const LogFile *file)
{
    char head[LOG_FILE_HEAD];
    return read_head(file->fd, head) >= file->place.head_length &&
           memcmp(head, file->place.head, file->place.head_length) == 0;
}

static void
restart(LogFile *file)
{
    file->place.offset = 0;
    file->place.head_length = 0;
}

/* The directory may belong to the log's writer, who can create anything there: a device, a link to a file that only the
 * reader may read, or a file of which he holds a lease. TRUE if there is no file. */
static gboolean
open_if_there(LogFile *file, GError **error)
{
    g_autoptr(GError) cause = NULL;
    struct stat status;
    file->fd = input_file_open_regular(file->path, &cause);
    if (file->fd < 0 && !g_error_matches(cause, G_IO_ERROR, G_IO_ERROR_NOT_FOUND)) {
        g_propagate_error(error, g_steal_pointer(&cause));
        return FALSE;
    }
    if (file->fd < 0 || fstat(file->fd, &status) != 0)
        return TRUE;
    if (status.st_ino != file->place.inode || status.st_dev != file->place.device)
        restart(file);
    file->place.inode = status.st_ino;
    file->place.device = status.st_dev;
    file->place.owner = status.st_uid;
    return TRUE;
}

gboolean
log_file_begin(LogFile *file, GError **error)
{
    if (!open_if_there(file, error))
        return FALSE;
    if (file->fd >= 0) {
        file->place.offset = lseek(file->fd, 0, SEEK_END);
        file->place.head_length = read_head(file->fd, file->place.head);
    }
    return TRUE;
}

/* The file was truncated: it is shorter than the part read, or begins differently. */
static gboolean
was_truncated(const LogFile *file)
{
    struct stat status;
    return fstat(file->fd, &status) == 0 && (status.st_size < file->place.offset || !has_same_head(file));
}

static gboolean
read_on(LogFile *file, char *bytes, gsize size, gsize *length, GError **error)
{
    ssize_t got = 0;
    *length = 0;
    if (file->fd < 0)
        return TRUE;
    if (was_truncated(file))
        restart(file);
    do {
        got = pread(file->fd, bytes, size, file->place.offset);
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
        g_set_error_literal(error, G_IO_ERROR, g_io_error_from_errno(errno), g_strerror(errno));
        return FALSE;
    }
    if (file->place.head_length < LOG_FILE_HEAD)
        file->place.head_length = read_head(file->fd, file->place.head);
    file->place.offset += got;
    *length = (gsize)got;
    return TRUE;
}

/* Whether the path now names a different file from the open one. */
static gboolean
was_replaced(const LogFile *file)
{
    struct stat here, there;
    return file->fd >= 0 && fstat(file->fd, &here) == 0 && stat(file->path, &there) == 0 &&
           (here.st_ino != there.st_ino || here.st_dev != there.st_dev);
}

gboolean
log_file_read(LogFile *file, char *bytes, gsize size, gsize *length, GError **error)
{
    if (file->fd < 0 && !open_if_there(file, error))
        return FALSE;
    if (!read_on(file, bytes, size, length, error))
        return FALSE;
    if (*length > 0 || !was_replaced(file))
        return TRUE;
    /* The rest that the writer has written to the old file. */
    if (!read_on(file, bytes, size, length, error))
        return FALSE;
    if (*length > 0)
        return TRUE;
    close(file->fd);
    file->fd = -1;
    file->place.inode = 0;
    return open_if_there(file, error) && read_on(file, bytes, size, length, error);
}
