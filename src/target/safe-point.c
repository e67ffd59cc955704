/* SPDX-License-Identifier: Apache-2.0 */
#include "target/safe-point.h"

#include "target/threads.h"
#include "target/unwind.h"

#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

enum {
    ROOM = 64 * 1024,              /* bytes that must be left on a thread's stack */
    CONTROL_BLOCK = 4096,          /* bytes on either side of the thread pointer that are searched for its extent */
    ROOM_GROWING = 32 * 1024,      /* bytes of a growing stack that must be mapped */
    SCANNED_MAX = 8 * 1024 * 1024, /* bytes; larger stacks are not examined */
    FRAMES_MAX = 256,
    HANDLER_MAX = 256 * 1024, /* bytes above the stack pointer in which the frames of a handler begin */
    HANDLERS_MAX = 64,        /* words that may begin one; a process could fill its stacks with them */
};

/* Code in which no thread may be. A process chooses how many such ranges it has, and a stack has a million words. */
typedef struct {
    SafePointVerdict verdict;
    GArray *ranges; /* of FunctionRange */
    gboolean ready; /* sorted by address, without overlaps */
} Excluded;

static const SafePointVerdict exclusions[] = {SAFE_POINT_IN_LOADER,  SAFE_POINT_IN_FORK,     SAFE_POINT_IN_HOLDER,
                                              SAFE_POINT_IN_HANDLER, SAFE_POINT_IN_JEMALLOC, SAFE_POINT_IN_WRAPPER};

struct _SafePoints {
    const AddressSpace *space;
    guint64 main_stack;                          /* as in safe_points_new() */
    guint64 makecontext;                         /* as in CLibrary */
    guint64 back;                                /* as in RemoteCode: where a signal handler returns to */
    Excluded excluded[G_N_ELEMENTS(exclusions)]; /* one each; the first that has an address counts */
    gboolean only_foreign_waits;
    gboolean only_waits;
};

/* System calls that wait for external events and in which jemalloc never waits. futex is excluded: jemalloc's locks use
 * it. */
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

/* jemalloc makes some of these too, but only on files on which they do not wait. */
static const gint64 reads[] = {SYS_read, SYS_readv};

static void
add_range(SafePoints *points, guint64 start, guint64 end, SafePointVerdict verdict)
{
    const FunctionRange range = {start, end};
    for (gsize i = 0; i < G_N_ELEMENTS(exclusions) && start < end; i++)
        if (points->excluded[i].verdict == verdict) {
            g_array_append_val(points->excluded[i].ranges, range);
            points->excluded[i].ready = FALSE;
        }
}

void
safe_points_avoid(SafePoints *points, guint64 start, guint64 end)
{
    add_range(points, start, end, SAFE_POINT_IN_JEMALLOC);
}

static void
avoid_loader(SafePoints *points, const Mapping *mapping)
{
    g_autofree char *name = mapping_name(mapping);
    if ((mapping->flags & MAPPING_EXECUTE) != 0 && g_str_has_prefix(name, "ld-") && !g_str_has_prefix(name, "ld-musl"))
        add_range(points, mapping->start, mapping->end, SAFE_POINT_IN_LOADER);
}

SafePoints *
safe_points_new(const AddressSpace *space, const RemoteCode *code, const CLibrary *library, guint64 main_stack)
{
    SafePoints *points = g_new0(SafePoints, 1);
    points->space = space;
    points->makecontext = library->makecontext;
    points->main_stack = main_stack;
    points->back = code->back;
    for (gsize i = 0; i < G_N_ELEMENTS(exclusions); i++)
        points->excluded[i] =
            (Excluded){.verdict = exclusions[i], .ranges = g_array_new(FALSE, FALSE, sizeof(FunctionRange))};
    for (guint i = 0; i < space->mappings->len; i++)
        avoid_loader(points, &g_array_index(space->mappings, Mapping, i));
    for (guint i = 0; i < C_LIBRARY_FORKS; i++)
        add_range(points, library->forks[i].start, library->forks[i].end, SAFE_POINT_IN_FORK);
    add_range(points, code->back, code->back + 1, SAFE_POINT_IN_HANDLER);
    return points;
}

void
safe_points_avoid_holders(SafePoints *points, const CLibrary *library)
{
    for (guint i = 0; i < C_LIBRARY_HOLDERS; i++)
        add_range(points, library->holders[i].start, library->holders[i].end, SAFE_POINT_IN_HOLDER);
}

void
safe_points_avoid_replaced(SafePoints *points, const GArray *replaced)
{
    for (guint i = 0; i < replaced->len; i++) {
        const FunctionRange *range = &g_array_index(replaced, FunctionRange, i);
        add_range(points, range->start, range->end, SAFE_POINT_IN_WRAPPER);
    }
}

void
safe_points_require_foreign_wait(SafePoints *points)
{
    points->only_foreign_waits = TRUE;
}

void
safe_points_require_wait(SafePoints *points, gboolean required)
{
    points->only_waits = required;
}

void
safe_points_free(SafePoints *points)
{
    if (points == NULL)
        return;
    for (gsize i = 0; i < G_N_ELEMENTS(exclusions); i++)
        g_array_unref(points->excluded[i].ranges);
    g_free(points);
}

static gint
compare_ranges(gconstpointer a, gconstpointer b)
{
    const FunctionRange *left = a;
    const FunctionRange *right = b;
    return (left->start > right->start) - (left->start < right->start);
}

static void
make_ready(Excluded *excluded)
{
    GArray *ranges = excluded->ranges;
    guint n = 0;
    g_array_sort(ranges, compare_ranges);
    for (guint i = 0; i < ranges->len; i++) {
        const FunctionRange range = g_array_index(ranges, FunctionRange, i);
        FunctionRange *last = n > 0 ? &g_array_index(ranges, FunctionRange, n - 1) : NULL;
        if (last != NULL && range.start <= last->end)
            last->end = MAX(last->end, range.end);
        else
            g_array_index(ranges, FunctionRange, n++) = range;
    }
    g_array_set_size(ranges, n);
    excluded->ready = TRUE;
}

static gboolean
has_address(const Excluded *excluded, guint64 address)
{
    guint low = 0;
    for (guint high = excluded->ranges->len; low < high;) {
        const guint middle = low + (high - low) / 2;
        const FunctionRange *range = &g_array_index(excluded->ranges, FunctionRange, middle);
        if (address - range->start < range->end - range->start)
            return TRUE;
        if (address < range->start)
            high = middle;
        else
            low = middle + 1;
    }
    return FALSE;
}

/* The verdict on a thread in code at ADDRESS; SAFE_POINT_HERE if it is not excluded. */
static SafePointVerdict
verdict_on(const SafePoints *points, guint64 address)
{
    for (gsize i = 0; i < G_N_ELEMENTS(exclusions); i++)
        if (has_address(&points->excluded[i], address))
            return points->excluded[i].verdict;
    return SAFE_POINT_HERE;
}

static gboolean
is_growing(const Mapping *stack)
{
    return strcmp(stack->path, "[stack]") == 0;
}

static gboolean
has_guard(const AddressSpace *space, const Mapping *stack)
{
    const Mapping *below = address_space_find(space, stack->start - 1);
    return below != NULL && (below->flags & (MAPPING_READ | MAPPING_WRITE | MAPPING_EXECUTE)) == 0;
}

/*
 * The lowest address of the stack that contains control block BLOCK in mapping STACK; 0: unknown. glibc (struct
 * pthread: stackblock, stackblock_size, guardsize) and musl (map_base, map_size) keep there the start and the length of
 * the memory that they or the program allocated for stack and control block together, which are found as two such
 * words. Of several the highest start counts. glibc's block begins with its own address, twice, once before a small
 * number.
 */
static guint64
recorded_start(const AddressSpace *space, const Mapping *stack, guint64 block)
{
    enum { WORDS = 2 * CONTROL_BLOCK / sizeof(guint64) };
    const guint64 from = MAX(stack->start, block - MIN(block, CONTROL_BLOCK)) & ~7ULL;
    guint64 words[WORDS], start = 0;
    const gsize n = MIN(sizeof(words), (gsize)(stack->end - from)) / sizeof(*words);
    if (!remote_read(space->pid, from, words, n * sizeof(*words)))
        return 0;
    for (gsize i = 0; i + 2 < n; i++) {
        const guint64 at = words[i], length = words[i + 1], guard = words[i + 2];
        if (at == 0 || at >= block || length <= block - at || length > stack->end - at)
            continue;
        start = MAX(start, guard < length ? at + guard : at);
    }
    return start;
}

typedef struct {
    guint64 start; /* the lowest address */
    guint64 top;   /* the end of the frames; 0: it is not the thread's own */
    gboolean grows;
} Extent;

/*
 * The own stack of THREAD, which may run on another one. A coroutine's stack may have any size, and be switched for
 * another at any time. The stack of the main thread grows; that of any other thread, which is the main thread in a
 * child that this thread has forked, lies below its control block, even in memory of the main thread. The kernel merges
 * it with adjacent memory of any kind, where it has no guard below; then only the C library knows where it begins.
 */
static Extent
own_stack(const SafePoints *points, pid_t thread, const Mapping *stack, const Registers *registers)
{
    const AddressSpace *space = points->space;
    const guint64 sp = registers_sp(&registers->general), bottom = points->main_stack;
    guint64 block;
    if (!registers_thread_pointer(thread, &registers->general, &block))
        return (Extent){0};
    const gboolean has_block = block >= sp && block < stack->end;
    if (is_growing(stack) && !has_block)
        return (Extent){stack->start, bottom >= sp && bottom < stack->end ? bottom : stack->end, TRUE};
    if (!has_block)
        return (Extent){0};
    const gboolean guarded = has_guard(space, stack);
    const guint64 recorded = recorded_start(space, stack, block);
    if (recorded > sp || !(guarded || (recorded != 0 && thread != space->pid)))
        return (Extent){0};
    return (Extent){MAX(stack->start, recorded), block, FALSE};
}

/* The stack of the examined thread. */
typedef struct {
    const SafePoints *points;
    guint64 *words;
    guint64 start; /* of WORDS, the stack pointer */
    guint64 end;
    guint64 top; /* the end, or the control block of a thread that has it on its stack */
    gboolean waits_outside;
} Stack;

/* Treats every word from address FROM upwards as a return address. Stale addresses in jemalloc remain on every stack;
 * they are ignored for a thread that waits for an external event, since jemalloc never does. */
static SafePoint
scan(const Stack *stack, guint64 from)
{
    SafePoint found = {.verdict = SAFE_POINT_HERE};
    for (guint64 at = from; at + sizeof(guint64) <= stack->end; at += sizeof(guint64)) {
        guint64 word = stack->words[(at - stack->start) / sizeof(guint64)];
        SafePointVerdict verdict = verdict_on(stack->points, word);
        if (verdict == SAFE_POINT_HERE || (verdict == SAFE_POINT_IN_JEMALLOC && stack->waits_outside))
            continue;
        found.verdict = verdict;
        found.address = word;
        return found;
    }
    return found;
}

static gboolean
read_memory(gpointer data, guint64 address, void *bytes, gsize n)
{
    const Stack *stack = data;
    if (address < stack->start || address >= stack->end || n > stack->end - address)
        return remote_read(stack->points->space->pid, address, bytes, n);
    memcpy(bytes, (const guint8 *)stack->words + (address - stack->start), n);
    return TRUE;
}

static gboolean
is_mapped(const SafePoints *points, guint64 address, guint flag)
{
    const Mapping *mapping = address_space_find(points->space, address);
    return mapping != NULL && (mapping->flags & flag) != 0;
}

static gboolean
is_return_address(const Stack *stack, guint64 address)
{
    guint8 before[REGISTERS_CALL_MAX];
    return is_mapped(stack->points, address, MAPPING_EXECUTE) &&
           remote_read(stack->points->space->pid, address - sizeof(before), before, sizeof(before)) &&
           registers_ends_in_call(before);
}

/* Whether the unwinding has come to the C library's code without a table, which is where a coroutine of makecontext()
 * begins. */
static gboolean
is_trampoline(const SafePoints *points, guint64 pc)
{
    const Mapping *code = address_space_find(points->space, pc);
    return code != NULL && points->makecontext != 0 && code == address_space_find(points->space, points->makecontext);
}

/* Whether there are frames above the outermost one, which begins below FROM: a coroutine runs on memory that a function
 * of the thread has on its own stack, as in a local array, and whatever lies below belongs to others. */
static gboolean
is_nested(const Stack *stack, guint64 from)
{
    for (guint64 at = from; at + sizeof(guint64) <= stack->top; at += sizeof(guint64))
        if (is_return_address(stack, stack->words[(at - stack->start) / sizeof(guint64)]))
            return TRUE;
    return FALSE;
}

/* Follows the frames from UNWIND's while there are unwind tables: the verdict on the first that is excluded, but for
 * handlers. *LAST is set to the stack pointer of the last frame but one, *STEP to what ended it. */
static SafePoint
follow_frames(const Stack *stack, Unwind *unwind, guint64 *last, gboolean *in_handler, UnwindStep *step)
{
    *step = UNWIND_FRAME;
    for (guint frames = 0; *step == UNWIND_FRAME && frames < FRAMES_MAX; frames++) {
        gboolean signal_frame = FALSE;
        guint64 sp = unwind->sp & ~7ULL;
        SafePointVerdict verdict = verdict_on(stack->points, unwind->pc);
        if (verdict != SAFE_POINT_HERE && verdict != SAFE_POINT_IN_HANDLER)
            return (SafePoint){.verdict = verdict, .address = unwind->pc};
        *step = unwind_step(unwind, stack->end, &signal_frame);
        *in_handler |= signal_frame;
        if (*step == UNWIND_FRAME)
            *last = sp;
    }
    return (SafePoint){.verdict = SAFE_POINT_HERE};
}

/* One that suspends the others by signals may do so again while this one, in the handler that waits for it, still
 * blocks the signal. */
static gboolean
has_other_threads(pid_t pid)
{
    g_auto(ThreadWalk) walk;
    thread_walk_begin(&walk, pid);
    return thread_walk_next(&walk) != 0 && thread_walk_next(&walk) != 0;
}

/* Examines frames alone as far as there are unwind tables; then examines every word, beginning one frame
 * earlier, since a wrong table leads to a frame without a table. */
static SafePoint
walk(const Stack *stack, const Registers *registers)
{
    const SafePoints *points = stack->points;
    Stack copy = *stack;
    Unwind unwind = {.memory = {.space = points->space, .read = read_memory, .data = &copy}};
    guint64 last = stack->start;
    gboolean in_handler = FALSE;
    UnwindStep step;
    unwind_begin(&unwind, &registers->general);
    const SafePoint excluded = follow_frames(stack, &unwind, &last, &in_handler, &step);
    if (excluded.verdict != SAFE_POINT_HERE)
        return excluded;
    if ((step == UNWIND_END || is_trampoline(points, unwind.pc)) && is_nested(stack, (unwind.sp + 7) & ~7ULL))
        return (SafePoint){.verdict = SAFE_POINT_OTHER_STACK, .address = unwind.sp};
    if (step == UNWIND_END && !(in_handler && (points->only_waits || has_other_threads(points->space->pid))))
        return (SafePoint){.verdict = SAFE_POINT_HERE};
    /* A signal handler may have interrupted any code. */
    SafePoint found = in_handler ? (SafePoint){.verdict = SAFE_POINT_IN_HANDLER} : scan(stack, last);
    found.unknown = unwind.pc;
    return found;
}

/* NULL: not readable. */
static guint64 *
read_words(const SafePoints *points, guint64 address, gsize length)
{
    g_autofree guint64 *words = g_malloc(length);
    return remote_read(points->space->pid, address, words, length) ? g_steal_pointer(&words) : NULL;
}

static SafePoint
judge_stack(const SafePoints *points, const Registers *registers, const Mapping *mapping, guint64 top,
            gboolean waits_outside)
{
    SafePoint moving = {.verdict = SAFE_POINT_MOVING};
    const guint64 start = registers_sp(&registers->general) & ~7ULL;
    if (mapping->end - start > SCANNED_MAX)
        return (SafePoint){.verdict = SAFE_POINT_OTHER_STACK, .address = start};
    g_autofree guint64 *words = read_words(points, start, (gsize)(mapping->end - start));
    if (words == NULL)
        return moving;
    Stack stack = {.points = points, .words = words, .start = start, .end = mapping->end, .top = top};
    const guint64 pc = registers_pc(&registers->general);
    SafePointVerdict verdict = verdict_on(points, pc);
    if (verdict != SAFE_POINT_HERE && !(verdict == SAFE_POINT_IN_JEMALLOC && waits_outside))
        return (SafePoint){.verdict = verdict, .address = pc};
    stack.waits_outside = waits_outside;
    return walk(&stack, registers);
}

/* Whether the thread is in a restartable sequence (rseq(2)), which must not be left and resumed. */
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

/* Whether the program may handle system calls of the thread itself, by SIGSYS, before a tracer sees them. Linux before
 * 6.4 does not tell. */
static gboolean
has_user_dispatch(pid_t thread)
{
    /* PTRACE_GET_SYSCALL_USER_DISPATCH_CONFIG and struct ptrace_sud_config of newer <linux/ptrace.h>. */
    const enum __ptrace_request get_user_dispatch = 0x4211;
    struct {
        guint64 mode, selector, offset, length;
    } configuration = {.mode = PR_SYS_DISPATCH_OFF};
    return ptrace(get_user_dispatch, thread, sizeof(configuration), &configuration) == 0 &&
           configuration.mode != PR_SYS_DISPATCH_OFF;
}

static gboolean
is_among(const gint64 *numbers, gsize n, gint64 number)
{
    for (gsize i = 0; i < n; i++)
        if (numbers[i] == number)
            return TRUE;
    return FALSE;
}

static gboolean
waits_outside(const SafePoints *points, const Registers *registers)
{
    gint64 number = registers_call_at_first(points->space->pid, registers);
    return is_among(waits, G_N_ELEMENTS(waits), number) &&
           !(registers->entering && is_among(reads, G_N_ELEMENTS(reads), number));
}

static SafePoint
judge(const SafePoints *points, pid_t thread, const Registers *registers)
{
    guint64 sp = registers_sp(&registers->general);
    const Mapping *stack = address_space_find(points->space, sp);
    if (stack == NULL)
        return (SafePoint){.verdict = SAFE_POINT_MOVING};
    const Extent own = own_stack(points, thread, stack, registers);
    if (own.top == 0)
        return (SafePoint){.verdict = SAFE_POINT_OTHER_STACK, .address = sp};
    if (sp - own.start < (own.grows ? ROOM_GROWING : ROOM))
        return (SafePoint){.verdict = SAFE_POINT_NO_ROOM, .address = sp};
    gboolean outside = waits_outside(points, registers);
    if ((points->only_foreign_waits && !outside) || (points->only_waits && registers->restarts < 0))
        return (SafePoint){.verdict = SAFE_POINT_NO_WAIT};
    SafePoint point = judge_stack(points, registers, stack, own.top, outside);
    if (point.verdict == SAFE_POINT_HERE && in_restartable_sequence(points->space->pid, thread))
        point.verdict = SAFE_POINT_SEQUENCE;
    if (point.verdict == SAFE_POINT_HERE && has_user_dispatch(thread))
        point.verdict = SAFE_POINT_DISPATCH;
    return point;
}

static void
make_all_ready(SafePoints *points)
{
    for (gsize i = 0; i < G_N_ELEMENTS(exclusions); i++)
        if (!points->excluded[i].ready)
            make_ready(&points->excluded[i]);
}

/* The words above SP, as far as a handler's frame may be. The caller frees them. FALSE: there is no stack. */
static gboolean
read_stack(const SafePoints *points, guint64 sp, Stack *stack)
{
    const Mapping *mapping = address_space_find(points->space, sp);
    const guint64 start = sp & ~7ULL;
    const gsize length = mapping != NULL ? (gsize)MIN(mapping->end - start, HANDLER_MAX) & ~(gsize)7 : 0;
    *stack = (Stack){.points = points, .start = start, .end = start + length};
    stack->words = length > 0 ? read_words(points, start, length) : NULL;
    return stack->words != NULL;
}

/* What may still be done for one examination: a process chooses how many words are as if a frame began there, and
 * what its tables take. */
typedef struct {
    guint words;
    guint work; /* as in Unwind */
} Allowance;

static gboolean
is_exhausted(const Allowance *left)
{
    return left->words == 0 || left->work == 0;
}

/* The lowest frame on STACK that the kernel has made for a signal handler: its address, with UNWIND at the interrupted
 * code. 0: there is none, or LEFT is exhausted. Stale frames of handlers that have returned may lie below it. */
static guint64
find_handler(Stack *stack, Allowance *left, Unwind *unwind)
{
    const SafePoints *points = stack->points;
    for (guint64 at = stack->start; at < stack->end && !is_exhausted(left); at += sizeof(guint64)) {
        if (stack->words[(at - stack->start) / sizeof(guint64)] != points->back)
            continue;
        *unwind = (Unwind){.memory = {.space = points->space, .read = read_memory, .data = stack}};
        unwind_begin_at(unwind, points->back, at + sizeof(guint64));
        unwind->work = left->work;
        const gboolean found = unwind_leave_handler(unwind) && is_mapped(points, unwind->pc, MAPPING_EXECUTE) &&
                               is_mapped(points, unwind->sp, MAPPING_WRITE);
        left->work = unwind->work;
        left->words--;
        if (found)
            return at;
    }
    return 0;
}

/* Whether it is excluded. A handler that it runs is not: it is found by itself. */
static gboolean
is_excluded(const SafePoints *points, Unwind interrupted, Allowance *left)
{
    Stack stack;
    guint64 last = interrupted.sp & ~7ULL;
    gboolean in_handler = FALSE;
    UnwindStep step;
    if (!read_stack(points, interrupted.sp, &stack))
        return FALSE; /* a stale frame */
    interrupted.memory.data = &stack;
    SafePointVerdict verdict = follow_frames(&stack, &interrupted, &last, &in_handler, &step).verdict;
    left->work = interrupted.work;
    if (verdict == SAFE_POINT_HERE && step != UNWIND_END)
        verdict = scan(&stack, last).verdict;
    g_free(stack.words);
    return verdict != SAFE_POINT_HERE && verdict != SAFE_POINT_IN_HANDLER;
}

/* A handler may have a stack of its own (SA_ONSTACK). */
gboolean
safe_points_holds(SafePoints *points, guint64 sp, guint *work)
{
    Allowance left = {.words = HANDLERS_MAX, .work = *work};
    gboolean holds = FALSE;
    make_all_ready(points);
    while (!holds && !is_exhausted(&left)) {
        Stack stack;
        Unwind interrupted;
        if (!read_stack(points, sp, &stack))
            break;
        const guint64 at = find_handler(&stack, &left, &interrupted);
        g_free(stack.words);
        if (at == 0)
            break;
        holds = is_excluded(points, interrupted, &left);
        const gboolean elsewhere = interrupted.sp < at || interrupted.sp >= stack.end;
        sp = elsewhere ? interrupted.sp : at + sizeof(guint64);
    }
    *work = left.work;
    return holds || is_exhausted(&left);
}

SafePoint
safe_points_judge(SafePoints *points, pid_t thread, const Registers *registers)
{
    make_all_ready(points);
    SafePoint point = judge(points, thread, registers);
    point.pc = registers_pc(&registers->general);
    point.waits = registers->call >= 0 && !registers->entering;
    point.top = registers_sp(&registers->general) - registers_red_zone;
    return point;
}
