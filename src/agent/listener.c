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
#include <time.h>
#include <unistd.h>

enum {
    BACKLOG = 16,
    CANDIDATES_MAX = 4,
    RANDOM_BYTES = 8,
    SOCKET_MODE = 0600,
    DIRECTORY_MODE = 0700,
    LEFT_AGE_S = 2,
    LOOKED_AT_MAX = 1 << 14, /* entries of a directory: of as many live processes at most, what others leave is found */
    ENTRIES_SIZE = 4096,
    ENTRY_NAME_AT = 19, /* of struct linux_dirent64 */
};

typedef struct {
    char path[DIRECTORY_MAX + NUMBER_TEXT_MAX];
    bool own; /* made for this process and its descendants alone */
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
    candidate->own = candidate->new = false;
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
    candidate->own = candidate->new = true;
    text_init(&text, candidate->path, sizeof(candidate->path));
    text_add(&text, "/tmp/.jescope-");
    text_add(&text, user);
    text_add(&text, ".");
    for (size_t i = 0; i < sizeof(bytes); i++) {
        const char digits[] = {"0123456789abcdef"[bytes[i] >> 4], "0123456789abcdef"[bytes[i] & 15], '\0'};
        text_add(&text, digits);
    }
}

/* PATH without its last component. */
static void
copy_parent(char parent[SOCKET_PATH_MAX], const char *path)
{
    memcpy(parent, path, SOCKET_PATH_MAX);
    char *slash = strrchr(parent, '/');
    if (slash != NULL)
        *slash = '\0';
}

/* The directory that this process, or its parent, made for itself: a directory for each child would stay behind with
 * its socket, if the child ends by a signal. */
static void
add_earlier_candidate(Candidates *candidates, const Listener *listener)
{
    char directory[SOCKET_PATH_MAX];
    if (!listener->own_directory)
        return;
    copy_parent(directory, listener->path);
    add_candidate(candidates, directory, "");
    candidates->places[candidates->n - 1].own = true;
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
list_candidates(const Environment *environment, const Listener *earlier, Candidates *candidates)
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
    add_earlier_candidate(candidates, earlier);
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

/* The address of NAME through the open directory. */
static bool
make_address_in(struct sockaddr_un *address, int directory, const char *name)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    Text text;
    text_init(&text, address->sun_path, sizeof(address->sun_path));
    text_add(&text, "/proc/thread-self/fd/");
    text_add_number(&text, (uint64_t)directory);
    text_add(&text, "/");
    text_add(&text, name);
    return !text.overflowed;
}

/* A long path does not fit an address; the path through the open directory always does. */
static bool
make_address(struct sockaddr_un *address, const char *path, int directory, const char *name)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    Text text;
    text_init(&text, address->sun_path, sizeof(address->sun_path));
    text_add(&text, path);
    return !text.overflowed || make_address_in(address, directory, name);
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

/* The beginning of struct linux_dirent64: the name follows. */
typedef struct {
    uint64_t inode;
    int64_t next;
    uint16_t size;
    uint8_t type;
} EntryHead;

/* Whether NAME is PID.STARTTIME.sock of a process that has ended, or of one in another pid namespace that shares the
 * directory. */
static bool
may_be_left(const char *name)
{
    char path[sizeof("/proc/") + NUMBER_TEXT_MAX] = "/proc/";
    const char digits[] = "0123456789";
    const size_t n_pid = strspn(name, digits);
    if (n_pid == 0 || n_pid >= NUMBER_TEXT_MAX || name[n_pid] != '.')
        return false;
    const char *start_time = name + n_pid + 1;
    if (strcmp(start_time + strspn(start_time, digits), ".sock") != 0)
        return false;
    memcpy(path + strlen(path), name, n_pid);
    return access(path, F_OK) != 0 && errno == ENOENT;
}

/* A younger socket may be bound but not listening yet. */
static bool
is_older(int directory, const char *name)
{
    struct stat status;
    struct timespec now = {0};
    clock_gettime(CLOCK_REALTIME, &now);
    return fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISSOCK(status.st_mode) &&
           now.tv_sec - status.st_mtime >= LEFT_AGE_S;
}

static bool
is_refused(int directory, const char *name)
{
    struct sockaddr_un address;
    Descriptor client = DESCRIPTOR_NONE;
    if (!make_address_in(&address, directory, name) ||
        !descriptor_adopt(&client, socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)))
        return false;
    bool refused =
        connect(client.number, (const struct sockaddr *)&address, sizeof(address)) != 0 && errno == ECONNREFUSED;
    descriptor_close(&client);
    return refused;
}

/* Returns the number of entries. */
static int
remove_left_among(const char *entries, long size, const Descriptor *directory)
{
    int n = 0;
    EntryHead head;
    for (long at = 0; at + ENTRY_NAME_AT < size; at += head.size, n++) {
        const char *name = entries + at + ENTRY_NAME_AT;
        memcpy(&head, entries + at, sizeof(head));
        if (may_be_left(name) && is_older(directory->number, name) && is_refused(directory->number, name) &&
            descriptor_is_ours(directory))
            unlinkat(directory->number, name, 0);
    }
    return n;
}

/*
 * Removes sockets of processes that ended without exit(): a service that forks for each of its clients, and whose
 * children end by _exit() or a signal, would leave any number. Not by readdir(), which allocates.
 */
static void
remove_left(const Descriptor *directory)
{
    char entries[ENTRIES_SIZE];
    for (int n = 0; n < LOOKED_AT_MAX && descriptor_is_ours(directory);) {
        const long size = syscall(SYS_getdents64, directory->number, entries, sizeof(entries));
        if (size <= 0)
            return;
        n += remove_left_among(entries, size, directory);
    }
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
    if (opened)
        remove_left(&directory);
    descriptor_close(&directory);
    listener->own_directory = candidate->own;
    if (!opened && candidate->own)
        rmdir(candidate->path);
    return opened;
}

bool
listener_open(Listener *listener, const Environment *environment, const ProcessIdentity *process)
{
    Candidates candidates;
    list_candidates(environment, listener, &candidates);
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
            copy_parent(directory, listener->path);
            rmdir(directory);
        }
    }
}
