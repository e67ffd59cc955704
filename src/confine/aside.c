/* SPDX-License-Identifier: Apache-2.0 */
#include "confine/aside.h"

#include "confine/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    LOOK_MS = 100, /* between two looks at what the child does */
    PATIENCE_US = 3 * G_USEC_PER_SEC,
    RUNNING_US = 30 * G_USEC_PER_SEC,
    FORGOTTEN_US = 60 * G_USEC_PER_SEC,
    GIVEN_UP_MOST = 3, /* for one user, until these are forgotten */
    GIVEN_UP_KEPT = 64,
    END_MS = 1000, /* that a child which was killed may take */
};

/* For whom work was given up; a ring. A child that waits for an answer which a file system has taken on does not end by
 * SIGKILL: as long as it is there, it counts. */
static GMutex lock;
static struct {
    uid_t user;
    gint64 forgotten_us;
    int child; /* a pidfd; 0: it has ended */
} given_up[GIVEN_UP_KEPT];
static guint n_given_up;

/* With the lock. */
static gboolean
is_there(guint i)
{
    struct pollfd end = {.fd = given_up[i].child, .events = POLLIN};
    if (end.fd > 0 && poll(&end, 1, 0) != 0) {
        waitid(P_PIDFD, (id_t)end.fd, &(siginfo_t){0}, WEXITED | WNOHANG);
        close(end.fd);
        given_up[i].child = 0;
    }
    return given_up[i].child > 0;
}

static gboolean
is_given_up(uid_t user)
{
    const gint64 now = g_get_monotonic_time();
    guint n = 0;
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&lock);
    for (guint i = 0; i < GIVEN_UP_KEPT; i++)
        n += given_up[i].user == user && (given_up[i].forgotten_us > now || is_there(i));
    return n >= GIVEN_UP_MOST;
}

/* Takes CHILD, a pidfd, which is 0 if it has ended. */
static void
note_given_up(uid_t user, int child)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&lock);
    for (guint i = 0; i < GIVEN_UP_KEPT && is_there(n_given_up); i++)
        n_given_up = (n_given_up + 1) % GIVEN_UP_KEPT;
    if (given_up[n_given_up].child > 0)
        close(given_up[n_given_up].child);
    given_up[n_given_up].user = user;
    given_up[n_given_up].forgotten_us = g_get_monotonic_time() + FORGOTTEN_US;
    given_up[n_given_up].child = child;
    n_given_up = (n_given_up + 1) % GIVEN_UP_KEPT;
}

/* Or waiting for a processor. */
static gboolean
is_running(pid_t pid)
{
    char path[32], text[512];
    g_snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
    if (fd >= 0)
        close(fd);
    text[MAX(length, 0)] = '\0';
    const char *name_end = strrchr(text, ')');
    return name_end != NULL && name_end[1] == ' ' && name_end[2] == 'R';
}

/* FALSE: it takes too long. */
static gboolean
wait_for_answer(int socket, pid_t child)
{
    struct pollfd answer = {.fd = socket, .events = POLLIN};
    const gint64 begin = g_get_monotonic_time();
    while (poll(&answer, 1, LOOK_MS) <= 0) {
        const gint64 taken = g_get_monotonic_time() - begin;
        if (taken > RUNNING_US || (taken > PATIENCE_US && !is_running(child)))
            return FALSE;
    }
    return TRUE;
}

/* Returns 0, or a pidfd of the child if it does not end. */
static int
end_child(pid_t child)
{
    int pidfd = pidfd_open(child, 0);
    struct pollfd end = {.fd = pidfd, .events = POLLIN};
    kill(child, SIGKILL);
    if (pidfd > 0 && poll(&end, 1, END_MS) == 0)
        return pidfd;
    child_wait(child);
    if (pidfd >= 0)
        close(pidfd);
    return 0;
}

AsideEnd
aside_run(AsideWork work, gpointer data, uid_t user, ChannelMessage *answer)
{
    int ends[2];
    const pid_t self = getpid();
    if (is_given_up(user) || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return ASIDE_NOT_BEGUN;
    const pid_t child = fork();
    if (child == 0) {
        child_bind(self);
        child_keep_only(&ends[1], 1); /* the end of a pipe that it keeps open would not be seen */
        work(data, answer);
        _exit(channel_send(ends[1], answer) ? 0 : 1);
    }
    close(ends[1]);
    if (child < 0) {
        close(ends[0]);
        return ASIDE_NOT_BEGUN;
    }
    const gboolean ended = wait_for_answer(ends[0], child);
    const gboolean answered = ended && channel_receive(ends[0], answer);
    close(ends[0]);
    const int stuck = end_child(child);
    if (!ended)
        note_given_up(user, stuck);
    return answered ? ASIDE_DONE : ASIDE_GIVEN_UP;
}
