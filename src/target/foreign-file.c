/* SPDX-License-Identifier: Apache-2.0 */
#include "target/foreign-file.h"

#include "target/target.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef PIDFD_THREAD
#define PIDFD_THREAD O_EXCL
#endif
#ifndef F_SEAL_EXEC
#define F_SEAL_EXEC 0x0020 /* set by vm.memfd_noexec */
#endif

const guint64 foreign_file_flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;

/* Opens a pidfd of the thread, which may have its own descriptor table; before Linux 6.9, only the main thread has
 * one. */
static int
open_thread(pid_t thread)
{
    int pidfd = pidfd_open(thread, PIDFD_THREAD);
    return pidfd >= 0 || errno != EINVAL ? pidfd : pidfd_open(thread, 0);
}

/* For kernels before 6.9: a thread normally shares the main thread's descriptors; if not, the check of the descriptor
 * fails. */
static int
open_main_thread(pid_t thread)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/status", (int)thread);
    g_autofree char *status = NULL;
    const char *line = g_file_get_contents(path, &status, NULL, NULL) ? g_strstr_len(status, -1, "\nTgid:") : NULL;
    return line != NULL ? pidfd_open((pid_t)g_ascii_strtoll(line + 6, NULL, 10), 0) : -1;
}

/* Mounted file systems have devices of their own; memory files share one of an internal mount. */
static gboolean
is_internal(int fd)
{
    struct stat st;
    struct stat ours;
    int own = memfd_create("jescope", MFD_CLOEXEC);
    gboolean same = own >= 0 && fstat(own, &ours) == 0 && fstat(fd, &st) == 0 && st.st_dev == ours.st_dev;
    if (own >= 0)
        close(own);
    return same;
}

/* Only files created with MFD_ALLOW_SEALING lack F_SEAL_SEAL. */
static gboolean
is_memory_file(int fd)
{
    struct stat st;
    int flags = fcntl(fd, F_GETFL);
    int seals = fcntl(fd, F_GET_SEALS);
    return is_internal(fd) && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 0 && st.st_size == 0 &&
           flags >= 0 && (flags & O_PATH) == 0 && (flags & O_ACCMODE) == O_RDWR && seals >= 0 &&
           (seals & ~F_SEAL_EXEC) == 0;
}

static gpointer
close_it(gpointer fd)
{
    close(GPOINTER_TO_INT(fd));
    return NULL;
}

/* Closes a descriptor of unknown kind in a separate thread: closing the last reference to a socket may take as long as
 * its owner has set (SO_LINGER), to a file as long as its file system takes. */
static void
close_unknown(int fd)
{
    GThread *thread = g_thread_try_new("close", close_it, GINT_TO_POINTER(fd), NULL);
    if (thread != NULL)
        g_thread_unref(thread);
}

/* -1 with errno. */
static int
copy(pid_t thread, gint64 number)
{
    int pidfd = open_thread(thread);
    if (pidfd < 0 && errno == EINVAL)
        pidfd = open_main_thread(thread);
    int fd = pidfd >= 0 ? pidfd_getfd(pidfd, (int)number, 0) : -1;
    int code = errno;
    if (pidfd >= 0)
        close(pidfd);
    errno = code;
    return fd;
}

gboolean
foreign_file_stat(pid_t thread, gint64 number, struct stat *st)
{
    const int fd = copy(thread, number);
    if (fd < 0)
        return FALSE;
    const int result = fstat(fd, st);
    const int code = errno;
    if (is_internal(fd))
        close(fd);
    else
        close_unknown(fd);
    errno = code;
    return result == 0;
}

int
foreign_file_take(pid_t thread, gint64 number, GError **error)
{
    const int fd = copy(thread, number);
    const int code = errno;
    if (fd < 0 && code == ENOSYS)
        g_set_error(error, TARGET_ERROR, OUTCOME_PERMISSION,
                    "this kernel has no pidfd_getfd(), which is needed to access a file of another process safely; use "
                    "Linux 5.6 or later");
    else if (fd < 0)
        g_set_error(error, TARGET_ERROR, OUTCOME_PERMISSION, "cannot take descriptor %d of thread %d: %s", (int)number,
                    (int)thread, g_strerror(code));
    if (fd < 0 || is_memory_file(fd))
        return fd;
    close_unknown(fd);
    g_set_error(error, TARGET_ERROR, OUTCOME_PERMISSION,
                "descriptor %d of thread %d is not the memory file that was created, since another thread has replaced "
                "it; nothing was written to it",
                (int)number, (int)thread);
    return -1;
}
