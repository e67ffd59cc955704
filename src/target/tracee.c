/* SPDX-License-Identifier: Apache-2.0 */
#include "target/tracee.h"

#include "target/address-space.h"
#include "target/loaded.h"
#include "target/obstacle.h"
#include "target/refusal.h"
#include "target/remote-code.h"
#include "target/safe-point.h"
#include "target/suspension.h"
#include "target/target.h"
#include "target/threads.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <unistd.h>

struct _Tracee {
    Process process;
    AddressSpace *space;
    RemoteCode code;
    CLibrary library;
    SafePoints *points;
    TraceeDeadlines deadlines;
    TracedFilter of_filtered; /* for a thread with a filter */
    TracedFilter filter;      /* for the stopped thread */
    gboolean must_wait;
    TracedPermit permit; /* for the called functions */
    TraceeWatch watch;
    TraceProgram
        subject; /* the one that SPACE describes: all is read and written there, whatever the process executes */
    ProcessProgram program; /* the same program: compared too, since another process may keep the memory */

    Traced *traced; /* NULL: no thread is stopped */
    pid_t thread;
    SafePoint point; /* the last result */
    guint64 scratch;
    guint64 error_address; /* address of the thread's errno; 0: unknown */
    gint32 error_number;
    gboolean error_saved;    /* ERROR_NUMBER is the program's value; the current one may be from a call */
    gboolean cancel_changed; /* the thread's cancellation is disabled; CANCEL_STATE is the program's setting */
    gint32 cancel_state;
    gint64 stopped_at;
    gint64 calls_until; /* deadline of all calls of the visit, to limit how long the thread is stopped */
    guint64 pause_us;
};

const TraceeDeadlines tracee_deadlines_default = {.attach = 2000, .call = 5000};

enum {
    OWN_SCRATCH = 16,      /* bytes after TRACEE_SCRATCH for arguments of our own */
    MS = 1000,             /* microseconds of g_get_monotonic_time() in a millisecond */
    FOLLOW_MS = 20,        /* for a running thread to enter a system call */
    RETRY_US = 2000,       /* initial wait before the threads are tried again, */
    RETRY_MAX_US = 32000,  /* which grows up to this while nothing changes */
    UNCHANGED_MS = 100,    /* after which no change is expected */
    UNSTOPPABLE_MS = 1000, /* a wait for a disk may take that long */
};

static gboolean
set_gone(const Tracee *tracee, GError **error)
{
    g_set_error(error, TARGET_ERROR, OUTCOME_GONE, "%s (%d) has ended", tracee->process.name, (int)tracee->process.pid);
    return FALSE;
}

static gboolean
set_replaced(const Tracee *tracee, GError **error)
{
    g_set_error(error, TARGET_ERROR, OUTCOME_GONE, "%s (%d) has executed another program", tracee->process.name,
                (int)tracee->process.pid);
    return FALSE;
}

static void
forget_thread(Tracee *tracee)
{
    if (tracee->stopped_at != 0)
        tracee->pause_us = (guint64)(g_get_monotonic_time() - tracee->stopped_at);
    g_clear_pointer(&tracee->traced, traced_free);
    tracee->thread = 0;
    tracee->stopped_at = 0;
    tracee->error_address = 0;
    tracee->error_saved = FALSE;
    tracee->cancel_changed = FALSE;
}

/* The thread has ended, or is in an unexpected state; the kernel detaches it when the tracing thread ends. */
static gboolean
lose_thread(Tracee *tracee, const char *doing, GError **error)
{
    int code = errno;
    pid_t thread = tracee->thread;
    forget_thread(tracee);
    if (!process_alive(tracee->process.pid, tracee->process.start_time) || code == ESRCH)
        return set_gone(tracee, error);
    g_set_error(error, TARGET_ERROR, OUTCOME_PROTOCOL, "%s (%d): cannot %s of thread %d: %s", tracee->process.name,
                (int)tracee->process.pid, doing, (int)thread, g_strerror(code));
    return FALSE;
}

Tracee *
tracee_new(const Process *process, GError **error)
{
    g_autoptr(Tracee) tracee = g_new0(Tracee, 1);
    tracee->process = *process;
    tracee->deadlines = tracee_deadlines_default;
    tracee->subject = (TraceProgram){.pid = process->pid, .start_time = process->start_time, .memory = -1};
    obstacle_passes(process->pid);
    if (!obstacle_check(process, error))
        return NULL;
    tracee->subject.memory = address_space_open(process->pid);
    if (tracee->subject.memory < 0 || !process_program(process->pid, &tracee->program)) {
        if (errno != ENOENT && errno != ESRCH)
            obstacle_set_denied(process, errno, error);
        else
            set_gone(tracee, error);
        return NULL;
    }
    g_autoptr(GError) cause = NULL;
    tracee->space = address_space_new(process->pid, &cause);
    if (g_error_matches(cause, TARGET_ERROR, OUTCOME_PERMISSION)) {
        obstacle_set_denied(process, EPERM, error);
        return NULL;
    }
    if (cause != NULL)
        g_propagate_error(error, g_steal_pointer(&cause));
    if (tracee->space == NULL)
        return NULL;
    g_autoptr(GArray) objects = loaded_objects(tracee->space);
    if (!remote_code_find(tracee->space, objects, &tracee->code, error))
        return NULL;
    c_library_find(tracee->space, objects, &tracee->library);
    tracee->points = safe_points_new(tracee->space, &tracee->code, &tracee->library, tracee->program.stack);
    g_autoptr(GArray) replaced = c_library_find_replaced(tracee->space, objects);
    safe_points_avoid_replaced(tracee->points, replaced);
    tracee->of_filtered = obstacle_may_suspend_seccomp() ? TRACED_FILTER_SUSPENDED : TRACED_FILTERED;
    return g_steal_pointer(&tracee);
}

void
tracee_free(Tracee *tracee)
{
    if (tracee == NULL)
        return;
    if (tracee->subject.memory >= 0)
        close(tracee->subject.memory);
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
    return tracee->filter != TRACED_FILTERED;
}

gboolean
tracee_suspends_filter(const Tracee *tracee)
{
    return tracee->filter == TRACED_FILTER_SUSPENDED;
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
    safe_points_avoid_holders(tracee->points, &tracee->library);
}

void
tracee_permit_all(Tracee *tracee)
{
    tracee->permit = TRACED_PERMIT_ALL;
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
    if (address_space_read(tracee->subject.memory, address, bytes, length))
        return TRUE;
    g_set_error(error, TARGET_ERROR, OUTCOME_PROTOCOL, "%s (%d): cannot read its memory: %s", tracee->process.name,
                (int)tracee->process.pid, g_strerror(errno));
    return FALSE;
}

char *
tracee_read_string(const Tracee *tracee, guint64 address, gsize limit)
{
    return address_space_read_string(tracee->subject.memory, address, limit);
}

gboolean
tracee_write(Tracee *tracee, guint64 address, const void *bytes, gsize length, GError **error)
{
    if (address_space_write(tracee->subject.memory, address, bytes, length))
        return TRUE;
    g_set_error(error, TARGET_ERROR, OUTCOME_PROTOCOL, "%s (%d): cannot write its memory: %s", tracee->process.name,
                (int)tracee->process.pid, g_strerror(errno));
    return FALSE;
}

/* Whether the thread still executes the program whose address space was examined. */
static gboolean
is_same_program(const Tracee *tracee, guint64 stack_pointer)
{
    ProcessProgram now;
    guint8 byte;
    return address_space_read(tracee->subject.memory, stack_pointer, &byte, sizeof(byte)) &&
           process_program(tracee->process.pid, &now) && process_program_equal(&now, &tracee->program);
}

/* Whether what is written to our descriptor, at unused ADDRESS below its stack, is what the stopped thread has there. A
 * process may keep the memory of the earlier program, and have any address there, so that the check above is not
 * enough. The kernel reads it only for the thread that we trace. */
static gboolean
has_our_memory(const Tracee *tracee, guint64 address)
{
    const guint64 mark = (guint64)g_random_int() << 32 | g_random_int();
    if (!address_space_write(tracee->subject.memory, address, &mark, sizeof(mark)))
        return FALSE;
    errno = 0;
    const guint64 found = (guint64)ptrace(PTRACE_PEEKDATA, tracee->thread, (gpointer)(guintptr)address, NULL);
    return errno == 0 && found == mark;
}

gboolean
tracee_check_program(const Tracee *tracee, GError **error)
{
    const Process *process = &tracee->process;
    ProcessProgram now;
    guint8 byte;
    /* Nothing is read once the last process with this memory has left it. */
    const gboolean left = pread(tracee->subject.memory, &byte, sizeof(byte), (off_t)tracee->program.stack) == 0;
    const gboolean known = process_program(process->pid, &now);
    const gboolean hidden = !known && errno == EACCES;
    if (!process_alive(process->pid, process->start_time) || (left && !known && !hidden))
        return set_gone(tracee, error);
    if (left || (known && !process_program_equal(&now, &tracee->program)))
        return set_replaced(tracee, error);
    return TRUE;
}

ProcessProgram
tracee_program(const Tracee *tracee)
{
    return tracee->program;
}

/* A thread can install a filter at any time before it is stopped. Only the program's own system calls may be made under
 * one that is not suspended: if none was interrupted, our return may be a forbidden one. */
static void
note_filter(Tracee *tracee, Traced *traced)
{
    tracee->filter = obstacle_thread_has_filter(tracee->thread) ? tracee->of_filtered : TRACED_UNFILTERED;
    traced_set_filter(traced, tracee->filter);
    safe_points_require_wait(tracee->points, tracee->must_wait || tracee->filter == TRACED_FILTERED);
}

/* Borrows the thread if that is possible at its current stop; otherwise POINT has the reason. */
static gboolean
borrow(Tracee *tracee, Traced *traced)
{
    const Registers *registers = traced_registers(traced);
    tracee->point = (SafePoint){.verdict = SAFE_POINT_MOVING};
    note_filter(tracee, traced);
    if (registers == NULL || !traced_may_borrow(traced) || !is_same_program(tracee, registers_sp(&registers->general)))
        return FALSE;
    tracee->point = safe_points_judge(tracee->points, tracee->thread, registers);
    tracee->point.waits |= traced_place(traced) == TRACED_AT_JOB_STOP;
    if (tracee->point.verdict == SAFE_POINT_HERE &&
        suspension_is_near(tracee->points, tracee->process.pid, tracee->thread))
        tracee->point.verdict = SAFE_POINT_SUSPENDED;
    if (tracee->point.verdict != SAFE_POINT_HERE)
        return FALSE;
    tracee->scratch = (tracee->point.top - TRACEE_SCRATCH - OWN_SCRATCH) & ~(guint64)0xf;
    if (!has_our_memory(tracee, tracee->scratch - sizeof(guint64))) { /* where the return path is laid out */
        tracee->point.verdict = SAFE_POINT_MOVING;
        return FALSE;
    }
    return traced_borrow(traced, tracee->scratch, &tracee->code);
}

/* Whether the system call that begins here is one of the program's, at a safe point. */
static gboolean
suits(Traced *traced, gpointer data)
{
    Tracee *tracee = data;
    const Registers *registers = traced_registers(traced);
    tracee->stopped_at = g_get_monotonic_time();
    return registers != NULL && registers_is_programs(registers->call) && borrow(tracee, traced);
}

/* Lets a busy thread run until the program enters a system call. */
static gboolean
follow(Tracee *tracee, Traced *traced)
{
    const Registers *registers = traced_registers(traced);
    gint64 until = g_get_monotonic_time() + (gint64)FOLLOW_MS * MS;
    return tracee->must_wait && registers != NULL && registers->restarts < 0 &&
           traced_follow(traced, until, suits, tracee);
}

typedef enum {
    TRY_BORROWED, /* it is stopped at a safe point */
    TRY_NEXT,     /* it continues; try the next thread */
    TRY_STUCK,    /* it stays traced until our own thread ends */
} Try;

/* Tries to borrow THREAD. *DENIED is set to an errno value if stopping it is not permitted. */
static Try
try_thread(Tracee *tracee, pid_t thread, int *denied)
{
    if (threads_is_in_transfer(tracee->process.pid, thread)) {
        tracee->point.verdict = SAFE_POINT_IN_TRANSFER;
        return TRY_NEXT;
    }
    g_autoptr(Traced) traced = traced_seize(&trace_kernel_linux, &tracee->subject, thread);
    if (traced == NULL && errno != ESRCH && errno != ESTALE) {
        if (obstacle_traced_by_us(thread) || obstacle_passes(thread))
            return TRY_NEXT;
        /* Another jescope may have detached between the attempt and the search for the tracer. */
        traced = traced_seize(&trace_kernel_linux, &tracee->subject, thread);
    }
    if (traced == NULL && errno == ESTALE)
        return TRY_STUCK;
    if (traced == NULL) {
        *denied = errno == ESRCH ? *denied : errno;
        return TRY_NEXT;
    }
    gint64 before = g_get_monotonic_time();
    TracedOutcome outcome = traced_stop(traced);
    if (outcome == TRACED_STUCK)
        return TRY_STUCK;
    tracee->thread = thread;
    tracee->stopped_at = before;
    if (outcome == TRACED_STOPPED && (borrow(tracee, traced) || follow(tracee, traced))) {
        tracee->traced = g_steal_pointer(&traced);
        return TRY_BORROWED;
    }
    Try next = traced_release(traced) || errno != ETIMEDOUT ? TRY_NEXT : TRY_STUCK;
    forget_thread(tracee);
    return next;
}

/* A visit, retried as often as necessary. */
typedef struct {
    Tracee *tracee;
    TraceeVisit visit;
    gpointer data;
    GError **error;
    gint64 until;
    GArray *stuck;    /* of pid_t: threads that cannot be stopped, or have ended just before they were seized */
    GArray *refusals; /* of Refusal, one per thread */
    gint64 since;     /* when REFUSALS last changed */
    gint64 denied;    /* when the current series of denied attempts began; 0: the last one was not denied */
    gboolean again;
    gboolean done;
} Visit;

static gboolean
is_stuck(const Visit *visit, pid_t thread)
{
    for (guint i = 0; i < visit->stuck->len; i++)
        if (g_array_index(visit->stuck, pid_t, i) == thread)
            return TRUE;
    return FALSE;
}

/* Tries the threads in turn; adds a Refusal for each to REFUSALS. */
static Try
try_threads(Visit *visit, GArray *refusals, int *denied)
{
    Tracee *tracee = visit->tracee;
    g_autoptr(GArray) threads = threads_by_promise(tracee->process.pid);
    for (guint i = 0; i < threads->len && (i == 0 || g_get_monotonic_time() < visit->until); i++) {
        pid_t thread = g_array_index(threads, pid_t, i);
        tracee->point = (SafePoint){.verdict = SAFE_POINT_MOVING};
        Try tried = is_stuck(visit, thread) ? TRY_NEXT : try_thread(tracee, thread, denied);
        if (tried == TRY_STUCK)
            g_array_append_val(visit->stuck, thread);
        if (tried != TRY_NEXT)
            return tried;
        const Refusal refusal = {thread, tracee->point};
        g_array_append_val(refusals, refusal);
    }
    return TRY_NEXT;
}

/* Returns for how many milliseconds each thread has been found at the same place. */
static guint
note_refusals(Visit *visit, GArray *refusals)
{
    gint64 now = g_get_monotonic_time();
    if (visit->since == 0 || !refusals_are_same(refusals, visit->refusals))
        visit->since = now;
    g_array_unref(visit->refusals);
    visit->refusals = g_array_ref(refusals);
    return (guint)((now - visit->since) / MS);
}

static gboolean
set_refused(const Visit *visit, guint unchanged, GError **error)
{
    const Tracee *tracee = visit->tracee;
    refusals_set(visit->refusals, &tracee->process, tracee->space, unchanged, tracee->deadlines.attach, error);
    return FALSE;
}

/* Stops one thread at a safe point. FALSE with an error, or with AGAIN set. */
static gboolean
attach(Visit *visit)
{
    Tracee *tracee = visit->tracee;
    gulong pause = RETRY_US;
    do {
        int denied = 0;
        g_autoptr(GArray) refusals = g_array_new(FALSE, FALSE, sizeof(Refusal));
        visit->again = FALSE;
        if (!tracee_check_program(tracee, visit->error))
            return FALSE;
        Try tried = try_threads(visit, refusals, &denied);
        visit->again = tried == TRY_STUCK;
        if (tried != TRY_NEXT)
            return tried == TRY_BORROWED;
        if (!process_alive(tracee->process.pid, tracee->process.start_time))
            return set_gone(tracee, visit->error);
        /* Another jescope may have traced it just then. */
        visit->denied = denied == 0 ? 0 : visit->denied != 0 ? visit->denied : g_get_monotonic_time();
        if (denied != 0 && g_get_monotonic_time() - visit->denied >= (gint64)UNCHANGED_MS * MS) {
            obstacle_set_denied(&tracee->process, denied, visit->error);
            return FALSE;
        }
        guint unchanged = note_refusals(visit, refusals);
        if (unchanged >= (refusals->len > 0 ? UNCHANGED_MS : UNSTOPPABLE_MS))
            return set_refused(visit, unchanged, visit->error);
        pause = unchanged > 0 ? MIN(2 * pause, RETRY_MAX_US) : RETRY_US;
        g_usleep(pause);
    } while (g_get_monotonic_time() < visit->until);
    return set_refused(visit, 0, visit->error);
}

/* Restores errno, which a called function may have changed, before the program resumes. */
static gboolean
restore_errno(Tracee *tracee)
{
    gboolean saved = tracee->error_saved;
    tracee->error_saved = FALSE;
    return !saved || address_space_write(tracee->subject.memory, tracee->error_address, &tracee->error_number,
                                         sizeof(tracee->error_number));
}

static gboolean
set_left(Tracee *tracee, GError **error)
{
    forget_thread(tracee);
    if (!process_alive(tracee->process.pid, tracee->process.start_time))
        return set_gone(tracee, error);
    g_set_error(error, TARGET_ERROR, OUTCOME_SILENT,
                "%s (%d) has not finished within %g s (another thread holds a lock of jemalloc, or it is stopped); the "
                "call will finish by itself",
                tracee->process.name, (int)tracee->process.pid, tracee->deadlines.call / 1000.0);
    return FALSE;
}

static gboolean
set_crashed(Tracee *tracee, int signal, GError **error)
{
    pid_t thread = tracee->thread;
    forget_thread(tracee);
    g_set_error(
        error, TARGET_ERROR, OUTCOME_PROTOCOL,
        "jemalloc of %s (%d) raised %s when it was called; thread %d was restored, but jemalloc may be left locked",
        tracee->process.name, (int)tracee->process.pid, g_strsignal(signal), (int)thread);
    return FALSE;
}

/* A thread that stops the others, this one included, waits until this one handles its signal, and the others may hold
 * a lock for which the call waits. */
static guint64
awaited_signals(gpointer data)
{
    Tracee *tracee = data;
    const ThreadSignals signals = threads_signals(tracee->thread);
    const guint64 awaited = signals.pending & signals.caught;
    return awaited != 0 && suspension_is_in_force(tracee->points, tracee->process.pid, tracee->thread, awaited)
               ? awaited
               : 0;
}

static gboolean
run(Tracee *tracee, const GeneralRegisters *general, TracedPermit permit, GError **error)
{
    const TracedCall call = {
        .general = general,
        .permit = permit,
        .watch = &tracee->watch,
        .awaited = awaited_signals,
        .data = tracee,
        .until = tracee->calls_until,
    };
    int signal;
    switch (traced_call(tracee->traced, &call, &signal)) {
    case TRACED_RETURNED:
        return TRUE;
    case TRACED_LEFT:
        return set_left(tracee, error);
    case TRACED_CRASHED:
        return set_crashed(tracee, signal, error);
    default:
        return errno == ETIMEDOUT ? set_left(tracee, error) : lose_thread(tracee, "follow a call", error);
    }
}

/* pthread_setcancelstate() leaves errno alone. If the program has cancelled the thread meanwhile, in a wait that this
 * ends, the thread ends in the call, or is left to do so. */
static gboolean
restore_cancellation(Tracee *tracee, GError **error)
{
    const guint64 arguments[REGISTERS_ARGUMENTS] = {(guint64)tracee->cancel_state};
    const pid_t thread = tracee->thread;
    g_autoptr(GError) cause = NULL;
    if (!tracee->cancel_changed)
        return TRUE;
    GeneralRegisters general = registers_call(traced_home(tracee->traced), traced_path(tracee->traced), &tracee->code,
                                              tracee->library.set_cancel_state, arguments);
    if (run(tracee, &general, tracee->permit, &cause))
        return TRUE;
    const gboolean ended = !threads_is_of(tracee->process.pid, tracee->process.start_time, thread);
    if (ended || g_error_matches(cause, TARGET_ERROR, OUTCOME_SILENT))
        return TRUE;
    g_propagate_error(error, g_steal_pointer(&cause));
    return FALSE;
}

static gboolean
detach(Tracee *tracee, GError **error)
{
    if (tracee->traced == NULL)
        return TRUE;
    if (!restore_errno(tracee))
        return lose_thread(tracee, "restore errno", error);
    if (!restore_cancellation(tracee, error))
        return FALSE;
    if (tracee->traced != NULL && !traced_release(tracee->traced))
        return lose_thread(tracee, "restore the registers", error);
    forget_thread(tracee);
    return TRUE;
}

static gpointer
run_visit(gpointer data)
{
    Visit *visit = data;
    Tracee *tracee = visit->tracee;
    if (!attach(visit))
        return NULL;
    tracee->calls_until = g_get_monotonic_time() + (gint64)tracee->deadlines.call * MS;
    visit->done = visit->visit(tracee, visit->data, visit->error);
    visit->done = detach(tracee, visit->done ? visit->error : NULL) && visit->done;
    return NULL;
}

/* Runs in a separate thread: its end always detaches, and callers need not care that tracing is bound to a thread. */
gboolean
tracee_visit(Tracee *tracee, TraceeVisit visit, gpointer data, GError **error)
{
    g_return_val_if_fail(tracee->traced == NULL, FALSE);
    g_autoptr(GArray) stuck = g_array_new(FALSE, FALSE, sizeof(pid_t));
    Visit what = {.tracee = tracee, .visit = visit, .data = data, .error = error, .stuck = stuck};
    what.refusals = g_array_new(FALSE, FALSE, sizeof(Refusal));
    what.until = g_get_monotonic_time() + (gint64)tracee->deadlines.attach * MS;
    gboolean in_time = TRUE;
    do {
        GThread *thread = g_thread_try_new("attach", run_visit, &what, error);
        if (thread == NULL) { /* g_thread_new() would end the program */
            g_prefix_error(error, "cannot attach to %s: ", tracee->process.name);
            break;
        }
        g_thread_join(thread);
        in_time = g_get_monotonic_time() < what.until;
    } while (what.again && in_time);
    if (what.again && !in_time)
        set_refused(&what, 0, error);
    g_array_unref(what.refusals);
    return what.done;
}

static gboolean
fetch_result(Tracee *tracee, guint64 *result, GError **error)
{
    GeneralRegisters general;
    guint64 value = 0;
    const ReturnPath *path = traced_path(tracee->traced);
    if (path->result != 0) {
        if (!tracee_read(tracee, path->result, &value, sizeof(value), error))
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

static gboolean
make(Tracee *tracee, const GeneralRegisters *general, guint64 *result, GError **error)
{
    return run(tracee, general, tracee->permit, error) && fetch_result(tracee, result, error);
}

/* Finds the address of the thread's errno, which is constant during its life. */
static gboolean
find_errno(Tracee *tracee, GError **error)
{
    const guint64 nothing[REGISTERS_ARGUMENTS] = {0};
    GeneralRegisters general = registers_call(traced_home(tracee->traced), traced_path(tracee->traced), &tracee->code,
                                              tracee->library.errno_location, nothing);
    return make(tracee, &general, &tracee->error_address, error);
}

/* Under a filter, every call begins at the thread's original stop. */
static gboolean
get_ready(Tracee *tracee, GError **error)
{
    if (tracee->filter != TRACED_FILTERED || !traced_has_returned(tracee->traced))
        return TRUE;
    if (!restore_errno(tracee) || traced_give_back(tracee->traced) != TRACED_STOPPED)
        return lose_thread(tracee, "take up the wait", error);
    if (borrow(tracee, tracee->traced))
        return TRUE;
    g_autoptr(GArray) refusals = g_array_new(FALSE, FALSE, sizeof(Refusal));
    const Refusal refusal = {tracee->thread, tracee->point};
    g_array_append_val(refusals, refusal);
    detach(tracee, NULL);
    refusals_set(refusals, &tracee->process, tracee->space, 0, tracee->deadlines.attach, error);
    return FALSE;
}

static gboolean
save_errno(Tracee *tracee, GError **error)
{
    if (tracee->library.errno_location == 0 || tracee->error_saved)
        return TRUE;
    if (tracee->error_address == 0 && (!find_errno(tracee, error) || !get_ready(tracee, error)))
        return FALSE;
    if (!tracee_read(tracee, tracee->error_address, &tracee->error_number, sizeof(tracee->error_number), error))
        return FALSE;
    tracee->error_saved = TRUE;
    return TRUE;
}

/* Prepares a call: checks that the thread can make it, and expands the arguments to all registers. */
static gboolean
prepare_call(Tracee *tracee, const guint64 *arguments, guint n, guint64 all[REGISTERS_ARGUMENTS], GError **error)
{
    g_return_val_if_fail(tracee->traced != NULL && n <= REGISTERS_ARGUMENTS, FALSE);
    for (guint i = 0; i < REGISTERS_ARGUMENTS; i++)
        all[i] = i < n ? arguments[i] : 0;
    return get_ready(tracee, error) && save_errno(tracee, error);
}

gboolean
tracee_call(Tracee *tracee, guint64 function, const guint64 *arguments, guint n, guint64 *result, GError **error)
{
    guint64 all[REGISTERS_ARGUMENTS];
    if (!prepare_call(tracee, arguments, n, all, error))
        return FALSE;
    GeneralRegisters general =
        registers_call(traced_home(tracee->traced), traced_path(tracee->traced), &tracee->code, function, all);
    return make(tracee, &general, result, error);
}

gboolean
tracee_system_call(Tracee *tracee, gint64 number, const guint64 *arguments, guint n, gint64 *result, GError **error)
{
    guint64 all[REGISTERS_ARGUMENTS];
    if (!prepare_call(tracee, arguments, n, all, error))
        return FALSE;
    GeneralRegisters general =
        registers_system_call(traced_home(tracee->traced), traced_path(tracee->traced), &tracee->code, number, all);
    guint64 value;
    if (!run(tracee, &general, TRACED_PERMIT_ALL, error) || !fetch_result(tracee, &value, error))
        return FALSE;
    *result = (gint64)value;
    return TRUE;
}

gboolean
tracee_disable_cancellation(Tracee *tracee, GError **error)
{
    const guint64 at = tracee->scratch + TRACEE_SCRATCH;
    const guint64 arguments[] = {PTHREAD_CANCEL_DISABLE, at};
    gint32 state = PTHREAD_CANCEL_ENABLE; /* glibc before 2.34 writes nothing if libpthread is not loaded */
    if (tracee->cancel_changed || tracee->library.set_cancel_state == 0 || tracee->filter == TRACED_FILTERED)
        return TRUE;
    if (!tracee_write(tracee, at, &state, sizeof(state), error) ||
        !tracee_call(tracee, tracee->library.set_cancel_state, arguments, G_N_ELEMENTS(arguments), NULL, error) ||
        !tracee_read(tracee, at, &state, sizeof(state), error))
        return FALSE;
    tracee->cancel_changed = TRUE;
    tracee->cancel_state = state;
    return TRUE;
}
