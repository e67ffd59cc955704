/* SPDX-License-Identifier: Apache-2.0 */
#include "confine/last-close.h"

#include "confine/child.h"
#include "confine/death-signal.h"
#include "confine/forking.h"

#include <poll.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <unistd.h>

pid_t
last_close_start(const int *fds, guint n)
{
    const pid_t self = getpid();
    forking_lock();
    const pid_t child = forking_fork_locked();
    if (child == 0) {
        death_signal_bind(self);
        child_keep_only(fds, n);
        for (;;)
            pause();
    }
    for (guint i = 0; child > 0 && i < n; i++)
        close(fds[i]);
    forking_unlock();
    if (child > 0)
        kill(child, SIGKILL);
    return child;
}

static int
ask(int fd, int option)
{
    int value = -1;
    socklen_t size = sizeof(value);
    return getsockopt(fd, SOL_SOCKET, option, &value, &size) == 0 ? value : -1;
}

/* Whether another user is at the other end of FD, or waits to be accepted. */
static gboolean
is_of_others(int fd)
{
    const uid_t unknown = (uid_t)-1;
    struct ucred peer = {.uid = unknown};
    socklen_t size = sizeof(peer);
    if (ask(fd, SO_DOMAIN) != AF_UNIX)
        return FALSE;
    if (ask(fd, SO_ACCEPTCONN) == 1)
        return poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 0) == 1;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid != unknown && peer.uid != 0 &&
           peer.uid != geteuid();
}

static GArray *
find_of_others(void)
{
    GArray *found = g_array_new(FALSE, FALSE, sizeof(int));
    g_autoptr(GDir) open = g_dir_open("/proc/self/fd", 0, NULL);
    for (const char *name; open != NULL && (name = g_dir_read_name(open)) != NULL;) {
        const int fd = (int)g_ascii_strtoll(name, NULL, 10);
        if (is_of_others(fd))
            g_array_append_val(found, fd);
    }
    return found;
}

void
last_close_leave(void)
{
    g_autoptr(GArray) kept = find_of_others();
    const int parent = kept->len > 0 ? pidfd_open(getpid(), 0) : -1;
    if (parent < 0)
        return;
    g_array_append_val(kept, parent);
    if (forking_fork() == 0) {
        struct pollfd end = {.fd = parent, .events = POLLIN};
        child_keep_only((const int *)(const void *)kept->data, kept->len);
        while (poll(&end, 1, -1) < 1)
            continue;
        for (;;)
            raise(SIGKILL);
    }
    close(parent);
}
