/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/serve-split.h"

#include "broker/client.h"
#include "cli/command.h"
#include "confine/death-signal.h"
#include "confine/terminal.h"
#include "confine/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    NOBODY = 65534,
};

/* ---- the user ---- */

static gboolean
find_user(const char *name, ServeUser *user)
{
    const struct passwd *entry = getpwnam(name);
    if (entry == NULL)
        return FALSE;
    *user = (ServeUser){.uid = entry->pw_uid, .gid = entry->pw_gid};
    g_strlcpy(user->name, name, sizeof(user->name));
    return TRUE;
}

gboolean
serve_split_user(const char *name, ServeUser *user, GError **error)
{
    if (name == NULL) {
        /* Without a user database, as in a small container, a number is sufficient. */
        if (!find_user(SERVE_SPLIT_USER, user) && !find_user("nobody", user))
            *user = (ServeUser){.name = "nobody", .uid = NOBODY, .gid = NOBODY};
        return TRUE;
    }
    if (find_user(name, user))
        return TRUE;
    g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "--user: no user named '%s'; create it, or give another", name);
    return FALSE;
}

/* ---- the process that stays root ---- */

static void
become_broker(int socket, const BrokerSettings *settings, ServeNeeds needs)
{
    g_autoptr(GError) error = NULL;
    prctl(PR_SET_NAME, "jescope-root");
    serve_privileges_guard_secrets();
    if (serve_privileges_reduce(needs, &error))
        broker_run(socket, settings);
    else
        command_say("%s", error->message);
    _exit(STATUS_DONE);
}

int
serve_split_begin(const BrokerSettings *settings, ServeNeeds needs, GError **error)
{
    int ends[2];
    pid_t child = -1;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0)
        child = fork();
    if (child == 0) {
        close(ends[0]);
        become_broker(ends[1], settings, needs);
    }
    if (child < 0) {
        int code = errno;
        g_set_error(error, CLI_ERROR, CLI_ERROR_FAILED, "cannot start the process that stays root: %s",
                    g_strerror(code));
        return -1;
    }
    close(ends[1]);
    return ends[0];
}

/* ---- the history ---- */

/* The file, and the auxiliary files of SQLite. */
static const char *const endings[] = {"", "-wal", "-shm", "-journal"};

static gboolean
is_of_history(const char *entry, const char *file)
{
    for (gsize i = 0; i < G_N_ELEMENTS(endings); i++) {
        g_autofree char *name = g_strconcat(file, endings[i], NULL);
        if (strcmp(entry, name) == 0)
            return TRUE;
    }
    return FALSE;
}

static gboolean
holds_nothing_else(int directory, const char *file)
{
    g_autofree char *pinned = g_strdup_printf("/proc/self/fd/%d", directory);
    g_autoptr(GDir) entries = g_dir_open(pinned, 0, NULL);
    const char *entry;
    gboolean nothing_else = entries != NULL;
    while (nothing_else && (entry = g_dir_read_name(entries)) != NULL)
        nothing_else = is_of_history(entry, file);
    return nothing_else;
}

/* For the file and its auxiliary files: a regular file of root with one link. */
static void
give_file(int directory, const char *name, const ServeUser *user)
{
    struct stat facts;
    int fd = openat(directory, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return;
    if (fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_nlink == 1 && facts.st_uid == 0 &&
        fchown(fd, user->uid, user->gid) != 0)
        g_debug("%s stays root's", name); /* the error is reported when it is opened */
    close(fd);
}

static void
give_directory(int directory, const char *path, const char *file, const ServeUser *user)
{
    struct stat facts;
    if (fstat(directory, &facts) == 0 && facts.st_uid == 0 && (facts.st_mode & (S_IWGRP | S_IWOTH)) == 0 &&
        holds_nothing_else(directory, file) && fchown(directory, user->uid, user->gid) != 0)
        g_debug("%s stays root's", path);
}

/* -1 also if a link of another user leads to PATH: he would have a directory of root's given away. */
static int
open_directory(const char *path, WalkMissing missing)
{
    const int found = walk_open_directory(path, missing);
    const int directory = found >= 0 ? openat(found, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    const int code = errno;
    if (found >= 0)
        close(found);
    errno = code;
    return directory;
}

/* Gives the directory PATH, which is made in ABOVE if it is not there. */
static void
give_below(int above, const char *path, const ServeUser *user)
{
    g_autofree char *name = g_path_get_basename(path);
    const gboolean there = mkdirat(above, name, S_IRWXU) == 0 || errno == EEXIST;
    const int directory = there ? openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
    if (directory < 0)
        return;
    give_directory(directory, path, "", user);
    close(directory);
}

/* Creates the directory, or its parent if needed; an empty one of root's is given to the user. In a directory of its
 * own, the user creates it when needed. */
static void
give_own(const char *path, const ServeUser *user)
{
    struct stat facts;
    const char *given = path;
    g_autofree char *parent = g_path_get_dirname(path);
    g_autofree char *grandparent = g_path_get_dirname(parent);
    int above = open_directory(parent, WALK_FAILS);
    if (above < 0 && errno == ENOENT) {
        above = open_directory(grandparent, WALK_FAILS);
        given = parent;
    }
    if (above < 0)
        return;
    if (given == parent || (fstat(above, &facts) == 0 && facts.st_uid != user->uid))
        give_below(above, given, user);
    close(above);
}

static void
give_history(const char *path, const ServeUser *user)
{
    g_autofree char *folder = g_path_get_dirname(path);
    g_autofree char *file = g_path_get_basename(path);
    int directory = open_directory(folder, WALK_MAKES_DIRECTORIES);
    if (directory < 0)
        return;
    give_directory(directory, folder, file, user);
    for (gsize i = 0; i < G_N_ELEMENTS(endings); i++) {
        g_autofree char *name = g_strconcat(file, endings[i], NULL);
        give_file(directory, name, user);
    }
    close(directory);
}

/* Runs as the new user. */
static gboolean
check_history(const char *path, const ServeUser *user, GError **error)
{
    g_autofree char *folder = g_path_get_dirname(path);
    if (access(folder, W_OK | X_OK) == 0 && (access(path, R_OK | W_OK) == 0 || errno == ENOENT))
        return TRUE;
    g_set_error(error, CLI_ERROR, CLI_ERROR_FAILED,
                "--history: the server runs as user %s, which cannot write '%s' in its directory; give it its own "
                "directory below ones that this user may enter, or use --user=root",
                user->name, path);
    return FALSE;
}

/* ---- the server ---- */

static gboolean
become(const ServeUser *user, GError **error)
{
    if (setgroups(0, NULL) == 0 && setresgid(user->gid, user->gid, user->gid) == 0 &&
        setresuid(user->uid, user->uid, user->uid) == 0)
        return TRUE;
    int code = errno;
    g_set_error(error, CLI_ERROR, CLI_ERROR_FAILED,
                "cannot become user %s (uid %u): %s; grant CAP_SETUID and CAP_SETGID, or say --user=root", user->name,
                (unsigned)user->uid, g_strerror(code));
    return FALSE;
}

static gboolean
become_below(const ServeUser *user, GError **error)
{
    const DeathSignal death = death_signal_get();
    terminal_leave();
    const gboolean became = become(user, error);
    death_signal_keep(&death);
    return became;
}

gboolean
serve_split_finish(int socket, const ServeUser *user, const ServePaths *paths, GError **error)
{
    const char *history = paths->history;
    if (history != NULL)
        give_history(history, user);
    if (paths->blackbox != NULL)
        give_own(paths->blackbox, user);
    for (guint i = 0; paths->pushes != NULL && i < paths->pushes->len; i++)
        give_own(((const ServicePush *)paths->pushes->pdata[i])->queue, user);
    if (!serve_privileges_empty_bounding_set(error) || !become_below(user, error) ||
        !serve_privileges_reduce(SERVE_NEEDS_NOTHING | SERVE_HOLDS_SECRETS, error))
        return FALSE;
    broker_client_init(socket);
    reach_through(broker_client_reach());
    return history == NULL || check_history(history, user, error);
}
