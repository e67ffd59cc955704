/* SPDX-License-Identifier: Apache-2.0 */
#include "confine/walk.h"

#include "confine/rights.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { LINKS_MAX = 40 }; /* as the kernel */

static int
step_to(Walk *walk, int next)
{
    int code = errno;
    if (next < 0)
        return code;
    if (walk->at >= 0)
        close(walk->at);
    walk->at = next;
    return 0;
}

static int
start_at(Walk *walk, int base, const char *directory)
{
    return step_to(walk, openat(base, directory, O_PATH | O_DIRECTORY | O_CLOEXEC));
}

/* Removes and returns the first component of the rest, to be freed; NULL if the rest is empty. */
static char *
take_component(Walk *walk)
{
    const char *begin = walk->rest + strspn(walk->rest, "/");
    const gsize length = strcspn(begin, "/");
    if (length == 0)
        return NULL;
    char *component = g_strndup(begin, length);
    char *rest = g_strdup(begin + length);
    g_free(walk->rest);
    walk->rest = rest;
    return component;
}

static void
note_owner(Walk *walk, uid_t owner)
{
    if (rights_are_trusted(owner))
        return;
    walk->several |= walk->led && walk->leader != owner;
    walk->leader = owner;
    walk->led = TRUE;
}

/* LINK is open. */
static int
follow_link(Walk *walk, int link, uid_t owner)
{
    char text[PATH_MAX];
    const ssize_t length = readlinkat(link, "", text, sizeof(text));
    if (length < 0)
        return errno;
    if (length == 0 || length == sizeof(text))
        return length == 0 ? ENOENT : ENAMETOOLONG;
    if (++walk->links > LINKS_MAX)
        return ELOOP;
    note_owner(walk, owner);
    char *rest = g_strdup_printf("%.*s%s", (int)length, text, walk->rest);
    g_free(walk->rest);
    walk->rest = rest;
    return text[0] == '/' ? start_at(walk, AT_FDCWD, "/") : 0;
}

gboolean
walk_is_of_proc(int fd)
{
    struct statfs status;
    return fstatfs(fd, &status) == 0 && status.f_type == PROC_SUPER_MAGIC;
}

/* As the lookup has found it: its file system is not asked. */
static gboolean
look_at(int fd, struct statx *status)
{
    return statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_MODE | STATX_UID | STATX_MNT_ID,
                 status) == 0;
}

/* 0 or errno. */
static int
step(Walk *walk, const char *component)
{
    struct statx status;
    int next = openat(walk->at, component, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    walk->by_magic = FALSE;
    if (next < 0 || !look_at(next, &status) || !S_ISLNK(status.stx_mode))
        return step_to(walk, next);
    int code = 0;
    if (walk_is_of_proc(next)) {
        code = walk->led ? EREMOTE : step_to(walk, openat(walk->at, component, O_PATH | O_CLOEXEC));
        walk->by_magic = TRUE;
    } else {
        code = follow_link(walk, next, status.stx_uid);
    }
    close(next);
    return code;
}

/* The next component of a path does not exist. */
static int
make_directory(const Walk *walk, const char *component)
{
    if (walk->led)
        return EREMOTE;
    return mkdirat(walk->at, component, S_IRWXU) == 0 || errno == EEXIST ? 0 : errno;
}

/* A relative PATH begins at BASE, a directory or AT_FDCWD. */
static int
walk_from(Walk *walk, int base, const char *path, WalkMissing missing)
{
    *walk = (Walk){.at = -1, .rest = g_strdup(path)};
    int code = path[0] == '\0' ? ENOENT : start_at(walk, base, path[0] == '/' ? "/" : ".");
    while (code == 0) {
        g_autofree char *component = take_component(walk);
        if (component == NULL)
            break;
        code = step(walk, component);
        if (code == ENOENT && missing == WALK_MAKES_DIRECTORIES && (code = make_directory(walk, component)) == 0)
            code = step(walk, component);
    }
    g_clear_pointer(&walk->rest, g_free);
    return code;
}

int
walk_to(Walk *walk, const char *path, WalkMissing missing)
{
    return walk_from(walk, AT_FDCWD, path, missing);
}

/* Whether a program answers for the file system of this mount (FUSE), or may, since it is in another namespace. */
static gboolean
is_answered_by_a_program(guint64 mount)
{
    g_autofree char *text = NULL;
    if (!g_file_get_contents("/proc/self/mountinfo", &text, NULL, NULL))
        return TRUE;
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (char **line = lines; *line != NULL; line++) {
        const char *type = strstr(*line, " - ");
        if (type != NULL && g_ascii_strtoull(*line, NULL, 10) == mount)
            return g_str_has_prefix(type + strlen(" - "), "fuse");
    }
    return TRUE;
}

/* SHARED: whether all users may make files in it. */
static gboolean
is_ours(const Walk *walk, gboolean *shared)
{
    struct statx status;
    if (walk->led || walk->by_magic || !look_at(walk->at, &status) || !rights_are_trusted(status.stx_uid))
        return FALSE;
    *shared = S_ISDIR(status.stx_mode) && (status.stx_mode & S_IWOTH) != 0;
    return (!*shared || (status.stx_mode & S_ISVTX) != 0) && !is_answered_by_a_program(status.stx_mnt_id);
}

gboolean
walk_is_decided_by_us(const char *path)
{
    Walk walk = {.at = -1, .rest = g_strdup(path)};
    gboolean shared = TRUE;
    int code = start_at(&walk, AT_FDCWD, path[0] == '/' ? "/" : ".");
    while (code == 0 && is_ours(&walk, &shared)) {
        g_autofree char *component = take_component(&walk);
        if (component == NULL)
            break;
        code = step(&walk, component);
    }
    const gboolean ours = code == 0 ? is_ours(&walk, &shared) : code == ENOENT && !shared;
    g_free(walk.rest);
    walk_end(&walk);
    return ours;
}

void
walk_end(Walk *walk)
{
    if (walk->at >= 0)
        close(walk->at);
    walk->at = -1;
}

static int
set_refused(int code)
{
    errno = code;
    return -1;
}

int
walk_open_directory_at(int base, const char *path, WalkMissing missing)
{
    Walk walk;
    struct stat status;
    int code = walk_from(&walk, base, path, missing);
    if (code == 0 && walk.led)
        code = EREMOTE;
    if (code == 0 && (fstat(walk.at, &status) != 0 || !S_ISDIR(status.st_mode)))
        code = ENOTDIR;
    if (code == 0)
        return walk.at;
    walk_end(&walk);
    return set_refused(code);
}

int
walk_open_directory(const char *path, WalkMissing missing)
{
    return walk_open_directory_at(AT_FDCWD, path, missing);
}

const char *
walk_strerror(int code)
{
    return code == EREMOTE ? "a link of another user leads there" : g_strerror(code);
}

char *
walk_name(int fd)
{
    g_autofree char *link = g_strdup_printf("/proc/self/fd/%d", fd);
    return g_file_read_link(link, NULL);
}
