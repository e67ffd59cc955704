/* SPDX-License-Identifier: Apache-2.0 */
#include "target/tracee.h"

#include "target/address-space.h"
#include "target/obstacle.h"
#include "target/remote-code.h"
#include "target/safe-point.h"
#include "target/target.h"
#include "target/threads.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#ifndef PTRACE_EVENT_STOP
#define PTRACE_EVENT_STOP 128
#endif
#ifndef PTRACE_O_SUSPEND_SECCOMP
#define PTRACE_O_SUSPEND_SECCOMP (1 << 21)
#endif

typedef enum {
    DETACHED,
    STOPPED,  /* where it was; nothing has been changed */
    ENTERING, /* a system call of its own; nothing has been changed */
    RETURNED, /* a call is over; it is about to return from our signal frame */
} State;

struct _Tracee {
    Process process;
    AddressSpace *space;
    RemoteCode code;
    CLibrary library;
    SafePoints *points;
    TraceeDeadlines deadlines;
    gboolean filtered; /* by seccomp, out of our reach */
    gboolean suspends; /* a filter, while attached */
    gboolean must_wait;
    TraceeWatch watch;

    State state;
    pid_t thread;
    Registers saved;
    ReturnPath path;
    guint64 scratch;
    guint64 error_address; /* of the thread's errno; 0: not known */
    gint32 error_number;
    gint64 stopped_at;
    guint64 pause_us;
};

typedef enum {
    WAIT_STOPPED,
    WAIT_GONE,
    WAIT_TIMEOUT,
} Wait;

const TraceeDeadlines tracee_deadlines_default = {.attach = 2000, .call = 5000};

enum {
    MS = 1000,       /* microseconds of g_get_monotonic_time() in one */
    STOP_MS = 100,   /* a thread that is not stopped by then is in an uninterruptible wait */
    BUSY_MS = 20000, /* or waits for a processor, among too many others */
    SPIN_US = 2000,  /* most stops come at once; where many want to run, to yield takes long itself */
    SHORT_SLEEP_US = 50,
    LONG_SLEEP_US = 1000,
    SHORT_US = 5000,
    FOLLOW_MS = 20,  /* a thread on its way to a system call */
    RETRY_US = 2000, /* before the threads are looked at once more */
    SYSCALL_STOP = SIGTRAP | 0x80,
    EVENT_SHIFT = 16,
};

/* What a fault of ours would raise; blocking these does not keep the kernel from killing. */
static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};

static int
event_of(int status)
{
    return status >> EVENT_SHIFT;
}

/* UNTIL: a moment of g_get_monotonic_time(). */
static Wait
wait_for_stop(pid_t thread, gint64 until, int *status)
{
    const gint64 begun = g_get_monotonic_time();
    for (;;) {
        pid_t got = waitpid(thread, status, __WALL | WNOHANG);
        if (got == thread)
            return WIFSTOPPED(*status) ? WAIT_STOPPED : WAIT_GONE;
        if (got < 0 && errno != EINTR)
            return WAIT_GONE;
        gint64 now = g_get_monotonic_time();
        if (now >= until)
            return WAIT_TIMEOUT;
        if (now - begun < SPIN_US)
            sched_yield();
        else
            g_usleep(now - begun < SHORT_US ? SHORT_SLEEP_US : LONG_SLEEP_US);
    }
}

static gboolean
set_gone(const Tracee *tracee, GError **error)
{
    g_set_error(error, TARGET_ERROR, TARGET_ERROR_GONE, "%s (%d) has ended", tracee->process.name,
                (int)tracee->process.pid);
    return FALSE;
}

static void
forget_thread(Tracee *tracee)
{
    if (tracee->stopped_at != 0)
        tracee->pause_us = (guint64)(g_get_monotonic_time() - tracee->stopped_at);
    tracee->state = DETACHED;
    tracee->thread = 0;
    tracee->stopped_at = 0;
    tracee->error_address = 0;
    registers_clear(&tracee->saved);
    g_clear_pointer(&tracee->path.bytes, g_byte_array_unref);
}

/* The thread has gone away, or does what nothing of ours expected; whatever is left of it is the kernel's to detach
 * when our own thread ends. */
static gboolean
lose_thread(Tracee *tracee, const char *doing, GError **error)
{
    int code = errno;
    pid_t thread = tracee->thread;
    forget_thread(tracee);
    if (!process_alive(tracee->process.pid, tracee->process.start_time) || code == ESRCH)
        return set_gone(tracee, error);
    g_set_error(error, TARGET_ERROR, TARGET_ERROR_PROTOCOL, "%s (%d): cannot %s of thread %d: %s", tracee->process.name,
                (int)tracee->process.pid, doing, (int)thread, g_strerror(code));
    return FALSE;
}

Tracee *
tracee_new(const Process *process, GError **error)
{
    g_autoptr(Tracee) tracee = g_new0(Tracee, 1);
    tracee->process = *process;
    tracee->deadlines = tracee_deadlines_default;
    if (!obstacle_check(process, error))
        return NULL;
    g_autoptr(GError) cause = NULL;
    tracee->space = address_space_new(process->pid, &cause);
    if (g_error_matches(cause, TARGET_ERROR, TARGET_ERROR_PERMISSION)) {
        obstacle_set_denied(process, EPERM, error);
        return NULL;
    }
    if (cause != NULL)
        g_propagate_error(error, g_steal_pointer(&cause));
    if (tracee->space == NULL || !remote_code_find(tracee->space, &tracee->code, error))
        return NULL;
    c_library_find(tracee->space, &tracee->library);
    tracee->points = safe_points_new(tracee->space, &tracee->code, &tracee->library);
    tracee->suspends = obstacle_seccomp(process) && obstacle_may_suspend_seccomp();
    tracee->filtered = obstacle_seccomp(process) && !tracee->suspends;
    return g_steal_pointer(&tracee);
}

void
tracee_free(Tracee *tracee)
{
    if (tracee == NULL)
        return;
    tracee_detach(tracee, NULL);
    safe_points_free(tracee->points);
    address_space_free(tracee->space);
    g_free(tracee);
}

void
tracee_set_deadlines(Tracee *tracee, const TraceeDeadlines *deadlines)
{
    tracee->deadlines = *deadlines;
}

gboolean
tracee_may_call_system(const Tracee *tracee)
{
    return !tracee->filtered;
}

void
tracee_avoid(Tracee *tracee, guint64 start, guint64 end)
{
    safe_points_avoid(tracee->points, start, end);
}

void
tracee_require_wait(Tracee *tracee)
{
    tracee->must_wait = TRUE;
}

void
tracee_require_foreign_wait(Tracee *tracee)
{
    safe_points_require_foreign_wait(tracee->points);
}

pid_t
tracee_thread(const Tracee *tracee)
{
    return tracee->thread;
}

guint64
tracee_scratch(const Tracee *tracee)
{
    return tracee->scratch;
}

guint64
tracee_pause_ns(const Tracee *tracee)
{
    return tracee->pause_us * 1000;
}

void
tracee_watch(Tracee *tracee, const TraceeWatch *watch)
{
    tracee->watch = watch != NULL ? *watch : (TraceeWatch){0};
}

gboolean
tracee_read(Tracee *tracee, guint64 address, void *bytes, gsize length, GError **error)
{
    if (remote_read(tracee->process.pid, address, bytes, length))
        return TRUE;
    g_set_error(error, TARGET_ERROR, TARGET_ERROR_PROTOCOL, "%s (%d): cannot read its memory: %s", tracee->process.name,
                (int)tracee->process.pid, g_strerror(errno));
    return FALSE;
}

gboolean
tracee_write(Tracee *tracee, guint64 address, const void *bytes, gsize length, GError **error)
{
    if (remote_write(tracee->process.pid, address, bytes, length))
        return TRUE;
    g_set_error(error, TARGET_ERROR, TARGET_ERROR_PROTOCOL, "%s (%d): cannot write its memory: %s",
                tracee->process.name, (int)tracee->process.pid, g_strerror(errno));
    return FALSE;
}

/* It will stop as soon as it is its turn; to turn away from it would leave it stopped then. */
static gboolean
waits_for_processor(pid_t thread)
{
    Process now;
    return process_read(thread, &now) && now.state == 'R';
}

/* Until the stop that PTRACE_INTERRUPT asked for, or one at a system call in its place. A signal on its way there is
 * delivered as it would have been. */
static Wait
wait_for_interrupt(pid_t thread)
{
    gint64 now = g_get_monotonic_time();
    const gint64 patience = now + (gint64)BUSY_MS * MS;
    int status;
    for (;; now = g_get_monotonic_time()) {
        Wait wait = wait_for_stop(thread, now + (gint64)STOP_MS * MS, &status);
        if (wait == WAIT_TIMEOUT && now < patience && waits_for_processor(thread))
            continue;
        if (wait != WAIT_STOPPED || event_of(status) == PTRACE_EVENT_STOP || WSTOPSIG(status) == SYSCALL_STOP)
            return wait;
        guintptr signal = event_of(status) == 0 ? (guintptr)WSTOPSIG(status) : 0;
        /* Any stop takes the place of the one that was asked for. */
        if (ptrace(PTRACE_CONT, thread, NULL, signal) != 0 || ptrace(PTRACE_INTERRUPT, thread, NULL, NULL) != 0)
            return WAIT_GONE;
    }
}

enum { NOT_ENTERING = -1 };

/* Its registers, and whether this is a safe point; if so, where our things go on its stack. ENTERING: the system call
 * that it is about to make. */
static SafePointVerdict
examine(Tracee *tracee, gint64 entering)
{
    guint64 top;
    registers_clear(&tracee->saved);
    if (!registers_read(tracee->thread, &tracee->saved))
        return SAFE_POINT_NONE;
    if (entering != NOT_ENTERING)
        tracee->saved.restarts = entering;
    SafePointVerdict verdict = safe_points_judge(tracee->points, tracee->thread, &tracee->saved, &top);
    /* Only the program's own system call may be made: where none was interrupted, our way back is one it may not. */
    if (verdict == SAFE_POINT_HERE && (tracee->filtered || tracee->must_wait) && tracee->saved.restarts < 0)
        verdict = SAFE_POINT_NONE;
    if (verdict != SAFE_POINT_HERE)
        return verdict;
    tracee->scratch = (top - TRACEE_SCRATCH) & ~(guint64)0xf;
    tracee->path = registers_return_path(&tracee->saved, tracee->scratch, &tracee->code);
    return verdict;
}

/* Nothing has been called. A signal that is about to be delivered is what the wait would have ended for. */
static gboolean
take_up(const Tracee *tracee)
{
    return threads_signal_pending(tracee->process.pid, tracee->thread, tracee->saved.blocked) ||
           registers_take_up(tracee->thread, &tracee->saved);
}

/* It has arrived at a system call, or left one. */
static gboolean
examine_system_call(Tracee *tracee)
{
    struct __ptrace_syscall_info info;
    if (ptrace(PTRACE_GET_SYSCALL_INFO, tracee->thread, sizeof(info), &info) <= 0 ||
        info.op != PTRACE_SYSCALL_INFO_ENTRY || !registers_is_programs((gint64)info.entry.nr))
        return FALSE;
    tracee->stopped_at = g_get_monotonic_time();
    tracee->state = ENTERING;
    return examine(tracee, (gint64)info.entry.nr) == SAFE_POINT_HERE;
}

/* From one stop to the next; FALSE: not by UNTIL, or it has ended. */
static gboolean
follow_once(Tracee *tracee, gint64 until, guintptr *deliver, int *status)
{
    tracee->state = STOPPED;
    return ptrace(PTRACE_SYSCALL, tracee->thread, NULL, *deliver) == 0 &&
           wait_for_stop(tracee->thread, until, status) == WAIT_STOPPED;
}

/* Lets a thread that is busy run to where a system call of the program's begins. TRUE: it is stopped there, at a safe
 * point; otherwise it is stopped somewhere, or has ended. */
static gboolean
follow(Tracee *tracee)
{
    gint64 until = g_get_monotonic_time() + (gint64)FOLLOW_MS * MS;
    guintptr deliver = 0;
    int status;
    if (!take_up(tracee))
        return FALSE;
    while (g_get_monotonic_time() < until && follow_once(tracee, until, &deliver, &status)) {
        gboolean at_call = event_of(status) == 0 && WSTOPSIG(status) == SYSCALL_STOP;
        deliver = event_of(status) == 0 && !at_call ? (guintptr)WSTOPSIG(status) : 0;
        if (at_call && examine_system_call(tracee))
            return TRUE;
    }
    if (tracee->state == STOPPED && ptrace(PTRACE_INTERRUPT, tracee->thread, NULL, NULL) == 0 &&
        wait_for_interrupt(tracee->thread) == WAIT_STOPPED)
        examine(tracee, NOT_ENTERING);
    return FALSE;
}

/* TRUE: it is stopped at a safe point. Otherwise it runs on; *DENIED gets an errno if it was not ours to stop. */
static gboolean
try_thread(Tracee *tracee, pid_t thread, int *denied)
{
    guintptr options = PTRACE_O_TRACESYSGOOD;
    if (tracee->suspends)
        options |= PTRACE_O_SUSPEND_SECCOMP;
    if (ptrace(PTRACE_SEIZE, thread, NULL, options) != 0) {
        int code = errno;
        *denied = code != ESRCH && !obstacle_traced_by_us(thread) ? code : *denied;
        return FALSE;
    }
    tracee->thread = thread;
    gint64 before = g_get_monotonic_time();
    if (ptrace(PTRACE_INTERRUPT, thread, NULL, NULL) != 0 || wait_for_interrupt(thread) != WAIT_STOPPED) {
        forget_thread(tracee);
        return FALSE;
    }
    tracee->stopped_at = before;
    tracee->state = STOPPED;
    if (examine(tracee, NOT_ENTERING) == SAFE_POINT_HERE ||
        (tracee->must_wait && tracee->saved.restarts < 0 && follow(tracee)))
        return TRUE;
    tracee_detach(tracee, NULL);
    return FALSE;
}

static gboolean
set_no_safe_point(const Tracee *tracee, GError **error)
{
    g_set_error(
        error, TARGET_ERROR, TARGET_ERROR_SILENT,
        "no thread of %s (%d) was at a point where jemalloc could be called within %g s; it was left as it was, "
        "try again",
        tracee->process.name, (int)tracee->process.pid, tracee->deadlines.attach / 1000.0);
    return FALSE;
}

gboolean
tracee_attach(Tracee *tracee, GError **error)
{
    g_return_val_if_fail(tracee->state == DETACHED, FALSE);
    gint64 until = g_get_monotonic_time() + (gint64)tracee->deadlines.attach * MS;
    do {
        int denied = 0;
        g_autoptr(GArray) threads = threads_by_promise(tracee->process.pid);
        for (guint i = 0; i < threads->len && (i == 0 || g_get_monotonic_time() < until); i++)
            if (try_thread(tracee, g_array_index(threads, pid_t, i), &denied))
                return TRUE;
        if (!process_alive(tracee->process.pid, tracee->process.start_time))
            return set_gone(tracee, error);
        if (denied != 0) {
            obstacle_set_denied(&tracee->process, denied, error);
            return FALSE;
        }
        g_usleep(RETRY_US);
    } while (g_get_monotonic_time() < until);
    return set_no_safe_point(tracee, error);
}

static guint64
everything_blocked(void)
{
    guint64 blocked = ~G_GUINT64_CONSTANT(0);
    for (gsize i = 0; i < G_N_ELEMENTS(faults); i++)
        blocked &= ~(G_GUINT64_CONSTANT(1) << (faults[i] - 1));
    return blocked;
}

static gboolean
set_blocked(pid_t thread, guint64 blocked)
{
    return ptrace(PTRACE_SETSIGMASK, thread, sizeof(blocked), &blocked) == 0;
}

/*
 * The order makes the way back hold at every moment: memory below the stack pointer first, which nobody reads yet; then
 * all general registers at once, with which the call and its return are complete; only then what the return undoes.
 */
static gboolean
enter(Tracee *tracee, const GeneralRegisters *general)
{
    const GByteArray *bytes = tracee->path.bytes;
    GeneralRegisters skipping = *general;
    if (!remote_write(tracee->process.pid, tracee->path.bottom, bytes->data, bytes->len))
        return FALSE;
    /* About to make a system call, ours (rt_sigreturn) or its own: not that one, then. */
    gboolean set = tracee->state == STOPPED ? registers_write_general(tracee->thread, general)
                                            : registers_replace_call(tracee->thread, &skipping, -1);
    return set && (tracee->state == RETURNED || set_blocked(tracee->thread, everything_blocked()));
}

static gboolean
signal_is_handled(const Tracee *tracee, int signal)
{
    return (threads_caught_signals(tracee->process.pid) >> (signal - 1) & 1) != 0;
}

/* Leaves it to finish by itself: it keeps its way back. SIGNAL: to deliver, or 0. */
static gboolean
leave(Tracee *tracee, GError **error)
{
    if (ptrace(PTRACE_INTERRUPT, tracee->thread, NULL, NULL) == 0 && wait_for_interrupt(tracee->thread) == WAIT_STOPPED)
        ptrace(PTRACE_DETACH, tracee->thread, NULL, NULL);
    forget_thread(tracee);
    if (!process_alive(tracee->process.pid, tracee->process.start_time))
        return set_gone(tracee, error);
    g_set_error(error, TARGET_ERROR, TARGET_ERROR_SILENT,
                "%s (%d) has not finished within %g s (another thread holds a lock of jemalloc, or it is stopped); the "
                "call was left to finish by itself",
                tracee->process.name, (int)tracee->process.pid, tracee->deadlines.call / 1000.0);
    return FALSE;
}

/* The called function crashed. Going back to where the thread was spares the program the signal; a lock that jemalloc
 * held stays held, which is said. */
static gboolean
back_out(Tracee *tracee, int signal, GError **error)
{
    pid_t thread = tracee->thread;
    gboolean restored = registers_write_extended(thread, &tracee->saved) &&
                        registers_write_general(thread, &tracee->saved.general) &&
                        registers_take_up(thread, &tracee->saved) && set_blocked(thread, tracee->saved.blocked) &&
                        ptrace(PTRACE_DETACH, thread, NULL, NULL) == 0;
    if (!restored)
        return lose_thread(tracee, "restore the registers", error);
    forget_thread(tracee);
    g_set_error(
        error, TARGET_ERROR, TARGET_ERROR_PROTOCOL,
        "jemalloc of %s (%d) raised %s when it was called; thread %d was put back where it was, but jemalloc may "
        "be left locked",
        tracee->process.name, (int)tracee->process.pid, g_strsignal(signal), (int)thread);
    return FALSE;
}

static gboolean
ask_before(Tracee *tracee, const struct __ptrace_syscall_info *info, gboolean *skipped, TraceeSystemCall *call)
{
    *call = (TraceeSystemCall){.number = (gint64)info->entry.nr};
    for (guint i = 0; i < REGISTERS_ARGUMENTS; i++)
        call->arguments[i] = info->entry.args[i];
    *skipped = FALSE;
    if (tracee->watch.before == NULL)
        return TRUE;
    TraceeVerdict verdict = tracee->watch.before(call, tracee->watch.data);
    GeneralRegisters general;
    if (verdict == TRACEE_PROCEED)
        return TRUE;
    if (!registers_read_general(tracee->thread, &general))
        return FALSE;
    for (guint i = 0; i < REGISTERS_ARGUMENTS; i++)
        registers_set_argument(&general, i, call->arguments[i]);
    *skipped = verdict == TRACEE_SKIP;
    /* A filter is asked about no call as well, and may kill for it; the call itself is one it knows. */
    gint64 number = *skipped && !tracee->filtered ? -1 : call->number;
    return registers_replace_call(tracee->thread, &general, number);
}

static gboolean
tell_after(Tracee *tracee, const struct __ptrace_syscall_info *info, gboolean skipped, TraceeSystemCall *call)
{
    if (skipped) {
        GeneralRegisters general;
        if (!registers_read_general(tracee->thread, &general))
            return FALSE;
        registers_set_result(&general, (guint64)call->result);
        return registers_write_general(tracee->thread, &general);
    }
    call->result = info->exit.rval;
    if (tracee->watch.after != NULL)
        tracee->watch.after(call, tracee->watch.data);
    return TRUE;
}

typedef enum {
    RUN_ON,
    RUN_RETURNED,
    RUN_FAILED, /* errno */
} Run;

/* A system call of the function begins or ends. */
static Run
at_system_call(Tracee *tracee, gboolean *skipped, TraceeSystemCall *call)
{
    struct __ptrace_syscall_info info;
    if (ptrace(PTRACE_GET_SYSCALL_INFO, tracee->thread, sizeof(info), &info) <= 0)
        return RUN_FAILED;
    if (info.op == PTRACE_SYSCALL_INFO_EXIT)
        return tell_after(tracee, &info, *skipped, call) ? RUN_ON : RUN_FAILED;
    if ((gint64)info.entry.nr == registers_sigreturn && info.stack_pointer == tracee->path.frame)
        return RUN_RETURNED;
    return ask_before(tracee, &info, skipped, call) ? RUN_ON : RUN_FAILED;
}

/* Runs until the function has come back. */
static gboolean
run(Tracee *tracee, GError **error)
{
    gint64 until = g_get_monotonic_time() + (gint64)tracee->deadlines.call * MS;
    TraceeSystemCall call = {0};
    gboolean skipped = FALSE;
    guintptr deliver = 0;
    for (;;) {
        int status;
        if (ptrace(PTRACE_SYSCALL, tracee->thread, NULL, deliver) != 0)
            return lose_thread(tracee, "continue a call", error);
        Wait wait = wait_for_stop(tracee->thread, until, &status);
        if (wait == WAIT_TIMEOUT)
            return leave(tracee, error);
        if (wait == WAIT_GONE) {
            errno = ESRCH;
            return lose_thread(tracee, "wait for the end of a call", error);
        }
        deliver = 0;
        if (event_of(status) != 0)
            continue;
        if (WSTOPSIG(status) == SYSCALL_STOP) {
            Run step = at_system_call(tracee, &skipped, &call);
            if (step == RUN_RETURNED)
                break;
            if (step == RUN_FAILED)
                return lose_thread(tracee, "follow a call", error);
            continue;
        }
        deliver = (guintptr)WSTOPSIG(status);
        if (WSTOPSIG(status) != SIGSTOP && WSTOPSIG(status) != SIGKILL && !signal_is_handled(tracee, WSTOPSIG(status)))
            return back_out(tracee, WSTOPSIG(status), error);
    }
    tracee->state = RETURNED;
    return TRUE;
}

static gboolean
fetch_result(Tracee *tracee, guint64 *result, GError **error)
{
    GeneralRegisters general;
    guint64 value = 0;
    if (tracee->path.result != 0) {
        if (!tracee_read(tracee, tracee->path.result, &value, sizeof(value), error))
            return FALSE;
    } else {
        if (!registers_read_general(tracee->thread, &general))
            return lose_thread(tracee, "read the registers", error);
        value = registers_result(&general);
    }
    if (result != NULL)
        *result = value;
    return TRUE;
}

/* The interrupted system call is made here and now, in place of rt_sigreturn. Registers last: up to then the signal
 * frame holds. */
static gboolean
restart(Tracee *tracee)
{
    GeneralRegisters general = registers_restart(&tracee->saved);
    return set_blocked(tracee->thread, tracee->saved.blocked) &&
           registers_write_extended(tracee->thread, &tracee->saved) &&
           registers_replace_call(tracee->thread, &general, tracee->saved.restarts);
}

/* From the end of one call to where it was stopped at first, without a system call that is not the program's own. */
static gboolean
renew(Tracee *tracee)
{
    if (!restart(tracee) || ptrace(PTRACE_INTERRUPT, tracee->thread, NULL, NULL) != 0 ||
        ptrace(PTRACE_CONT, tracee->thread, NULL, NULL) != 0 || wait_for_interrupt(tracee->thread) != WAIT_STOPPED)
        return FALSE;
    tracee->state = STOPPED;
    g_clear_pointer(&tracee->path.bytes, g_byte_array_unref);
    registers_clear(&tracee->saved);
    return TRUE;
}

static gboolean
make(Tracee *tracee, const GeneralRegisters *general, guint64 *result, GError **error)
{
    if (!enter(tracee, general))
        return lose_thread(tracee, "set the registers", error);
    return run(tracee, error) && fetch_result(tracee, result, error);
}

/* A function may change errno behind the program's back; it is put back at the end. */
static gboolean
save_errno(Tracee *tracee, GError **error)
{
    const guint64 nothing[REGISTERS_ARGUMENTS] = {0};
    guint64 address;
    if (tracee->library.errno_location == 0 || tracee->error_address != 0)
        return TRUE;
    GeneralRegisters general =
        registers_call(&tracee->saved, &tracee->path, &tracee->code, tracee->library.errno_location, nothing);
    if (!make(tracee, &general, &address, error) ||
        !tracee_read(tracee, address, &tracee->error_number, sizeof(tracee->error_number), error))
        return FALSE;
    tracee->error_address = address;
    return TRUE;
}

/* Under a filter every call begins where the thread was stopped at first. */
static gboolean
get_ready(Tracee *tracee, GError **error)
{
    if (tracee->state != RETURNED || !tracee->filtered)
        return TRUE;
    if (!renew(tracee))
        return lose_thread(tracee, "take up the wait", error);
    if (examine(tracee, NOT_ENTERING) == SAFE_POINT_HERE)
        return TRUE;
    tracee_detach(tracee, NULL);
    return set_no_safe_point(tracee, error);
}

gboolean
tracee_call(Tracee *tracee, guint64 function, const guint64 *arguments, guint n, guint64 *result, GError **error)
{
    g_return_val_if_fail(tracee->state != DETACHED && n <= REGISTERS_ARGUMENTS, FALSE);
    guint64 all[REGISTERS_ARGUMENTS] = {0};
    for (guint i = 0; i < n; i++)
        all[i] = arguments[i];
    if (!get_ready(tracee, error) || !save_errno(tracee, error) || !get_ready(tracee, error))
        return FALSE;
    GeneralRegisters general = registers_call(&tracee->saved, &tracee->path, &tracee->code, function, all);
    return make(tracee, &general, result, error);
}

gboolean
tracee_system_call(Tracee *tracee, gint64 number, const guint64 *arguments, guint n, gint64 *result, GError **error)
{
    g_return_val_if_fail(tracee->state != DETACHED && n <= REGISTERS_ARGUMENTS, FALSE);
    guint64 all[REGISTERS_ARGUMENTS] = {0};
    for (guint i = 0; i < n; i++)
        all[i] = arguments[i];
    if (!get_ready(tracee, error) || !save_errno(tracee, error) || !get_ready(tracee, error))
        return FALSE;
    GeneralRegisters general = registers_system_call(&tracee->saved, &tracee->path, &tracee->code, number, all);
    guint64 value;
    if (!make(tracee, &general, &value, error))
        return FALSE;
    *result = (gint64)value;
    return TRUE;
}

/* While its filter, which may not know rt_sigreturn, is still suspended. */
static gboolean
let_return(Tracee *tracee)
{
    int status;
    gint64 until = g_get_monotonic_time() + (gint64)STOP_MS * MS;
    return ptrace(PTRACE_SYSCALL, tracee->thread, NULL, NULL) == 0 &&
           wait_for_stop(tracee->thread, until, &status) == WAIT_STOPPED;
}

/*
 * rt_sigreturn brings everything back, and a system call that was interrupted is made once more. Only how a wait with a
 * timeout is taken up would be forgotten; that is done at once instead.
 */
static gboolean
come_back(Tracee *tracee)
{
    if (tracee->error_address != 0 &&
        !remote_write(tracee->process.pid, tracee->error_address, &tracee->error_number, sizeof(tracee->error_number)))
        return FALSE;
    if (tracee->state == RETURNED && tracee->filtered)
        return renew(tracee) && registers_read(tracee->thread, &tracee->saved) && take_up(tracee);
    if (tracee->state != RETURNED)
        return take_up(tracee);
    if (tracee->saved.restarts == SYS_restart_syscall)
        return restart(tracee);
    return !tracee->suspends || let_return(tracee);
}

gboolean
tracee_detach(Tracee *tracee, GError **error)
{
    if (tracee->state == DETACHED)
        return TRUE;
    if (!come_back(tracee) || ptrace(PTRACE_DETACH, tracee->thread, NULL, NULL) != 0)
        return lose_thread(tracee, "restore the registers", error);
    forget_thread(tracee);
    return TRUE;
}
