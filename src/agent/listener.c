/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/listener.h"

#include "agent/debug.h"
#include "agent/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 16, CANDIDATES_MAX = 2 };

typedef struct {
    char paths[CANDIDATES_MAX][DIRECTORY_MAX + 16];
    int n;
} Candidates;

static void
add_candidate(Candidates *candidates, const char *directory, const char *name)
{
    char *path = candidates->paths[candidates->n++];
    Text text;
    text_init(&text, path, sizeof candidates->paths[0]);
    text_add(&text, directory);
    text_add(&text, name);
}

static void
list_candidates(const Environment *environment, Candidates *candidates)
{
    candidates->n = 0;
    if (environment->socket_directory[0] != '\0') {
        add_candidate(candidates, environment->socket_directory, "");
        return;
    }
    if (environment->runtime_directory[0] != '\0') {
        add_candidate(candidates, environment->runtime_directory, "/jescope");
    }
    char name[NUMBER_TEXT_MAX];
    Text text;
    text_init(&text, name, sizeof name);
    text_add_number(&text, geteuid());
    add_candidate(candidates, "/tmp/.jescope-", name);
}

static bool
is_private_directory(int descriptor)
{
    struct stat status;
    return fstat(descriptor, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
           (status.st_mode & 0777) == 0700;
}

/* A descriptor of the directory, made if it is not there; -1 if it cannot be trusted. */
static int
open_directory(const char *path)
{
    bool made = mkdir(path, 0700) == 0;
    int descriptor = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (descriptor < 0) {
        debug_say("cannot use socket directory", path, errno);
        return -1;
    }
    if (made) {
        fchmod(descriptor, 0700); /* whatever the umask made of it */
    }
    if (!is_private_directory(descriptor)) {
        debug_say("socket directory is not ours alone (mode 0700)", path, 0);
        close(descriptor);
        return -1;
    }
    return descriptor;
}

/* A long path does not fit an address; the way through the open directory always does. */
static bool
make_address(struct sockaddr_un *address, const char *path, int directory, const char *name)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    Text text;
    text_init(&text, address->sun_path, sizeof address->sun_path);
    text_add(&text, path);
    if (text.overflowed) {
        text_init(&text, address->sun_path, sizeof address->sun_path);
        text_add(&text, "/proc/thread-self/fd/");
        text_add_number(&text, (uint64_t)directory);
        text_add(&text, "/");
        text_add(&text, name);
    }
    return !text.overflowed;
}

static bool
is_socket(int directory, const char *name)
{
    struct stat status;
    return fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISSOCK(status.st_mode);
}

static int
bind_socket(const char *path, int directory, const char *name)
{
    struct sockaddr_un address;
    if (!make_address(&address, path, directory, name)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    int descriptor = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor < 0) {
        return -1;
    }
    if (is_socket(directory, name)) {
        unlinkat(directory, name,
                 0); /* of our own pid and start: from before an exec, or of a listener the host closed */
    }
    /* is_socket() again: the path may have led elsewhere than into the directory that was checked. */
    if (bind(descriptor, (const struct sockaddr *)&address, sizeof address) != 0 || !is_socket(directory, name) ||
        fchmodat(directory, name, 0600, 0) != 0 || listen(descriptor, BACKLOG) != 0) {
        int error = errno;
        close(descriptor);
        errno = error;
        return -1;
    }
    return descriptor;
}

static bool
open_in(Listener *listener, const char *directory_path, const ProcessIdentity *process)
{
    int raw = open_directory(directory_path);
    Descriptor directory = DESCRIPTOR_NONE;
    if (!descriptor_adopt(&directory, raw)) {
        return false;
    }
    Text text;
    text_init(&text, listener->path, sizeof listener->path);
    text_add(&text, directory_path);
    text_add(&text, "/");
    const char *name = listener->path + text.length;
    text_add_number(&text, (uint64_t)process->pid);
    text_add(&text, ".");
    text_add_number(&text, process->start_time);
    text_add(&text, ".sock");
    bool opened = descriptor_adopt(&listener->socket, bind_socket(listener->path, directory.number, name));
    debug_say(opened ? "listening" : "cannot listen", listener->path, opened ? 0 : errno);
    descriptor_close(&directory);
    return opened;
}

bool
listener_open(Listener *listener, const Environment *environment, const ProcessIdentity *process)
{
    Candidates candidates;
    list_candidates(environment, &candidates);
    __atomic_store_n(&listener->bound, 0, __ATOMIC_SEQ_CST);
    listener->socket = DESCRIPTOR_NONE;
    for (int i = 0; i < candidates.n; i++) {
        if (open_in(listener, candidates.paths[i], process)) {
            __atomic_store_n(&listener->bound, 1, __ATOMIC_SEQ_CST);
            return true;
        }
    }
    return false;
}

int
listener_accept(const Listener *listener)
{
    int descriptor = accept4(listener->socket.number, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct ucred peer;
    socklen_t size = sizeof peer;
    if (descriptor < 0) {
        return -1;
    }
    if (getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 ||
        (peer.uid != geteuid() && peer.uid != 0)) {
        close(descriptor);
        errno = EACCES;
        return -1;
    }
    return descriptor;
}

void
listener_remove(Listener *listener)
{
    if (__atomic_exchange_n(&listener->bound, 0, __ATOMIC_SEQ_CST) != 0) {
        unlink(listener->path);
    }
}
