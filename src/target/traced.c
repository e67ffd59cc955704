/* SPDX-License-Identifier: Apache-2.0 */
#include "target/traced.h"

#include "target/harmless-calls.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#ifndef PTRACE_EVENT_STOP
#define PTRACE_EVENT_STOP 128
#endif
#ifndef PTRACE_O_SUSPEND_SECCOMP
#define PTRACE_O_SUSPEND_SECCOMP (1 << 21)
#endif

/* One stop of the thread; the next resumption frees it. */
typedef struct {
    TracedPlace place;
    int signal;    /* TRACED_AT_SIGNAL: the signal to deliver */
    gint64 number; /* TRACED_AT_ENTRY: number of the system call */
    struct __ptrace_syscall_info info;
    gboolean known; /* REGISTERS were read at this stop */
    Registers registers;
} Stop;

typedef enum {
    LOAN_FRESH,    /* nothing was changed: the stop is still the one at which HOME was read */
    LOAN_OUT,      /* the called function runs */
    LOAN_RETURNED, /* the thread is about to return from our signal frame */
} LoanState;

/* The program does not run during a loan, so HOME stays valid. */
typedef struct {
    LoanState state;
    TracedPlace place; /* where it was borrowed */
    Registers home;
    ReturnPath path;
    gboolean replaced; /* the next exit is that of a call that our own has replaced */
    gboolean skipped;  /* the next exit is that of a call that TRACEE_SKIP prevented */
    TraceeSystemCall call;
    gboolean suspended;  /* the filter is suspended now */
    guint64 permitted;   /* signals that the program handles meanwhile */
    gint64 ask_at;       /* when to ask for them again */
    guint64 interrupted; /* the stack pointer of the function while such a handler runs; 0: none does */
} Loan;

struct _Traced {
    const TraceKernel *kernel;
    gpointer data;
    pid_t thread;
    TracedFilter filter;
    Stop *stop; /* NULL: the thread runs */
    Loan *loan; /* NULL: the program itself runs */
    /* The interrupted system call that the kernel repeats when the program next runs. */
    struct {
        gint64 number; /* -1: none */
        guint64 pc;    /* the address after it */
        guint64 result;
        gboolean unknown; /* it was set back already: the next call that begins may be repeated */
    } repeated;
    gboolean attached;
};

enum {
    MS = 1000,       /* microseconds of the kernel's clock in a millisecond */
    AWAITED_MS = 20, /* between two questions for signals that the program must handle */
    STOP_MS = 100,   /* a thread that has not stopped by then is in an uninterruptible wait */
    BUSY_MS = 10000, /* or waits for a processor on a busy machine */
    SYSCALL_STOP = SIGTRAP | 0x80,
    EVENT_SHIFT = 16,
    FIRST_INTERNAL = 512, /* of the codes that no program sees (include/linux/errno.h), of interrupted system calls */
    FOREIGN_CALL = -1,    /* stands for the number of another architecture's call */
};

/* Signals of faults; the kernel kills a thread that has blocked them. */
static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};

static gint64
now_of(const Traced *traced)
{
    return traced->kernel->now(traced->data);
}

static void
end_stop(Traced *traced)
{
    if (traced->stop != NULL)
        registers_clear(&traced->stop->registers);
    g_clear_pointer(&traced->stop, g_free);
}

static const guintptr trace_options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC;

/* Suspends the filter while a called function runs; it stays in force for the program itself. */
static gboolean
suspend_filter(Traced *traced)
{
    Loan *loan = traced->loan;
    if (traced->filter != TRACED_FILTER_SUSPENDED || loan->suspended)
        return TRUE;
    loan->suspended =
        traced->kernel->set_options(traced->data, traced->thread, trace_options | PTRACE_O_SUSPEND_SECCOMP);
    return loan->suspended;
}

static gboolean
restore_filter(Traced *traced)
{
    Loan *loan = traced->loan;
    if (loan->suspended)
        loan->suspended = !traced->kernel->set_options(traced->data, traced->thread, trace_options);
    return !loan->suspended;
}

static void
end_loan(Traced *traced)
{
    if (traced->loan == NULL)
        return;
    if (traced->stop != NULL)
        restore_filter(traced);
    registers_clear(&traced->loan->home);
    g_clear_pointer(&traced->loan->path.bytes, g_byte_array_unref);
    g_clear_pointer(&traced->loan, g_free);
}

/* Handles a thread that has ended or is in an unexpected state. */
static void
forget(Traced *traced)
{
    end_stop(traced);
    end_loan(traced);
    traced->attached = FALSE;
}

Traced *
traced_seize(const TraceKernel *kernel, gpointer data, pid_t thread)
{
    if (!kernel->seize(data, thread, trace_options))
        return NULL;
    Traced *traced = g_new0(Traced, 1);
    *traced = (Traced){.kernel = kernel, .data = data, .thread = thread, .repeated.number = -1, .attached = TRUE};
    return traced;
}

void
traced_free(Traced *traced)
{
    if (traced == NULL)
        return;
    forget(traced);
    g_free(traced);
}

static gboolean
note_system_call(Traced *traced, Stop *stop)
{
    if (!traced->kernel->call_info(traced->data, traced->thread, &stop->info))
        return FALSE;
    stop->place = stop->info.op == PTRACE_SYSCALL_INFO_ENTRY  ? TRACED_AT_ENTRY
                  : stop->info.op == PTRACE_SYSCALL_INFO_EXIT ? TRACED_AT_EXIT
                                                              : TRACED_AT_OTHER;
    if (stop->place == TRACED_AT_ENTRY)
        stop->number = (gint64)stop->info.entry.nr;
    return TRUE;
}

/* FALSE if the thread has ended meanwhile. */
static gboolean
begin_stop(Traced *traced, int status)
{
    const int event = status >> EVENT_SHIFT;
    g_autofree Stop *stop = g_new0(Stop, 1);
    if (event == PTRACE_EVENT_STOP)
        stop->place = WSTOPSIG(status) == SIGTRAP ? TRACED_AT_REQUEST : TRACED_AT_JOB_STOP;
    else if (event != 0)
        stop->place = TRACED_AT_OTHER;
    else if (WSTOPSIG(status) != SYSCALL_STOP)
        *stop = (Stop){.place = TRACED_AT_SIGNAL, .signal = WSTOPSIG(status)};
    else if (!note_system_call(traced, stop))
        return FALSE;
    traced->stop = g_steal_pointer(&stop);
    /* After an exec, the memory and everything examined belong to another program. */
    return event != PTRACE_EVENT_EXEC;
}

typedef enum {
    CAME_STOP,
    CAME_END,
    CAME_NOTHING,
} Came;

static Came
await_stop(Traced *traced, gint64 until)
{
    const gint64 begun = now_of(traced);
    g_assert(traced->stop == NULL);
    for (;;) {
        int status;
        TraceWait got = traced->kernel->wait(traced->data, traced->thread, &status);
        if (got == TRACE_WAIT_STATUS)
            return WIFSTOPPED(status) && begin_stop(traced, status) ? CAME_STOP : CAME_END;
        if (got == TRACE_WAIT_NONE)
            return CAME_END;
        gint64 now = now_of(traced);
        if (now >= until)
            return CAME_NOTHING;
        traced->kernel->pause(traced->data, now - begun);
    }
}

TracedPlace
traced_place(const Traced *traced)
{
    return traced->stop != NULL ? traced->stop->place : TRACED_AT_OTHER;
}

const Registers *
traced_registers(Traced *traced)
{
    Stop *stop = traced->stop;
    g_return_val_if_fail(stop != NULL && traced->loan == NULL, NULL);
    if (!stop->known && !traced->kernel->read(traced->data, traced->thread, &stop->registers))
        return NULL;
    stop->known = TRUE;
    stop->registers.entering = stop->place == TRACED_AT_ENTRY;
    if (stop->registers.entering)
        stop->registers.call = stop->registers.restarts = stop->number;
    /* A handler of a signal that runs now still ends this call. */
    if (stop->registers.entering && registers_entry_is_whole && stop->number == traced->repeated.number &&
        registers_pc(&stop->registers.general) == traced->repeated.pc)
        registers_set_result(&stop->registers.general, traced->repeated.result);
    return &stop->registers;
}

/* Only a running thread is asked to stop, since a stopped one would keep the request for later. */
static gboolean
ask_to_stop(Traced *traced)
{
    g_assert(traced->stop == NULL);
    return traced->kernel->interrupt(traced->data, traced->thread);
}

/* Waits for the requested stop, or another one that replaces it. */
static Came
await_asked_until(Traced *traced, gint64 patience)
{
    gint64 now = now_of(traced);
    for (;; now = now_of(traced)) {
        Came came = await_stop(traced, now + (gint64)STOP_MS * MS);
        /* The thread will stop when it is scheduled; if it were abandoned now, it would stay stopped. */
        if (came != CAME_NOTHING || now >= patience || !traced->kernel->wants_processor(traced->data, traced->thread))
            return came;
    }
}

static Came
await_asked(Traced *traced)
{
    return await_asked_until(traced, now_of(traced) + (gint64)BUSY_MS * MS);
}

/* Ends the stop, with everything that was read at it. */
static gboolean
resume_program(Traced *traced, TraceResume how)
{
    g_assert(traced->loan == NULL && traced->stop != NULL);
    const int signal = traced->stop->signal;
    end_stop(traced);
    traced->attached = how != TRACE_RESUME_DETACHED;
    return traced->kernel->resume(traced->data, traced->thread, how, signal);
}

/* The stop is requested before the thread continues, so that it occurs before the program runs. */
static Came
stop_before_program(Traced *traced)
{
    if (!traced->kernel->interrupt(traced->data, traced->thread) || !resume_program(traced, TRACE_RESUME_ON))
        return CAME_END;
    return await_asked(traced);
}

static gboolean
is_before_user_mode(const Traced *traced)
{
    const TracedPlace place = traced->stop->place;
    return place == TRACED_AT_REQUEST || place == TRACED_AT_JOB_STOP || place == TRACED_AT_SIGNAL;
}

static gboolean
has_handler(const Traced *traced, int signal)
{
    return (traced->kernel->caught(traced->data, traced->thread) >> (signal - 1) & 1) != 0;
}

/* Whether the kernel still looks for a system call that was interrupted, which its registers tell. */
static gboolean
may_repeat(const Traced *traced)
{
    const Stop *stop = traced->stop;
    return is_before_user_mode(traced) || (stop->place == TRACED_AT_EXIT && stop->info.exit.rval <= -FIRST_INTERNAL);
}

/* A system call that failed with EINTR may have done so only because of our stop. */
static gboolean
undo_interruption(Traced *traced)
{
    if (traced->stop->place == TRACED_AT_EXIT && traced->stop->info.exit.rval == -EINTR &&
        stop_before_program(traced) != CAME_STOP)
        return FALSE;
    const Registers *registers = may_repeat(traced) ? traced_registers(traced) : NULL;
    if (registers == NULL)
        return !may_repeat(traced);
    traced->repeated.unknown |= registers_is_restarting(registers);
    if (registers->restarts < 0)
        return TRUE;
    const GeneralRegisters general = registers_home(registers);
    traced->repeated.number = registers->restarts;
    traced->repeated.pc = registers_pc(&general);
    traced->repeated.result = registers_result(&general);
    return !is_before_user_mode(traced) || traced->kernel->write_general(traced->data, traced->thread, &general);
}

/* The program makes it, or a handler of a signal ends it. */
static void
forget_repeated(Traced *traced)
{
    const Stop *stop = traced->stop;
    const gboolean ends = stop->signal != 0 && stop->known && stop->registers.restarts >= 0;
    if (stop->place != TRACED_AT_ENTRY && !(ends && has_handler(traced, stop->signal)))
        return;
    traced->repeated.number = -1;
    traced->repeated.unknown = FALSE;
}

static gboolean
let_program_run(Traced *traced, TraceResume how)
{
    g_assert(traced->loan == NULL && traced->stop != NULL);
    if (!undo_interruption(traced))
        return FALSE;
    forget_repeated(traced);
    return resume_program(traced, how);
}

/* The same for a called function. */
static gboolean
let_call_run(Traced *traced, int signal)
{
    g_assert(traced->loan != NULL && traced->stop != NULL);
    traced->loan->state = LOAN_OUT;
    end_stop(traced);
    return traced->kernel->resume(traced->data, traced->thread, TRACE_RESUME_TO_SYSTEM_CALL, signal);
}

static TracedOutcome
outcome_of(Traced *traced, Came came)
{
    if (came == CAME_STOP)
        return TRACED_STOPPED;
    if (came == CAME_END && traced->stop == NULL)
        traced->attached = FALSE;
    return came == CAME_END ? TRACED_GONE : TRACED_STUCK;
}

static gboolean
is_passing(const Traced *traced)
{
    return traced->stop->place == TRACED_AT_SIGNAL || traced->stop->place == TRACED_AT_OTHER;
}

TracedOutcome
traced_stop(Traced *traced)
{
    if (traced->stop != NULL)
        return TRACED_STOPPED;
    if (!traced->attached || !ask_to_stop(traced))
        return TRACED_GONE;
    const gint64 patience = now_of(traced) + (gint64)BUSY_MS * MS;
    Came came = await_asked_until(traced, patience);
    /* Delivers a pending signal, which has replaced the requested stop. If signals do not end, the thread is stopped
     * anyway, but cannot be borrowed. */
    while (came == CAME_STOP && is_passing(traced) && now_of(traced) < patience) {
        if (!let_program_run(traced, TRACE_RESUME_ON) || !ask_to_stop(traced))
            return TRACED_GONE;
        came = await_asked_until(traced, patience);
    }
    return outcome_of(traced, came);
}

/* The system call may be one that a stop would cut short, by its arguments, which are not looked at. */
static gboolean
may_be_cut_short(gint64 number)
{
    static const guint64 any[REGISTERS_ARGUMENTS] = {G_MAXUINT64, G_MAXUINT64, G_MAXUINT64,
                                                     G_MAXUINT64, G_MAXUINT64, G_MAXUINT64};
    return registers_stop_cuts_short(number, any);
}

gboolean
traced_follow(Traced *traced, gint64 until, gboolean (*suits)(Traced *traced, gpointer data), gpointer data)
{
    /* A process in a job-control stop is left stopped. */
    while (traced->stop != NULL && traced->stop->place != TRACED_AT_JOB_STOP && now_of(traced) < until) {
        if (!let_program_run(traced, TRACE_RESUME_TO_SYSTEM_CALL))
            return FALSE;
        if (await_stop(traced, until) != CAME_STOP)
            return FALSE;
        if (traced->stop->place != TRACED_AT_ENTRY)
            continue;
        if (suits(traced, data))
            return TRUE;
        if (may_be_cut_short(traced->stop->number))
            return FALSE;
    }
    return FALSE;
}

void
traced_set_filter(Traced *traced, TracedFilter filter)
{
    g_return_if_fail(traced->loan == NULL);
    traced->filter = filter;
}

gboolean
traced_may_borrow(Traced *traced)
{
    const TracedPlace place = traced_place(traced);
    if (place == TRACED_AT_ENTRY)
        return registers_entry_is_whole && !traced->repeated.unknown && traced->filter != TRACED_FILTERED &&
               traced->stop->number != SYS_restart_syscall;
    if (place != TRACED_AT_REQUEST && place != TRACED_AT_JOB_STOP)
        return FALSE;
    const Registers *registers = traced_registers(traced);
    return registers != NULL && !registers_is_restarting(registers);
}

gboolean
traced_borrow(Traced *traced, guint64 top, const RemoteCode *code)
{
    g_return_val_if_fail(traced->loan == NULL && traced_may_borrow(traced), FALSE);
    if (traced_registers(traced) == NULL)
        return FALSE;
    Stop *stop = traced->stop;
    Loan *loan = g_new0(Loan, 1);
    *loan = (Loan){.state = LOAN_FRESH, .place = stop->place, .home = stop->registers};
    stop->registers = (Registers){0};
    stop->known = FALSE;
    loan->path = registers_return_path(&loan->home, top, code);
    traced->loan = loan;
    return TRUE;
}

gboolean
traced_has_returned(const Traced *traced)
{
    return traced->loan != NULL && traced->loan->state == LOAN_RETURNED;
}

const Registers *
traced_home(const Traced *traced)
{
    return traced->loan != NULL ? &traced->loan->home : NULL;
}

const ReturnPath *
traced_path(const Traced *traced)
{
    return traced->loan != NULL ? &traced->loan->path : NULL;
}

static guint64
everything_blocked(void)
{
    guint64 blocked = ~G_GUINT64_CONSTANT(0);
    for (gsize i = 0; i < G_N_ELEMENTS(faults); i++)
        blocked &= ~(G_GUINT64_CONSTANT(1) << (faults[i] - 1));
    return blocked;
}

/*
 * The order makes the return safe at any time: first unused memory below the stack pointer; then all general registers
 * at once, which completes the call and its return; finally the state that the return restores.
 */
static gboolean
enter(Traced *traced, const GeneralRegisters *general)
{
    const TraceKernel *kernel = traced->kernel;
    Loan *loan = traced->loan;
    const GByteArray *bytes = loan->path.bytes;
    GeneralRegisters skipping = *general;
    if (!suspend_filter(traced) ||
        !kernel->write(traced->data, traced->thread, loan->path.bottom, bytes->data, bytes->len))
        return FALSE;
    /* A thread that is about to make a system call, rt_sigreturn or its own, skips it. */
    loan->replaced = traced->stop->place == TRACED_AT_ENTRY;
    gboolean set = loan->replaced ? kernel->replace_call(traced->data, traced->thread, &skipping, -1)
                                  : kernel->write_general(traced->data, traced->thread, general);
    return set && (loan->state == LOAN_RETURNED || kernel->block(traced->data, traced->thread, everything_blocked()));
}

static TraceeVerdict
judge_call(const Traced *traced, const TracedCall *by)
{
    TraceeSystemCall *call = &traced->loan->call;
    TraceeVerdict verdict = by->watch->before != NULL ? by->watch->before(call, by->watch->data) : TRACEE_PROCEED;
    if (verdict != TRACEE_PROCEED || !traced->loan->suspended || by->permit == TRACED_PERMIT_ALL || harmless_call(call))
        return verdict;
    call->result = -EPERM;
    return TRACEE_SKIP;
}

/* Whether the call is of our architecture; the number of a harmless call may mean another one elsewhere. */
static gboolean
is_native(const Stop *stop)
{
    return stop->info.arch == registers_architecture;
}

static gboolean
ask_before(Traced *traced, const TracedCall *by)
{
    const Stop *stop = traced->stop;
    Loan *loan = traced->loan;
    GeneralRegisters general;
    loan->call = (TraceeSystemCall){.number = is_native(stop) ? stop->number : FOREIGN_CALL};
    for (guint i = 0; i < REGISTERS_ARGUMENTS; i++)
        loan->call.arguments[i] = stop->info.entry.args[i];
    loan->skipped = FALSE;
    TraceeVerdict verdict = judge_call(traced, by);
    if (verdict == TRACEE_PROCEED || verdict == TRACEE_ALLOW)
        return TRUE;
    if (!traced->kernel->read_general(traced->data, traced->thread, &general))
        return FALSE;
    for (guint i = 0; i < REGISTERS_ARGUMENTS; i++)
        registers_set_argument(&general, i, loan->call.arguments[i]);
    loan->skipped = verdict == TRACEE_SKIP;
    /* A filter also sees an invalid number and may kill the thread for it; it permits the call itself. */
    gint64 number = loan->skipped && traced->filter != TRACED_FILTERED ? -1 : loan->call.number;
    return traced->kernel->replace_call(traced->data, traced->thread, &general, number);
}

static gboolean
tell_after(Traced *traced, const TraceeWatch *watch)
{
    Loan *loan = traced->loan;
    GeneralRegisters general;
    if (loan->replaced) {
        loan->replaced = FALSE;
        return TRUE;
    }
    if (!loan->skipped) {
        loan->call.result = traced->stop->info.exit.rval;
        if (watch->after != NULL)
            watch->after(&loan->call, watch->data);
        return TRUE;
    }
    if (!traced->kernel->read_general(traced->data, traced->thread, &general))
        return FALSE;
    registers_set_result(&general, (guint64)loan->call.result);
    return traced->kernel->write_general(traced->data, traced->thread, &general);
}

/* The program's handler runs under the program's filter, and its system calls are its own. */
static gboolean
begin_handler(Traced *traced)
{
    Loan *loan = traced->loan;
    GeneralRegisters general;
    if (!traced->kernel->read_general(traced->data, traced->thread, &general))
        return FALSE;
    loan->interrupted = registers_sp(&general);
    loan->skipped = FALSE;
    return restore_filter(traced);
}

/* rt_sigreturn alone ends with the stack pointer of the function: the frames of the handler lie elsewhere. */
static gboolean
end_handler(Traced *traced)
{
    if (traced->stop->info.stack_pointer != traced->loan->interrupted)
        return TRUE;
    traced->loan->interrupted = 0;
    return suspend_filter(traced);
}

/* Handles a crash of the called function: the thread returns to its original place, so the program does not get the
 * signal. A lock that jemalloc held stays locked. */
static gboolean
back_out(Traced *traced)
{
    const TraceKernel *kernel = traced->kernel;
    const Registers *home = &traced->loan->home;
    GeneralRegisters general = registers_home(home);
    gboolean restored = kernel->write_extended(traced->data, traced->thread, home) &&
                        kernel->write_general(traced->data, traced->thread, &general) &&
                        kernel->block(traced->data, traced->thread, home->blocked) &&
                        kernel->resume(traced->data, traced->thread, TRACE_RESUME_DETACHED, 0);
    int code = errno;
    forget(traced);
    errno = code;
    return restored;
}

/* Leaves the thread to finish by itself; its return path stays in its own memory. */
static TracedReturn
leave(Traced *traced, int signal)
{
    gboolean released = traced->kernel->resume(traced->data, traced->thread, TRACE_RESUME_DETACHED, signal);
    int code = errno;
    forget(traced);
    errno = code;
    return released ? TRACED_LEFT : TRACED_LOST;
}

static TracedReturn
lose(Traced *traced, int code)
{
    forget(traced);
    errno = code;
    return TRACED_LOST;
}

typedef enum {
    STEP_ON,
    STEP_RETURNED,
    STEP_CRASHED,
    STEP_LOST, /* errno */
} Step;

/* Handles a signal that the kernel is about to deliver to the function. */
static Step
take_signal(Traced *traced, int signal)
{
    if (has_handler(traced, signal))
        return begin_handler(traced) ? STEP_ON : STEP_LOST;
    return signal == SIGSTOP || signal == SIGKILL ? STEP_ON : STEP_CRASHED;
}

/* Handles a stop during a call. Sets *SIGNAL to the signal with which to continue. */
static Step
take_step(Traced *traced, const TracedCall *call, int *signal)
{
    const Stop *stop = traced->stop;
    *signal = stop->signal;
    if (traced->loan->interrupted != 0)
        return stop->place != TRACED_AT_EXIT || end_handler(traced) ? STEP_ON : STEP_LOST;
    switch (stop->place) {
    case TRACED_AT_ENTRY:
        if (is_native(stop) && stop->number == registers_sigreturn &&
            stop->info.stack_pointer == traced->loan->path.frame) {
            traced->loan->state = LOAN_RETURNED;
            return STEP_RETURNED;
        }
        return ask_before(traced, call) ? STEP_ON : STEP_LOST;
    case TRACED_AT_EXIT:
        return tell_after(traced, call->watch) ? STEP_ON : STEP_LOST;
    case TRACED_AT_SIGNAL:
        return take_signal(traced, stop->signal);
    default:
        return STEP_ON;
    }
}

/* No longer blocks the awaited signals: the program handles them as if they had interrupted the function. */
static Came
permit_awaited(Traced *traced, const TracedCall *call, Came came)
{
    Loan *loan = traced->loan;
    const guint64 awaited = call->awaited != NULL && loan->interrupted == 0 ? call->awaited(call->data) : 0;
    const guint64 permitted = loan->permitted | (awaited & ~loan->home.blocked);
    if (permitted == loan->permitted)
        return came;
    if (came == CAME_NOTHING)
        came = ask_to_stop(traced) ? await_asked(traced) : CAME_END;
    if (came != CAME_STOP)
        return came;
    loan->permitted = permitted;
    return traced->kernel->block(traced->data, traced->thread, everything_blocked() & ~permitted) ? CAME_STOP
                                                                                                  : CAME_END;
}

static Came
await_call(Traced *traced, const TracedCall *call)
{
    Loan *loan = traced->loan;
    for (;;) {
        Came came = await_stop(traced, MIN(call->until, loan->ask_at));
        const gint64 now = now_of(traced);
        if (came != CAME_END && now >= loan->ask_at) {
            loan->ask_at = now + (gint64)AWAITED_MS * MS;
            came = permit_awaited(traced, call, came);
        }
        if (came != CAME_NOTHING || now >= call->until)
            return came;
    }
}

TracedReturn
traced_call(Traced *traced, const TracedCall *call, int *signal)
{
    gint64 until = call->until;
    gboolean late = FALSE;
    g_return_val_if_fail(traced->loan != NULL && traced->stop != NULL, TRACED_LOST);
    if (!enter(traced, call->general))
        return lose(traced, errno);
    traced->loan->ask_at = now_of(traced) + (gint64)AWAITED_MS * MS;
    for (*signal = 0;;) {
        if (!let_call_run(traced, *signal))
            return lose(traced, errno);
        Came came = late ? await_asked(traced) : await_call(traced, call);
        if (came == CAME_NOTHING && !late) {
            late = TRUE;
            if (!ask_to_stop(traced))
                return lose(traced, errno);
            came = await_asked(traced);
        }
        if (came != CAME_STOP)
            return lose(traced, came == CAME_END ? ESRCH : ETIMEDOUT);
        Step step = take_step(traced, call, signal);
        if (step == STEP_RETURNED)
            return TRACED_RETURNED;
        if (step == STEP_CRASHED)
            return back_out(traced) ? TRACED_CRASHED : TRACED_LOST;
        if (step == STEP_LOST)
            return lose(traced, errno);
        /* A skipped call, whose result jescope supplies, must end first. */
        gboolean skipping = traced->stop->place == TRACED_AT_ENTRY && traced->loan->skipped;
        if ((late || now_of(traced) >= until) && !skipping)
            return leave(traced, *signal);
    }
}

/* Makes the interrupted system call in place of rt_sigreturn. Registers are set last; until then, the signal frame is
 * valid. */
static gboolean
make_interrupted_call(Traced *traced)
{
    const TraceKernel *kernel = traced->kernel;
    const Registers *home = &traced->loan->home;
    GeneralRegisters general = registers_restart(home);
    return kernel->block(traced->data, traced->thread, home->blocked) &&
           kernel->write_extended(traced->data, traced->thread, home) &&
           kernel->replace_call(traced->data, traced->thread, &general, home->restarts);
}

TracedOutcome
traced_give_back(Traced *traced)
{
    g_return_val_if_fail(traced->loan != NULL && traced->loan->state == LOAN_RETURNED, TRACED_GONE);
    if (!make_interrupted_call(traced))
        return TRACED_GONE;
    end_loan(traced);
    const Came came = stop_before_program(traced);
    if (came == CAME_STOP && is_passing(traced))
        return let_program_run(traced, TRACE_RESUME_ON) ? traced_stop(traced) : TRACED_GONE;
    return outcome_of(traced, came);
}

/* Cancels a loan without a call: the registers belong to the stop again. */
static void
cancel_loan(Traced *traced)
{
    traced->stop->registers = traced->loan->home;
    traced->stop->known = TRUE;
    traced->loan->home = (Registers){0};
    end_loan(traced);
}

/* Lets rt_sigreturn complete, while a filter that may forbid it is still suspended. */
static gboolean
see_it_return(Traced *traced)
{
    return let_call_run(traced, 0) && await_asked(traced) == CAME_STOP;
}

/* After rt_sigreturn, which has set the thread back to repeat its system call. */
static gboolean
leave_it_to_kernel(Traced *traced, const GeneralRegisters *home)
{
    return stop_before_program(traced) == CAME_STOP &&
           (!is_before_user_mode(traced) || traced->kernel->write_general(traced->data, traced->thread, home));
}

/*
 * rt_sigreturn restores everything, but repeats an interrupted system call even if a handler of a signal has run since,
 * so the kernel decides again. It would lose the remaining time of a wait with a timeout; such a wait is resumed in its
 * place.
 */
static gboolean
come_home(Traced *traced)
{
    if (traced->filter == TRACED_FILTERED)
        return traced_give_back(traced) == TRACED_STOPPED;
    const Registers *home = &traced->loan->home;
    const GeneralRegisters general = registers_home(home);
    const gboolean resumes = home->restarts == SYS_restart_syscall;
    const gboolean repeats = home->restarts >= 0 && !resumes;
    gboolean there = TRUE;
    if (resumes)
        there = make_interrupted_call(traced);
    else if (repeats || traced->filter == TRACED_FILTER_SUSPENDED)
        there = see_it_return(traced);
    end_loan(traced);
    return there && (!repeats || leave_it_to_kernel(traced, &general));
}

gboolean
traced_release(Traced *traced)
{
    if (!traced->attached)
        return TRUE;
    if (traced->stop == NULL) {
        TracedOutcome outcome = traced_stop(traced);
        errno = outcome == TRACED_STUCK ? ETIMEDOUT : ESRCH;
        if (outcome != TRACED_STOPPED && traced->stop == NULL)
            return FALSE;
    }
    if (traced->loan != NULL && traced->loan->state == LOAN_FRESH)
        cancel_loan(traced);
    return (traced->loan == NULL || come_home(traced)) && let_program_run(traced, TRACE_RESUME_DETACHED);
}
