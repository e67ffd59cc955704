/* SPDX-License-Identifier: Apache-2.0 */
#include "target/identity.h"

#include "target/cgroup.h"
#include "target/unit.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static char *
read_unit(pid_t pid)
{
    g_autofree char *path = cgroup_path((int)pid);
    char *unit = path != NULL ? unit_innermost(path, ".service") : NULL;
    return unit != NULL ? unit : g_strdup("");
}

/* A file that was replaced by an upgrade counts as the same program. */
static char *
read_program(pid_t pid)
{
    static const char deleted[] = " (deleted)";
    g_autofree char *link = g_strdup_printf("/proc/%d/exe", (int)pid);
    char *path = g_file_read_link(link, NULL);
    if (path == NULL)
        return g_strdup("");
    if (g_str_has_suffix(path, deleted))
        path[strlen(path) - strlen(deleted)] = '\0';
    return path;
}

/* Does not access the file system of its root directory, which may block. */
static gboolean
is_contained(pid_t pid)
{
    struct statx ours, theirs;
    g_autofree char *root = g_strdup_printf("/proc/%d/root", (int)pid);
    return statx(AT_FDCWD, "/", AT_STATX_DONT_SYNC, STATX_INO, &ours) == 0 &&
           statx(AT_FDCWD, root, AT_STATX_DONT_SYNC, STATX_INO, &theirs) == 0 &&
           (ours.stx_ino != theirs.stx_ino || ours.stx_dev_major != theirs.stx_dev_major ||
            ours.stx_dev_minor != theirs.stx_dev_minor);
}

Identity *
identity_of(uid_t user, const char *unit, const char *program)
{
    Identity *identity = g_new(Identity, 1);
    *identity = (Identity){.user = user, .unit = g_strdup(unit), .program = g_strdup(program)};
    return identity;
}

Identity *
identity_new(const Process *process)
{
    Identity *identity = g_new(Identity, 1);
    *identity = (Identity){.user = process->uids[1],
                           .unit = read_unit(process->pid),
                           .program = read_program(process->pid),
                           .contained = is_contained(process->pid)};
    return identity;
}

void
identity_free(Identity *identity)
{
    if (identity == NULL)
        return;
    g_free(identity->unit);
    g_free(identity->program);
    g_free(identity);
}

static gboolean
is_same(const char *a, const char *b)
{
    return a[0] != '\0' && strcmp(a, b) == 0;
}

gboolean
identity_continues(const Identity *earlier, const Identity *later)
{
    return earlier->user == later->user &&
           (is_same(earlier->unit, later->unit) ||
            (earlier->contained == later->contained && is_same(earlier->program, later->program)));
}
