/* SPDX-License-Identifier: Apache-2.0 */
#include "service/follow.h"

#include "confine/input-file.h"
#include "history/history.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    CHUNK = 256 * 1024,
    HEAD = 256, /* bytes at the beginning that are compared */
    POLL_MAX = 16 * 1024 * 1024,
};

struct Follow {
    char *path;
    FollowFunc func;
    gpointer data;
    int fd; /* -1: missing */
    off_t offset;
    char head[HEAD];
    gsize head_length;
    gsize left; /* remaining bytes of POLL_MAX */
    char *chunk;
};

static gboolean
fail(Follow *follow, GError **error)
{
    g_set_error(error, HISTORY_ERROR, HISTORY_ERROR_FAILED, "cannot read '%s': %s", follow->path, g_strerror(errno));
    return FALSE;
}

static gsize
read_head(int fd, char *head)
{
    ssize_t length = pread(fd, head, HEAD, 0);
    return length > 0 ? (gsize)length : 0;
}

static void
close_file(Follow *follow)
{
    if (follow->fd >= 0)
        close(follow->fd);
    follow->fd = -1;
    follow->offset = 0;
    follow->head_length = 0;
}

/* The directory may belong to the log's writer, who can create anything there: a device, a link to a file that only the
 * reader may read, or a file of which he holds a lease. */
static gboolean
open_file(Follow *follow, GError **error)
{
    follow->fd = input_file_open_regular(follow->path, error);
    follow->offset = 0;
    follow->head_length = 0;
    if (follow->fd < 0)
        g_prefix_error(error, "cannot read '%s': ", follow->path);
    return follow->fd >= 0;
}

/* FALSE with ERROR if it exists and cannot be opened. */
static gboolean
open_if_there(Follow *follow, GError **error)
{
    g_autoptr(GError) cause = NULL;
    if (open_file(follow, &cause) || g_error_matches(cause, G_IO_ERROR, G_IO_ERROR_NOT_FOUND))
        return TRUE;
    g_propagate_error(error, g_steal_pointer(&cause));
    return FALSE;
}

Follow *
follow_new(const char *path, FollowFunc func, gpointer data)
{
    Follow *follow = g_new0(Follow, 1);
    follow->path = g_strdup(path);
    follow->func = func;
    follow->data = data;
    follow->chunk = g_malloc(CHUNK);
    if (open_file(follow, NULL)) {
        follow->offset = lseek(follow->fd, 0, SEEK_END);
        follow->head_length = read_head(follow->fd, follow->head);
    }
    return follow;
}

void
follow_free(Follow *follow)
{
    if (follow == NULL)
        return;
    close_file(follow);
    g_free(follow->path);
    g_free(follow->chunk);
    g_free(follow);
}

/* The file was truncated: it is shorter than the part read, or begins differently. */
static gboolean
was_truncated(Follow *follow)
{
    struct stat status;
    char head[HEAD];
    if (fstat(follow->fd, &status) != 0)
        return FALSE;
    if (status.st_size < follow->offset)
        return TRUE;
    return read_head(follow->fd, head) < follow->head_length || memcmp(head, follow->head, follow->head_length) != 0;
}

/* Reads to the end of the file, if there is one, or to the limit of this poll. */
static gboolean
read_on(Follow *follow, GError **error)
{
    if (follow->fd < 0)
        return TRUE;
    if (was_truncated(follow)) {
        follow->offset = 0;
        follow->head_length = 0;
    }
    while (follow->left > 0) {
        ssize_t length = pread(follow->fd, follow->chunk, MIN(CHUNK, follow->left), follow->offset);
        if (length < 0 && errno == EINTR)
            continue;
        if (length < 0)
            return fail(follow, error);
        if (follow->head_length < HEAD)
            follow->head_length = read_head(follow->fd, follow->head);
        if (length == 0)
            return TRUE;
        follow->offset += length;
        follow->left -= (gsize)length;
        if (!follow->func(follow->chunk, (gsize)length, follow->data, error))
            return FALSE;
    }
    return TRUE;
}

/* Whether PATH now names a different file from the open one. */
static gboolean
was_replaced(const Follow *follow)
{
    struct stat here, there;
    return fstat(follow->fd, &here) == 0 && stat(follow->path, &there) == 0 &&
           (here.st_ino != there.st_ino || here.st_dev != there.st_dev);
}

gboolean
follow_poll(Follow *follow, GError **error)
{
    follow->left = POLL_MAX;
    if (follow->fd < 0 && !open_if_there(follow, error))
        return FALSE;
    if (!read_on(follow, error))
        return FALSE;
    if (!was_replaced(follow))
        return TRUE;
    /* Reads the rest that the writer has written to the old file. */
    if (!read_on(follow, error))
        return FALSE;
    if (follow->left == 0)
        return TRUE;
    close_file(follow);
    return open_if_there(follow, error) && read_on(follow, error);
}
