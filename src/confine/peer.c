/* SPDX-License-Identifier: Apache-2.0 */
#include "confine/peer.h"

#include "confine/child.h"
#include "confine/death-signal.h"
#include "confine/forking.h"
#include "confine/sandbox.h"

#include <errno.h>
#include <gio/gio.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

static void G_GNUC_NORETURN
run_child(int socket, pid_t parent, PeerWork *work, const PeerLimits *limits)
{
    death_signal_bind(parent);
    child_keep_only(&socket, 1);
    if (limits->seconds != 0)
        sandbox_limit_time(limits->seconds);
    if (!child_confine(limits->memory, NULL))
        _exit(2);
    work(socket);
    _exit(0);
}

gboolean
peer_start(Peer *peer, PeerWork *work, const PeerLimits *limits, GError **error)
{
    int sockets[2];
    pid_t self = getpid();
    sandbox_prepare();
    pid_t pid = -1;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) == 0) {
        pid = forking_fork();
        if (pid == 0)
            run_child(sockets[1], self, work, limits);
        int code = errno;
        close(sockets[1]);
        if (pid < 0)
            close(sockets[0]);
        errno = code;
    }
    if (pid < 0) {
        g_set_error(error, G_IO_ERROR, g_io_error_from_errno(errno), "cannot start a child process for reading: %s",
                    g_strerror(errno));
        return FALSE;
    }
    *peer = (Peer){.owner = self, .pid = pid, .socket = sockets[0]};
    return TRUE;
}

void
peer_give_up(Peer *peer)
{
    if (peer->pid > 0 && peer->owner == getpid())
        kill(peer->pid, SIGKILL);
    if (peer->pid > 0)
        close(peer->socket);
    peer->pid = 0;
}

void
peer_end(Peer *peer)
{
    const pid_t pid = peer->owner == getpid() ? peer->pid : 0;
    peer_give_up(peer);
    if (pid > 0)
        child_wait(pid);
}
