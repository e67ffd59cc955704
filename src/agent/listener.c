/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/listener.h"

#include "agent/debug.h"
#include "agent/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    BACKLOG = 16,
    CANDIDATES_MAX = 3,
    RANDOM_BYTES = 8,
    SOCKET_MODE = 0600,
    DIRECTORY_MODE = 0700,
};

typedef struct {
    char path[DIRECTORY_MAX + NUMBER_TEXT_MAX];
    bool new; /* it must not exist yet */
} Candidate;

typedef struct {
    Candidate places[CANDIDATES_MAX];
    int n;
} Candidates;

static void
add_candidate(Candidates *candidates, const char *directory, const char *name)
{
    Candidate *candidate = &candidates->places[candidates->n++];
    Text text;
    candidate->new = false;
    text_init(&text, candidate->path, sizeof(candidate->path));
    text_add(&text, directory);
    text_add(&text, name);
}

/* A name in a world-writable directory can be taken by any user; this one cannot be predicted. */
static void
add_unforeseen_candidate(Candidates *candidates, const char *user)
{
    uint8_t bytes[RANDOM_BYTES];
    if (syscall(SYS_getrandom, bytes, sizeof(bytes), 0) != (long)sizeof(bytes))
        return;
    Candidate *candidate = &candidates->places[candidates->n++];
    Text text;
    candidate->new = true;
    text_init(&text, candidate->path, sizeof(candidate->path));
    text_add(&text, "/tmp/.jescope-");
    text_add(&text, user);
    text_add(&text, ".");
    for (size_t i = 0; i < sizeof(bytes); i++) {
        const char digits[] = {"0123456789abcdef"[bytes[i] >> 4], "0123456789abcdef"[bytes[i] & 15], '\0'};
        text_add(&text, digits);
    }
}

/*
 * Whether no other user can put something else in the place of a directory in PATH. The variable may have been another
 * user's, as in a shell of root's by su(1): he could lead bind() elsewhere, and his own agents could not use a
 * directory that root's makes there.
 */
static bool
is_of_our_user(const char *path)
{
    struct stat status;
    return fstatat(AT_FDCWD, path, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(status.st_mode) &&
           status.st_uid == geteuid() && ((status.st_mode & 0022) == 0 || (status.st_mode & S_ISVTX) != 0);
}

static void
list_candidates(const Environment *environment, Candidates *candidates)
{
    candidates->n = 0;
    if (environment->socket_directory[0] != '\0') {
        add_candidate(candidates, environment->socket_directory, "");
        return;
    }
    if (environment->runtime_directory[0] != '\0' && is_of_our_user(environment->runtime_directory))
        add_candidate(candidates, environment->runtime_directory, "/jescope");
    char name[NUMBER_TEXT_MAX];
    Text text;
    text_init(&text, name, sizeof(name));
    text_add_number(&text, geteuid());
    add_candidate(candidates, "/tmp/.jescope-", name);
    add_unforeseen_candidate(candidates, name);
}

static bool
is_private_directory(int descriptor)
{
    struct stat status;
    return fstat(descriptor, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
           (status.st_mode & 0777) == DIRECTORY_MODE;
}

/* A descriptor of the directory, which is created if missing; -1 if it cannot be trusted. */
static int
open_directory(const Candidate *candidate)
{
    const char *path = candidate->path;
    bool made = mkdir(path, DIRECTORY_MODE) == 0;
    int descriptor = made || !candidate->new ? open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
    if (descriptor < 0) {
        debug_log("cannot use socket directory", path, errno);
        return -1;
    }
    if (made)
        fchmod(descriptor, DIRECTORY_MODE); /* whatever the umask made of it */
    if (!is_private_directory(descriptor)) {
        debug_log("socket directory must be owned by the user with mode 0700", path, 0);
        close(descriptor);
        return -1;
    }
    return descriptor;
}

/* A long path does not fit an address; the path through the open directory always does. */
static bool
make_address(struct sockaddr_un *address, const char *path, int directory, const char *name)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    Text text;
    text_init(&text, address->sun_path, sizeof(address->sun_path));
    text_add(&text, path);
    if (text.overflowed) {
        text_init(&text, address->sun_path, sizeof(address->sun_path));
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

/* Only a umask that takes permissions from the owner as well requires a correction. */
static bool
has_its_mode(int directory, const char *name)
{
    struct stat status;
    return fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
           ((status.st_mode & 0777) == SOCKET_MODE || fchmodat(directory, name, SOCKET_MODE, 0) == 0);
}

/* DESCRIPTOR is bound and listens; false with errno on failure. */
static bool
listen_at(int descriptor, const struct sockaddr_un *address, int directory, const char *name)
{
    /*
     * A socket's file gets the mode of the socket, less the umask: others cannot connect at any moment. A process may
     * become another user between any two of these calls, and cannot change the mode afterwards.
     */
    if (fchmod(descriptor, SOCKET_MODE) != 0 ||
        bind(descriptor, (const struct sockaddr *)address, sizeof(*address)) != 0)
        return false;
    /* is_socket() once more: the path may have led elsewhere than into the directory that was checked. */
    if (is_socket(directory, name) && has_its_mode(directory, name) && listen(descriptor, BACKLOG) == 0)
        return true;
    int error = errno;
    unlinkat(directory, name, 0);
    errno = error;
    return false;
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
    if (descriptor < 0)
        return -1;
    if (is_socket(directory, name)) {
        unlinkat(directory, name,
                 0); /* of the agent's own pid and start time: from before an exec, or of a listener the host closed */
    }
    if (!listen_at(descriptor, &address, directory, name)) {
        int error = errno;
        close(descriptor);
        errno = error;
        return -1;
    }
    return descriptor;
}

static bool
open_in(Listener *listener, const Candidate *candidate, const ProcessIdentity *process)
{
    int raw = open_directory(candidate);
    Descriptor directory = DESCRIPTOR_NONE;
    if (!descriptor_adopt(&directory, raw))
        return false;
    Text text;
    text_init(&text, listener->path, sizeof(listener->path));
    text_add(&text, candidate->path);
    text_add(&text, "/");
    const char *name = listener->path + text.length;
    text_add_number(&text, (uint64_t)process->pid);
    text_add(&text, ".");
    text_add_number(&text, process->start_time);
    text_add(&text, ".sock");
    bool opened = descriptor_adopt(&listener->socket, bind_socket(listener->path, directory.number, name));
    debug_log(opened ? "listening" : "cannot listen", listener->path, opened ? 0 : errno);
    descriptor_close(&directory);
    listener->own_directory = candidate->new;
    if (!opened && candidate->new)
        rmdir(candidate->path);
    return opened;
}

bool
listener_open(Listener *listener, const Environment *environment, const ProcessIdentity *process)
{
    Candidates candidates;
    list_candidates(environment, &candidates);
    __atomic_store_n(&listener->bound, 0, __ATOMIC_SEQ_CST);
    listener->socket = DESCRIPTOR_NONE;
    listener->user = geteuid();
    for (int i = 0; i < candidates.n; i++) {
        if (open_in(listener, &candidates.places[i], process)) {
            __atomic_store_n(&listener->bound, 1, __ATOMIC_SEQ_CST);
            return true;
        }
    }
    return false;
}

/* Whether the process belongs to one user only and cannot change to another one. USER is the effective one. */
static bool
is_of_one_user(uid_t *user)
{
    uid_t real;
    uid_t saved;
    return getresuid(&real, user, &saved) == 0 && *user == real && *user == saved;
}

bool
listener_is_outdated(const Listener *listener)
{
    uid_t user;
    return is_of_one_user(&user) && user != listener->user;
}

/* For the agent thread alone. */
static Listener renewed;

void
listener_renew(Listener *listener, const Environment *environment, const ProcessIdentity *process)
{
    bool opened = listener_open(&renewed, environment, process);
    listener->user = renewed.user;
    if (!opened)
        return;
    if (strcmp(renewed.path, listener->path) != 0)
        listener_remove(listener);
    __atomic_store_n(&listener->bound, 0, __ATOMIC_SEQ_CST);
    descriptor_close(&listener->socket);
    memcpy(listener->path, renewed.path, sizeof(listener->path));
    listener->own_directory = renewed.own_directory;
    listener->socket = renewed.socket;
    __atomic_store_n(&listener->bound, 1, __ATOMIC_SEQ_CST);
}

/* A process that has assumed a user's id temporarily, as a file server does, does not belong to that user: a connection
 * would outlast the change. */
static bool
may_be_served(uid_t peer)
{
    uid_t user;
    return peer == 0 || (is_of_one_user(&user) && peer == user);
}

int
listener_accept(const Listener *listener)
{
    int descriptor = accept4(listener->socket.number, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct ucred peer;
    socklen_t size = sizeof(peer);
    if (descriptor < 0)
        return -1;
    if (getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || !may_be_served(peer.uid)) {
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
        if (listener->own_directory) {
            char directory[SOCKET_PATH_MAX];
            memcpy(directory, listener->path, sizeof(directory));
            *strrchr(directory, '/') = '\0';
            rmdir(directory);
        }
    }
}
