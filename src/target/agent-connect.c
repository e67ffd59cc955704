/* SPDX-License-Identifier: Apache-2.0 */
#include "target/agent-connect.h"

#include "confine/aside.h"
#include "confine/death-signal.h"
#include "target/discovery.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

/* Whether the peer has sent anything that was not received; nothing can come any more. A message has an address, that
 * of the listening socket, even an empty one. */
static gboolean
has_unread(int fd)
{
    struct sockaddr_un address;
    struct msghdr message = {.msg_name = &address, .msg_namelen = sizeof(address)};
    return recvmsg(fd, &message, MSG_PEEK | MSG_DONTWAIT) != 0 || message.msg_namelen > 0;
}

void
agent_hang_up(int fd, uid_t peer)
{
    shutdown(fd, SHUT_RDWR);
    if (has_unread(fd))
        aside_close(&fd, 1, peer);
    else
        close(fd);
}

static int
open_directory(const Process *process, const char *path)
{
    g_autofree char *directory = g_path_get_dirname(path);
    if (process != NULL)
        return discovery_open_directory(directory, process);
    return open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* Whether PROCESS has a user namespace of its own that does not map our root: its agent sees root as the overflow user
 * 65534, and refuses it. */
static gboolean
lacks_root(const Process *process)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/ns/user", (int)process->pid);
    struct stat own, its;
    return stat("/proc/self/ns/user", &own) == 0 && stat(path, &its) == 0 &&
           (own.st_dev != its.st_dev || own.st_ino != its.st_ino);
}

/* Of the calling thread alone; -1: as it is. */
static gboolean
set_effective_user(uid_t user)
{
    const DeathSignal death = death_signal_get();
    const gboolean set = user == (uid_t)-1 || syscall(SYS_setresuid, (uid_t)-1, user, (uid_t)-1) == 0;
    death_signal_keep(&death);
    return set;
}

/* Opens the directory, so that the one that was checked is used and the address fits into sockaddr_un for any path. A
 * USER other than -1 is the one who connects, which changes the effective user of the calling thread meanwhile. */
static int
connect_here(const Process *process, const char *path, uid_t user)
{
    int directory = open_directory(process, path);
    if (directory < 0)
        return -1;
    g_autofree char *name = g_path_get_basename(path);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int length = g_snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", directory, name);
    int fd = -1;
    if (length >= (int)sizeof(address.sun_path))
        errno = ENAMETOOLONG;
    else if (set_effective_user(user))
        fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
        int saved = errno;
        close(fd);
        fd = -1;
        errno = saved;
    }
    int saved = errno;
    if (user != (uid_t)-1)
        set_effective_user(0);
    close(directory);
    errno = saved;
    return fd;
}

typedef struct {
    const Process *process;
    const char *path;
} Place;

static void
connect_aside(gpointer data, ChannelMessage *answer)
{
    const Place *place = data;
    const uid_t user = lacks_root(place->process) ? place->process->uids[1] : (uid_t)-1;
    int fd = connect_here(place->process, place->path, user);
    *(int *)answer->bytes = fd < 0 ? errno : 0;
    if (fd >= 0)
        answer->fds[answer->n_fds++] = fd;
}

int
agent_connect(const Process *process, const char *path)
{
    Place place = {process, path};
    int code = 0;
    ChannelMessage answer = {.bytes = &code, .size = sizeof(code)};
    if (process == NULL || !discovery_may_be_delayed(process))
        return connect_here(process, path, (uid_t)-1);
    if (aside_run(connect_aside, &place, process->uids[1], &answer) != ASIDE_DONE) {
        errno = ETIMEDOUT;
        return -1;
    }
    int fd = answer.n_fds > 0 ? answer.fds[--answer.n_fds] : -1;
    channel_close_fds(&answer);
    errno = code != 0 ? code : EIO;
    return fd;
}
