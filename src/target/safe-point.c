/* SPDX-License-Identifier: Apache-2.0 */
#include "target/safe-point.h"

#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

enum {
    ROOM = 64 * 1024,              /* that must be left on a thread's stack */
    ROOM_GROWING = 32 * 1024,      /* mapped already, of a stack that grows */
    SCANNED_MAX = 8 * 1024 * 1024, /* a deeper stack is none of ours */
};

typedef struct {
    guint64 start;
    guint64 end;
} Range;

struct _SafePoints {
    const AddressSpace *space;
    GArray *ranges;   /* of Range: where no thread may be at all */
    GArray *jemalloc; /* nor here, unless it is in one of WAITS */
    gboolean only_waits;
};

/* System calls that wait for something outside, and that jemalloc has no use for. Not futex: its locks are that. */
static const gint64 waits[] = {
    SYS_epoll_pwait,
    SYS_ppoll,
    SYS_pselect6,
    SYS_nanosleep,
    SYS_clock_nanosleep,
    SYS_accept,
    SYS_accept4,
    SYS_recvfrom,
    SYS_recvmsg,
    SYS_recvmmsg,
    SYS_wait4,
    SYS_waitid,
    SYS_rt_sigsuspend,
    SYS_rt_sigtimedwait,
    SYS_io_getevents,
    SYS_connect,
    SYS_msgrcv,
    SYS_semtimedop,
    SYS_read,
    SYS_readv,
#ifdef SYS_epoll_wait
    SYS_epoll_wait,
    SYS_poll,
    SYS_select,
    SYS_pause,
#endif
};

static void
add_range(GArray *ranges, guint64 start, guint64 end)
{
    Range range = {start, end};
    g_array_append_val(ranges, range);
}

void
safe_points_avoid(SafePoints *points, guint64 start, guint64 end)
{
    add_range(points->jemalloc, start, end);
}

static void
avoid_loader(SafePoints *points, const Mapping *mapping)
{
    g_autofree char *name = mapping_name(mapping);
    if ((mapping->flags & MAPPING_EXECUTE) != 0 && g_str_has_prefix(name, "ld-") && !g_str_has_prefix(name, "ld-musl"))
        add_range(points->ranges, mapping->start, mapping->end);
}

SafePoints *
safe_points_new(const AddressSpace *space, const RemoteCode *code, const CLibrary *library)
{
    SafePoints *points = g_new0(SafePoints, 1);
    points->space = space;
    points->ranges = g_array_new(FALSE, FALSE, sizeof(Range));
    points->jemalloc = g_array_new(FALSE, FALSE, sizeof(Range));
    for (guint i = 0; i < space->mappings->len; i++)
        avoid_loader(points, &g_array_index(space->mappings, Mapping, i));
    for (guint i = 0; i < C_LIBRARY_FORKS; i++)
        add_range(points->ranges, library->forks[i].start, library->forks[i].end);
    add_range(points->ranges, code->back, code->back + 1);
    return points;
}

void
safe_points_require_foreign_wait(SafePoints *points)
{
    points->only_waits = TRUE;
}

void
safe_points_free(SafePoints *points)
{
    if (points == NULL)
        return;
    g_array_unref(points->ranges);
    g_array_unref(points->jemalloc);
    g_free(points);
}

static gboolean
is_in(const GArray *list, guint64 address)
{
    const Range *ranges = (const Range *)(void *)list->data;
    for (guint i = 0; i < list->len; i++)
        if (address - ranges[i].start < ranges[i].end - ranges[i].start)
            return TRUE;
    return FALSE;
}

/* Old return addresses into jemalloc lie about on every stack. Who waits for something outside is not in jemalloc. */
static gboolean
is_avoided(const SafePoints *points, guint64 address, gboolean waits_outside)
{
    return is_in(points->ranges, address) || (!waits_outside && is_in(points->jemalloc, address));
}

static gboolean
is_growing(const Mapping *stack)
{
    return strcmp(stack->path, "[stack]") == 0;
}

/* A coroutine's stack may be of any size, and be left for another's at any time. */
static gboolean
is_own_stack(const Mapping *stack, guint64 thread_pointer)
{
    return is_growing(stack) || (thread_pointer >= stack->start && thread_pointer < stack->end);
}

static gboolean
holds_avoided(const SafePoints *points, guint64 sp, const Mapping *stack, gboolean waits_outside)
{
    gsize length = (gsize)(stack->end - sp) & ~(sizeof(guint64) - 1);
    if (length > SCANNED_MAX)
        return TRUE;
    g_autofree guint64 *words = g_malloc(length);
    if (!remote_read(points->space->pid, sp, words, length))
        return TRUE;
    for (gsize i = 0; i < length / sizeof(*words); i++)
        if (is_avoided(points, words[i], waits_outside))
            return TRUE;
    return FALSE;
}

/* A restartable sequence (rseq(2)) must not be left and entered again. */
static gboolean
in_restartable_sequence(pid_t pid, pid_t thread)
{
    struct __ptrace_rseq_configuration configuration = {0};
    guint64 sequence = 0;
    if (ptrace(PTRACE_GET_RSEQ_CONFIGURATION, thread, sizeof(configuration), &configuration) <= 0 ||
        configuration.rseq_abi_pointer == 0)
        return FALSE;
    return !remote_read(pid, configuration.rseq_abi_pointer + sizeof(guint64), &sequence, sizeof(sequence)) ||
           sequence != 0;
}

static gboolean
is_wait(gint64 number)
{
    for (gsize i = 0; i < G_N_ELEMENTS(waits); i++)
        if (waits[i] == number)
            return TRUE;
    return FALSE;
}

SafePointVerdict
safe_points_judge(SafePoints *points, pid_t thread, const Registers *registers, guint64 *top)
{
    guint64 sp = registers_sp(&registers->general);
    const Mapping *stack = address_space_find(points->space, sp);
    guint64 thread_pointer;
    if (stack == NULL || !registers_thread_pointer(thread, &registers->general, &thread_pointer) ||
        !is_own_stack(stack, thread_pointer) || sp - stack->start < (is_growing(stack) ? ROOM_GROWING : ROOM))
        return SAFE_POINT_NONE;
    gboolean waits_outside = is_wait(registers_call_at_first(points->space->pid, registers));
    if ((points->only_waits && !waits_outside) ||
        is_avoided(points, registers_pc(&registers->general), waits_outside) ||
        holds_avoided(points, sp & ~7ULL, stack, waits_outside) || in_restartable_sequence(points->space->pid, thread))
        return SAFE_POINT_NONE;
    *top = sp - registers_red_zone;
    return SAFE_POINT_HERE;
}
