/* SPDX-License-Identifier: Apache-2.0 */
#include "target/refusal.h"

#include "target/dynamic.h"
#include "target/target.h"
#include "target/threads.h"

#include <string.h>

gboolean
refusals_are_same(const GArray *a, const GArray *b)
{
    if (a->len != b->len)
        return FALSE;
    for (guint i = 0; i < a->len; i++) {
        const Refusal *one = &g_array_index(a, Refusal, i);
        const Refusal *other = &g_array_index(b, Refusal, i);
        if (!one->point.waits || !other->point.waits || one->thread != other->thread ||
            one->point.verdict != other->point.verdict || one->point.pc != other->point.pc ||
            one->point.top != other->point.top)
            return FALSE;
    }
    return TRUE;
}

static gboolean
read_remote(gpointer data, guint64 address, void *bytes, gsize n)
{
    return remote_read(GPOINTER_TO_INT(data), address, bytes, n);
}

/* "dlopen in libc.so.6", "libc.so.6+0x1234". */
static char *
describe_code(const AddressSpace *space, guint64 address)
{
    const Mapping *mapping = address_space_find(space, address);
    if (mapping == NULL)
        return g_strdup_printf("code at 0x%" G_GINT64_MODIFIER "x", address);
    const Mapping *first = address_space_first(space, mapping);
    g_autofree char *object = mapping_name(mapping);
    Dynamic image = {
        .read = read_remote, .data = GINT_TO_POINTER(space->pid), .base = first != NULL ? first->start : 0};
    char name[DYNAMIC_NAME_MAX];
    if (first != NULL && dynamic_open(&image) && dynamic_name(&image, address, name))
        return g_strdup_printf("%s in %s", name, object);
    return g_strdup_printf("%s+0x%" G_GINT64_MODIFIER "x", object[0] != '\0' ? object : "code without a file",
                           address - mapping->start + mapping->offset);
}

/* What the thread was doing; "%s" is the code at the decisive address. */
static const char *const reasons[] = {
    [SAFE_POINT_MOVING] = "could not be examined",
    [SAFE_POINT_IN_LOADER] = "is in the dynamic loader (%s)",
    [SAFE_POINT_IN_FORK] = "is in fork (%s)",
    [SAFE_POINT_IN_HOLDER] = "may hold a lock of the C library (%s)",
    [SAFE_POINT_IN_WRAPPER] = "is in code that replaces functions of the C library (%s), and may hold a lock of it",
    [SAFE_POINT_IN_JEMALLOC] = "is in jemalloc (%s)",
    [SAFE_POINT_IN_HANDLER] = "runs a signal handler, which may have interrupted anything",
    [SAFE_POINT_IN_TRANSFER] = "waits in a system call such as write, which a stop would end with a part of the data",
    [SAFE_POINT_NO_WAIT] = "is not in a system call in which no lock can be held",
    [SAFE_POINT_OTHER_STACK] = "runs on a stack that is not its own, such as a coroutine's",
    [SAFE_POINT_NO_ROOM] = "has less than 64 KiB of its stack left",
    [SAFE_POINT_SEQUENCE] = "is in a restartable sequence",
    [SAFE_POINT_SUSPENDED] = "may wait for a lock of another one that a signal handler of the program suspends, as a "
                             "garbage collector does",
    [SAFE_POINT_DISPATCH] = "handles its system calls itself (PR_SET_SYSCALL_USER_DISPATCH), as it would ours",
};

static char *
describe_thread(const Refusal *refusal, const AddressSpace *space)
{
    const SafePoint *point = &refusal->point;
    g_autofree char *code = describe_code(space, point->address != 0 ? point->address : point->pc);
    g_auto(GStrv) parts = g_strsplit(reasons[point->verdict], "%s", 2);
    g_autofree char *reason = g_strjoinv(code, parts);
    if (point->unknown == 0 || point->address == 0)
        return g_strdup_printf("thread %d %s", (int)refusal->thread, reason);
    g_autofree char *unknown = describe_code(space, point->unknown);
    return g_strdup_printf("thread %d possibly %s: such an address is on its stack, and %s has no unwind table",
                           (int)refusal->thread, reason, unknown);
}

static char *
describe_unstoppable(pid_t pid)
{
    gboolean in_vfork = FALSE;
    pid_t thread = threads_unstoppable(pid, &in_vfork);
    if (thread == 0)
        return g_strdup("it has no thread that can be stopped");
    return g_strdup_printf("thread %d %s", (int)thread,
                           in_vfork ? "waits in vfork for its child, and cannot be stopped"
                                    : "is in an uninterruptible wait, and cannot be stopped");
}

void
refusals_set(const GArray *refusals, const Process *process, const AddressSpace *space, guint unchanged_ms,
             guint waited_ms, GError **error)
{
    g_autofree char *what = refusals->len > 0 ? describe_thread(&g_array_index(refusals, Refusal, 0), space)
                                              : describe_unstoppable(process->pid);
    g_autofree char *others =
        refusals->len > 1
            ? g_strdup_printf(", and its %u other threads are not at a safe point either", refusals->len - 1)
            : g_strdup("");
    const gboolean calls =
        refusals->len == 0 || g_array_index(refusals, Refusal, 0).point.verdict != SAFE_POINT_NO_WAIT;
    g_autofree char *then =
        unchanged_ms > 0
            ? g_strdup_printf("nothing changed within %u ms, and a retry will fail until it continues; "
                              "restart it under 'jescope run'",
                              unchanged_ms)
            : g_strdup_printf("no thread reached a safe point within %g s; %stry again", waited_ms / 1000.0,
                              calls ? ""
                                    : "a program that never makes system calls must be restarted under "
                                      "'jescope run', otherwise ");
    g_set_error(error, TARGET_ERROR, OUTCOME_SILENT, "jemalloc cannot be called in %s (%d) now: %s%s; %s",
                process->name, (int)process->pid, what, others, then);
}
