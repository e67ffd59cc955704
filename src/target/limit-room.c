/* SPDX-License-Identifier: Apache-2.0 */
#include "target/limit-room.h"

#include "target/target.h"

#include <linux/capability.h>
#include <string.h>

enum { KIB = 1024 };

static char *
read_file(const char *proc, pid_t pid, const char *name)
{
    g_autofree char *path = g_strdup_printf("%s/%d/%s", proc, (int)pid, name);
    char *text = NULL;
    return g_file_get_contents(path, &text, NULL, NULL) ? text : NULL;
}

/* The number after KEY, which begins a line, in BASE; G_MAXUINT64: "unlimited", or no such line. */
static guint64
number_after(const char *text, const char *key, guint base)
{
    const char *line = g_str_has_prefix(text, key) ? text : NULL;
    g_autofree char *later = g_strconcat("\n", key, NULL);
    if (line == NULL && (line = strstr(text, later)) != NULL)
        line++;
    if (line == NULL)
        return G_MAXUINT64;
    line += strlen(key);
    line += strspn(line, " \t");
    return g_ascii_isxdigit(*line) ? g_ascii_strtoull(line, NULL, base) : G_MAXUINT64;
}

/* Whether memory that it maps later is locked, too (MCL_FUTURE of mlockall(2)). The kernel does not tell; who locks
 * half of its address space has called mlockall(). */
static gboolean
locks_all(const char *status, guint64 locked, guint64 size)
{
    const guint64 effective = number_after(status, "CapEff:", 16);
    return locked >= size / 2 && (effective >> CAP_IPC_LOCK & 1) == 0;
}

static gboolean
check_limit(const char *label, const char *what, guint64 used, guint64 limit, const char *raise, GError **error)
{
    const guint64 left = limit > used ? limit - used : 0;
    if (limit == G_MAXUINT64 || left >= LIMIT_ROOM_NEEDED)
        return TRUE;
    g_autofree char *needed = g_format_size_full(LIMIT_ROOM_NEEDED, G_FORMAT_SIZE_IEC_UNITS);
    g_autofree char *has = g_format_size_full(left, G_FORMAT_SIZE_IEC_UNITS);
    g_autofree char *of = g_format_size_full(limit, G_FORMAT_SIZE_IEC_UNITS);
    g_set_error(error, TARGET_ERROR, OUTCOME_NO_HEADROOM,
                "the limit of %s of %s has %s left of %s, and profiling would take up to %s of it, so that its own "
                "allocations might fail; raise the limit (%s), or override this check with --force",
                what, label, has, of, needed, raise);
    return FALSE;
}

gboolean
limit_room_check(pid_t pid, const char *label, const char *proc, GError **error)
{
    g_autofree char *limits = read_file(proc, pid, "limits");
    g_autofree char *status = read_file(proc, pid, "status");
    const guint64 size = status != NULL ? number_after(status, "VmSize:", 10) : G_MAXUINT64;
    const guint64 locked = status != NULL ? number_after(status, "VmLck:", 10) : G_MAXUINT64;
    if (limits == NULL || size > G_MAXUINT64 / KIB || locked > G_MAXUINT64 / KIB)
        return TRUE;
    g_autofree char *space = g_strdup_printf("'prlimit --pid=%d --as=unlimited'", (int)pid);
    g_autofree char *lock = g_strdup_printf("'prlimit --pid=%d --memlock=unlimited'", (int)pid);
    return check_limit(label, "address space (RLIMIT_AS)", size * KIB, number_after(limits, "Max address space", 10),
                       space, error) &&
           (!locks_all(status, locked, size) ||
            check_limit(label, "locked memory (RLIMIT_MEMLOCK)", locked * KIB,
                        number_after(limits, "Max locked memory", 10), lock, error));
}
