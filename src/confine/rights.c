/* SPDX-License-Identifier: Apache-2.0 */
#include "confine/rights.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { STATUS_SIZE = 1 << 16, MAX_GROUPS = 65536 };

/* The capabilities that override file modes. Others are kept, for the permission checks of /proc. */
#define OVERRIDING ((guint64)1 << CAP_DAC_OVERRIDE | (guint64)1 << CAP_DAC_READ_SEARCH | (guint64)1 << CAP_FOWNER)

static gboolean remembered;
static uid_t remembered_caller;

void
rights_remember_caller(void)
{
    remembered_caller = geteuid();
    remembered = TRUE;
}

gboolean
rights_are_trusted(uid_t uid)
{
    return uid == 0 || uid == (remembered ? remembered_caller : geteuid());
}

static void
set_nobody(Rights *rights)
{
    *rights = (Rights){.limited = TRUE, .uid = RIGHTS_NOBODY, .gid = RIGHTS_NOBODY};
}

/* The rest of the line of /proc/PID/status that begins with key. */
static const char *
find_line(const char *status, const char *key)
{
    const char *at = g_str_has_prefix(status, key) ? status : NULL;
    if (at == NULL) {
        g_autofree char *inner = g_strconcat("\n", key, NULL);
        at = strstr(status, inner);
        at = at != NULL ? at + 1 : NULL;
    }
    return at != NULL ? at + strlen(key) : NULL;
}

uid_t
rights_of_ids(const uid_t ids[3])
{
    return ids[0] != 0 ? ids[0] : ids[1] != 0 ? ids[1] : ids[2];
}

uid_t
rights_lesser(uid_t a, uid_t b)
{
    if (a == 0 || b == 0 || a == b)
        return a == 0 ? b : a;
    return RIGHTS_NOBODY;
}

static gboolean
read_ids(const char *line, guint32 *least)
{
    guint32 ids[3];
    if (line == NULL || sscanf(line, "%u %u %u", &ids[0], &ids[1], &ids[2]) != 3)
        return FALSE;
    *least = rights_of_ids(ids);
    return TRUE;
}

static GArray *
read_groups(const char *line)
{
    GArray *groups = g_array_new(FALSE, FALSE, sizeof(gid_t));
    while (line != NULL && groups->len < MAX_GROUPS) {
        char *end;
        const gid_t group = (gid_t)g_ascii_strtoull(line, &end, 10);
        if (end == line || memchr(line, '\n', (gsize)(end - line)) != NULL)
            break;
        g_array_append_val(groups, group);
        line = end;
    }
    return groups;
}

static gboolean
is_ours(int directory, const char *name)
{
    struct stat ours, theirs;
    g_autofree char *own = g_strconcat("/proc/self/", name, NULL);
    return stat(own, &ours) == 0 && fstatat(directory, name, &theirs, 0) == 0 && ours.st_dev == theirs.st_dev &&
           ours.st_ino == theirs.st_ino;
}

gboolean
rights_see_our_files(int directory)
{
    return is_ours(directory, "ns/mnt") && is_ours(directory, "root");
}

/* Whether the process has such a capability in this user namespace: a container's may be valid in its own only, and any
 * process of root may have dropped them. */
static gboolean
has_our_capabilities(int directory, const char *status)
{
    const char *effective = find_line(status, "CapEff:");
    return effective != NULL && (g_ascii_strtoull(effective, NULL, 16) & OVERRIDING) != 0 &&
           is_ours(directory, "ns/user");
}

void
rights_of_process(int directory, Rights *rights)
{
    g_autofree char *status = g_malloc0(STATUS_SIZE);
    int fd = openat(directory, "status", O_RDONLY | O_CLOEXEC);
    gsize size = 0;
    for (ssize_t n = 1; fd >= 0 && n > 0 && size<STATUS_SIZE - 1; size += n> 0 ? (gsize)n : 0)
        n = read(fd, status + size, STATUS_SIZE - 1 - size);
    if (fd >= 0)
        close(fd);
    guint32 uid, gid;
    if (!read_ids(find_line(status, "Uid:"), &uid) || !read_ids(find_line(status, "Gid:"), &gid)) {
        set_nobody(rights);
        return;
    }
    *rights = (Rights){
        .limited = uid != 0 || !has_our_capabilities(directory, status),
        .uid = uid,
        .gid = gid,
        .groups = read_groups(find_line(status, "Groups:")),
    };
}

void
rights_of_user(uid_t uid, Rights *rights)
{
    struct passwd entry, *found = NULL;
    g_autofree char *buffer = g_malloc(STATUS_SIZE);
    set_nobody(rights);
    rights->uid = uid;
    rights->limited = uid != 0;
    if (getpwuid_r(uid, &entry, buffer, STATUS_SIZE, &found) != 0 || found == NULL)
        return;
    int n = 0;
    rights->gid = found->pw_gid;
    getgrouplist(found->pw_name, found->pw_gid, NULL, &n);
    rights->groups = g_array_new(FALSE, TRUE, sizeof(gid_t));
    g_array_set_size(rights->groups, (guint)CLAMP(n, 0, MAX_GROUPS));
    n = (int)rights->groups->len;
    if (getgrouplist(found->pw_name, found->pw_gid, (gid_t *)(gpointer)rights->groups->data, &n) < 0)
        n = 0; /* the database changed meanwhile */
    g_array_set_size(rights->groups, (guint)n);
}

void
rights_clear(Rights *rights)
{
    g_clear_pointer(&rights->groups, g_array_unref);
}

static gboolean
call_capabilities(long number, struct __user_cap_data_struct data[2])
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    return syscall(number, &header, data) == 0;
}

static guint64
effective_capabilities(void)
{
    struct __user_cap_data_struct data[2] = {{0}};
    return call_capabilities(SYS_capget, data) ? (guint64)data[1].effective << 32 | data[0].effective : 0;
}

static gboolean
set_effective_capabilities(guint64 wanted)
{
    struct __user_cap_data_struct data[2] = {{0}};
    if (!call_capabilities(SYS_capget, data))
        return FALSE;
    data[0].effective = (guint32)wanted;
    data[1].effective = (guint32)(wanted >> 32);
    return call_capabilities(SYS_capset, data);
}

/* The C library's setgroups() changes every thread, the system call the calling one. */
static gboolean
set_groups(const GArray *groups)
{
    return syscall(SYS_setgroups, groups != NULL ? groups->len : 0, groups != NULL ? groups->data : NULL) == 0;
}

static GArray *
get_groups(void)
{
    GArray *groups = g_array_new(FALSE, TRUE, sizeof(gid_t));
    g_array_set_size(groups, (guint)MAX(getgroups(0, NULL), 0));
    int n = getgroups((int)groups->len, (gid_t *)(gpointer)groups->data);
    g_array_set_size(groups, (guint)MAX(n, 0));
    return groups;
}

/* setfsuid() returns the former id whether it succeeds or not. */
static gboolean
set_ids(uid_t uid, gid_t gid)
{
    setfsgid(gid);
    setfsuid(uid);
    return (uid_t)setfsuid((uid_t)-1) == uid && (gid_t)setfsgid((gid_t)-1) == gid;
}

gboolean
rights_enter(const Rights *rights, RightsBefore *before)
{
    *before = (RightsBefore){0};
    if (!rights->limited)
        return TRUE;
    before->capabilities = effective_capabilities();
    if (before->capabilities == 0)
        return TRUE;
    before->groups = get_groups();
    before->death = death_signal_get();
    before->switched = TRUE;
    gboolean became = set_groups(rights->groups) && set_ids(rights->uid, rights->gid);
    before->lowered = set_effective_capabilities(effective_capabilities() & ~OVERRIDING);
    death_signal_keep(&before->death);
    return became;
}

static gboolean
take_back(const RightsBefore *before)
{
    gboolean may_set_groups = (before->capabilities & (guint64)1 << CAP_SETGID) != 0;
    return set_ids(geteuid(), getegid()) && (!may_set_groups || set_groups(before->groups)) &&
           (!before->lowered || set_effective_capabilities(before->capabilities));
}

/* Continuing with another user's rights would surface as an unrelated failure elsewhere. */
void
rights_leave(RightsBefore *before)
{
    if (before->switched && !take_back(before))
        g_error("cannot restore the rights of this process");
    if (before->switched)
        death_signal_keep(&before->death);
    g_clear_pointer(&before->groups, g_array_unref);
}

gboolean
rights_may_read(const Rights *rights, const struct stat *file)
{
    return (file->st_mode & S_IROTH) != 0 || (file->st_uid == rights->uid && (file->st_mode & S_IRUSR) != 0);
}

/* Whether a directory or link decides for root and the caller alone where a path leads. */
static gboolean
is_trusted_step(const struct stat *status)
{
    gboolean shared = S_ISDIR(status->st_mode) && (status->st_mode & S_IWOTH) != 0;
    return rights_are_trusted(status->st_uid) && (!shared || (status->st_mode & S_ISVTX) != 0);
}

gboolean
rights_decide_alone(const char *path)
{
    struct stat status;
    gboolean shared = FALSE;
    if (!g_path_is_absolute(path))
        return FALSE;
    for (const char *end = path; *end != '\0'; end += strcspn(end, "/")) {
        end += strspn(end, "/");
        g_autofree char *step = g_strndup(path, (gsize)(end - path) + strcspn(end, "/"));
        if (lstat(step, &status) != 0) /* another user could make it in a directory of all */
            return errno == ENOENT && !shared;
        if (!is_trusted_step(&status))
            return FALSE;
        shared = S_ISDIR(status.st_mode) && (status.st_mode & S_IWOTH) != 0;
    }
    return TRUE;
}

static char *
directory_of_user(const char *path, const char *const below_home[2])
{
    const struct passwd *root = geteuid() == 0 && !rights_decide_alone(path) ? getpwuid(0) : NULL;
    return root != NULL ? g_build_filename(root->pw_dir, below_home[0], below_home[1], NULL) : g_strdup(path);
}

char *
rights_state_directory(void)
{
    return directory_of_user(g_get_user_state_dir(), (const char *const[]){".local", "state"});
}

char *
rights_cache_directory(void)
{
    return directory_of_user(g_get_user_cache_dir(), (const char *const[]){".cache", NULL});
}
