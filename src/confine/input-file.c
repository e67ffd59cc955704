/* SPDX-License-Identifier: Apache-2.0 */
#include "confine/input-file.h"

#include "confine/rights.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static int
set_refused(GError **error, int code, const char *why)
{
    g_set_error_literal(error, G_IO_ERROR, g_io_error_from_errno(code), why);
    return -1;
}

gboolean
input_file_raise_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max)
        return FALSE;
    limit.rlim_cur = limit.rlim_max;
    return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

static int
set_too_many(GError **error)
{
    struct rlimit limit = {0};
    getrlimit(RLIMIT_NOFILE, &limit);
    g_set_error(error, G_IO_ERROR, G_IO_ERROR_TOO_MANY_OPEN_FILES,
                "no more than %" G_GUINT64_FORMAT " files may be open at once; name fewer, or raise the limit (ulimit "
                "-Hn, LimitNOFILE= of a unit)",
                (guint64)limit.rlim_max);
    return -1;
}

static const char *
type_of(mode_t mode)
{
    return S_ISSOCK(mode) ? "it is a socket, not a file" : "it is a device, not a file";
}

/* Opens what was found, for reading. */
static int
open_found(const Walk *walk, int flags, GError **error)
{
    char same[64];
    g_snprintf(same, sizeof(same), "/proc/self/fd/%d", walk->at);
    int fd = open(same, O_RDONLY | O_CLOEXEC | O_NOCTTY | flags);
    if (fd >= 0)
        return fd;
    return set_refused(error, errno,
                       errno == EWOULDBLOCK ? "another process has a lease on it (fcntl(2), F_SETLEASE); try again"
                                            : g_strerror(errno));
}

static int
open_other(const Walk *walk, const struct stat *status, GError **error)
{
    if (walk->led)
        return set_refused(error, EPERM, "a link of another user leads there; it is not a regular file");
    if (walk->by_magic)
        return open_found(walk, 0, error);
    if (!S_ISFIFO(status->st_mode))
        return set_refused(error, EINVAL, type_of(status->st_mode));
    if (!rights_are_trusted(status->st_uid))
        return set_refused(error, EPERM, "it is a FIFO of another user");
    return open_found(walk, 0, error);
}

const char *
input_file_objection(const Walk *walk, const struct stat *status)
{
    if (walk->led && walk_is_of_proc(walk->at)) /* what his process shows may be memory that he keeps from being read */
        return "a link of another user leads there; it is a file of /proc";
    if (walk->led && (walk->several || walk->leader != status->st_uid))
        return "a link of another user leads there, and the file is not his; name the file itself";
    return NULL;
}

typedef enum {
    WANTED_ANY,     /* what input_file_open() allows */
    WANTED_REGULAR, /* a regular file */
} Wanted;

static int
open_walked(const Walk *walk, Wanted wanted, GError **error)
{
    struct stat status;
    if (fstat(walk->at, &status) != 0 || S_ISDIR(status.st_mode))
        return set_refused(error, EISDIR, g_strerror(EISDIR));
    if (!S_ISREG(status.st_mode))
        return wanted == WANTED_ANY ? open_other(walk, &status, error)
                                    : set_refused(error, EINVAL, "it is not a regular file");
    const char *objection = input_file_objection(walk, &status);
    if (objection != NULL)
        return set_refused(error, EPERM, objection);
    return open_found(walk, O_NONBLOCK, error); /* a lease would delay it by 45 s */
}

static int
open_once(const char *path, Wanted wanted, GError **error)
{
    Walk walk;
    const int code = walk_to(&walk, path, WALK_FAILS);
    const int fd = code != 0 ? set_refused(error, code, walk_strerror(code)) : open_walked(&walk, wanted, error);
    walk_end(&walk);
    return fd;
}

static int
open_path(const char *path, Wanted wanted, GError **error)
{
    g_autoptr(GError) cause = NULL;
    int fd = open_once(path, wanted, &cause);
    if (g_error_matches(cause, G_IO_ERROR, G_IO_ERROR_TOO_MANY_OPEN_FILES) && input_file_raise_limit()) {
        g_clear_error(&cause);
        fd = open_once(path, wanted, &cause);
    }
    if (g_error_matches(cause, G_IO_ERROR, G_IO_ERROR_TOO_MANY_OPEN_FILES))
        return set_too_many(error);
    if (cause != NULL)
        g_propagate_error(error, g_steal_pointer(&cause));
    return fd;
}

int
input_file_open(const char *path, GError **error)
{
    return open_path(path, WANTED_ANY, error);
}

int
input_file_open_regular(const char *path, GError **error)
{
    return open_path(path, WANTED_REGULAR, error);
}

static gboolean
is_foreign(int fd)
{
    struct stat status;
    return fstat(fd, &status) == 0 && !rights_are_trusted(status.st_uid);
}

guint
input_seconds_of(uid_t author, guint foreign_seconds)
{
    return rights_are_trusted(author) ? 0 : foreign_seconds;
}

guint
input_file_seconds(int fd)
{
    return is_foreign(fd) ? INPUT_FILE_FOREIGN_SECONDS : 0;
}

guint
input_files_seconds(const GArray *fds, guint foreign_seconds)
{
    for (guint i = 0; i < fds->len; i++)
        if (is_foreign(g_array_index(fds, int, i)))
            return foreign_seconds;
    return 0;
}

gssize
input_file_peek(const char *path, char *start, gsize size)
{
    const int fd = open_path(path, WANTED_REGULAR, NULL);
    const gssize got = fd >= 0 ? read(fd, start, size) : -1;
    if (fd >= 0)
        close(fd);
    return got;
}
