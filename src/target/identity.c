/* SPDX-License-Identifier: Apache-2.0 */
#include "target/identity.h"

#include "target/cgroup.h"
#include "target/unit.h"

#include <string.h>

static char *
read_unit(pid_t pid)
{
    g_autofree char *path = cgroup_path((int)pid);
    char *unit = path != NULL ? unit_innermost(path, ".service") : NULL;
    return unit != NULL ? unit : g_strdup("");
}

/* A file that was replaced by an upgrade is the same program. */
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

Identity *
identity_of(uid_t user, const char *unit, const char *program)
{
    Identity *identity = g_new(Identity, 1);
    *identity = (Identity){user, g_strdup(unit), g_strdup(program)};
    return identity;
}

Identity *
identity_new(const Process *process)
{
    Identity *identity = g_new(Identity, 1);
    *identity = (Identity){process->uids[1], read_unit(process->pid), read_program(process->pid)};
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
           (is_same(earlier->unit, later->unit) || is_same(earlier->program, later->program));
}
