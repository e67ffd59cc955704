/* SPDX-License-Identifier: Apache-2.0 */
#include "confine/forking.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

static GMutex lock;
static int began = -1; /* in a child that has not begun: the end of a pipe */

/* In every child: the thread that had the lock may be another one, which the child has not. */
static void
forget_lock(void)
{
    g_mutex_init(&lock);
}

void
forking_lock(void)
{
    static gsize prepared;
    if (g_once_init_enter(&prepared)) {
        pthread_atfork(NULL, NULL, forget_lock);
        g_once_init_leave(&prepared, 1);
    }
    g_mutex_lock(&lock);
}

void
forking_unlock(void)
{
    g_mutex_unlock(&lock);
}

static void
wait_for_byte(int pipe)
{
    char byte;
    while (read(pipe, &byte, 1) < 0 && errno == EINTR)
        continue;
}

static gboolean
open_pipe(int ends[static 2])
{
    if (pipe2(ends, O_CLOEXEC) != 0)
        return FALSE;
    const int low = ends[1];
    ends[1] = fcntl(low, F_DUPFD_CLOEXEC, FORKING_BELOW);
    close(low);
    if (ends[1] < 0)
        close(ends[0]);
    return ends[1] >= 0;
}

pid_t
forking_fork_locked(void)
{
    int ends[2];
    if (!open_pipe(ends))
        return -1;
    const pid_t child = fork();
    const int code = errno;
    if (child == 0) {
        close(ends[0]);
        began = ends[1];
        return 0;
    }
    close(ends[1]);
    if (child > 0)
        wait_for_byte(ends[0]);
    close(ends[0]);
    errno = code;
    return child;
}

pid_t
forking_fork(void)
{
    forking_lock();
    const pid_t child = forking_fork_locked();
    if (child != 0)
        forking_unlock();
    return child;
}

static gboolean
close_between(guint first, guint last)
{
    return first > last || syscall(SYS_close_range, first, last, 0) == 0;
}

gboolean
forking_close(guint first, guint last)
{
    const guint kept = (guint)began;
    if (began < 0 || kept < first || kept > last)
        return close_between(first, last);
    return close_between(first, kept - 1) && close_between(kept + 1, last);
}

void
forking_child_began(void)
{
    if (began < 0)
        return;
    (void)!write(began, "", 1);
    close(began);
    began = -1;
}
