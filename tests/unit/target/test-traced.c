/* SPDX-License-Identifier: Apache-2.0 */
/*
 * traced.h against a simulated kernel: the actions of a thread, external events and the tracer's timing are random with
 * a fixed seed. The program makes numbered system calls; every register set of its carries a version, which grows with
 * each of its instructions. So the test detects outdated registers that are written back, when a system call is made
 * twice or not at all, when it fails with EINTR for nothing, when a signal is lost, or does not end a call that waits.
 */
#include "target/traced.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
enum {
    PROGRAM = 0x100000, /* sets up a system call */
    PROGRAM_CALL = PROGRAM + 8,
    PROGRAM_CHECK = PROGRAM_CALL + 2,
    FUNCTION = 0x200000, /* rdi: how many system calls it makes; rsi: whether it crashes; rdx: steps it takes */
    FUNCTION_CALL = FUNCTION + 8,
    FUNCTION_NEXT = FUNCTION_CALL + 2,
    BACK = 0x300000,
    STORE = 0x300100,
    STACK = 0x700000,
    STACK_SIZE = 0x10000,
    RESULT = 4711,
    REPLACED = 815,

    ERESTARTSYS = 512,
    ERESTARTNOINTR = 513,
    ERESTARTNOHAND = 514,
    ERESTART_RESTARTBLOCK = 516,

    HANDLED = SIGUSR1,
    IGNORED = SIGURG,
    THREAD = 77,
    SYSCALL_TRAP = SIGTRAP | 0x80,
    EVENT_STOP = 128,
    FRAME_REGISTERS = 40, /* in the kernel's struct ucontext */
    FRAME_BLOCKED = 296,
};

typedef enum {
    RUNS_USER,
    RUNS_ENTRY,   /* a system call begins, its entry has been reported */
    RUNS_CALL,    /* in a system call */
    RUNS_EXIT,    /* it is over */
    RUNS_SIGNALS, /* before it goes back to user mode */
    RUNS_NOT,     /* it has ended */
} Runs;

typedef struct {
    GRand *chance;
    gint64 clock;
    TracedFilter filter;
    GeneralRegisters general;
    guint64 blocked;
    guint8 stack[STACK_SIZE];

    Runs runs;
    gboolean stopped; /* by ptrace; RUNS says where it goes on */
    gboolean stands;  /* as a job, without a tracer */
    gboolean job_stop;
    int status;
    gboolean reported;
    struct __ptrace_syscall_info info;
    int delivering; /* passed on by the tracer */
    gboolean delivered;

    gboolean traced;
    gboolean suspended; /* the filter: while what was called runs, and never while the program does */
    gboolean trace_calls;
    gboolean trap;
    guint64 pending;
    guint left; /* steps of the present system call */
    gint64 stalled_until;
    guint64 block_index; /* of the call that restart_syscall takes up */
    gboolean block_valid;

    guint64 version;
    guint64 made; /* system calls of the program */
    guint sent;
    guint handled;
    gboolean may_fail; /* the next EINTR has a reason */
    guint64 waits;     /* the system call in which the program has begun to wait, from 1 */
    gboolean repeated; /* by the kernel: a signal that comes now is too late to end the call */
    gboolean killed;   /* the tracer ended in the middle */
    gboolean quiet;    /* nothing happens to it any more */
    guint functions;   /* system calls of ours that were made */
} Sim;

static const gint64 numbers[] = {SYS_getuid, SYS_read, SYS_epoll_wait, SYS_poll, SYS_pause};
static const RemoteCode code = {.back = BACK, .system = FUNCTION_CALL, .store = STORE, .base = 3, .popped = 1};

static gboolean
is_program(const Sim *sim)
{
    return sim->general.rip >= PROGRAM && sim->general.rip <= PROGRAM_CHECK;
}

static guint
below(Sim *sim, guint limit)
{
    return (guint)g_rand_int_range(sim->chance, 0, (gint32)limit);
}

static gint64
number_of(guint64 index)
{
    return numbers[index * 7 % G_N_ELEMENTS(numbers)];
}

static void
program_runs(Sim *sim)
{
    g_assert_true(is_program(sim));
    g_assert_false(sim->job_stop); /* a stopped process stays stopped */
    g_assert_cmpuint(sim->general.r15, ==, sim->version);
    sim->general.r15 = ++sim->version;
}

static void
report(Sim *sim, int status, Runs then)
{
    sim->status = status << 8 | 0x7f;
    sim->stopped = TRUE;
    sim->reported = FALSE;
    sim->trap = FALSE;
    sim->runs = then;
}

static void
report_call(Sim *sim, guint8 op, Runs then)
{
    sim->info =
        (struct __ptrace_syscall_info){.op = op, .arch = registers_architecture, .stack_pointer = sim->general.rsp};
    if (op == PTRACE_SYSCALL_INFO_ENTRY) {
        sim->info.entry.nr = sim->general.orig_rax;
        sim->info.entry.args[0] = sim->general.rdi;
        sim->info.entry.args[1] = sim->general.rsi;
        sim->info.entry.args[2] = sim->general.rdx;
    } else {
        sim->info.exit.rval = (gint64)sim->general.rax;
    }
    report(sim, SYSCALL_TRAP, then);
}

static void
begin_call(Sim *sim)
{
    if (is_program(sim)) {
        program_runs(sim);
        sim->repeated = FALSE;
    }
    sim->general.orig_rax = sim->general.rax;
    sim->general.rax = (guint64)-ENOSYS;
    sim->general.rip += 2;
    sim->left = below(sim, 12);
    sim->runs = RUNS_ENTRY;
    if (sim->traced && sim->trace_calls)
        report_call(sim, PTRACE_SYSCALL_INFO_ENTRY, RUNS_ENTRY);
}

static void
step_user(Sim *sim)
{
    GeneralRegisters *general = &sim->general;
    switch (general->rip) {
    case PROGRAM:
        program_runs(sim);
        general->rax = (guint64)number_of(general->r14);
        general->rip = PROGRAM_CALL;
        return;
    case PROGRAM_CALL:
        g_assert_true((gint64)general->rax == number_of(general->r14) || general->rax == SYS_restart_syscall);
        begin_call(sim);
        return;
    case PROGRAM_CHECK:
        program_runs(sim);
        sim->waits = 0;
        if ((gint64)general->rax == -EINTR) {
            g_assert_true(sim->may_fail || sim->killed);
            sim->may_fail = FALSE;
        } else {
            g_assert_cmpuint(general->rax, ==, general->r14);
            g_assert_cmpuint(sim->made, ==, general->r14 + 1);
            general->r14++;
        }
        general->rip = PROGRAM;
        return;
    case FUNCTION:
        if (general->rdx > 0) {
            general->rdx--;
        } else if (general->rdi > 0) {
            general->rax = SYS_getppid;
            general->rip = FUNCTION_CALL;
        } else if (general->rsi != 0) {
            sim->pending |= 1u << (SIGSEGV - 1);
            sim->runs = RUNS_SIGNALS;
        } else {
            memcpy(sim->stack + (general->rbx - STACK), &(guint64){RESULT}, sizeof(guint64));
            general->rsp += 3 * sizeof(guint64);
            general->rax = SYS_rt_sigreturn;
            general->rip = BACK;
        }
        return;
    case FUNCTION_CALL:
    case BACK:
        begin_call(sim);
        return;
    case FUNCTION_NEXT:
        g_assert_true(sim->killed || general->rax == RESULT || general->rax == REPLACED || (gint64)general->rax < 0);
        general->rdi--;
        general->rip = FUNCTION;
        return;
    default:
        g_assert_not_reached();
    }
}

static guint64
deliverable(const Sim *sim)
{
    return sim->pending & ~(sim->blocked & ~(1u << (SIGSTOP - 1)));
}

static void
return_from_frame(Sim *sim)
{
    GeneralRegisters *general = &sim->general;
    guint64 saved[23];
    const guint8 *frame = sim->stack + (general->rsp - STACK);
    g_assert_true(sim->killed || sim->filter != TRACED_FILTERED);
    g_assert_true(sim->killed || sim->filter != TRACED_FILTER_SUSPENDED || sim->suspended);
    memcpy(saved, frame + FRAME_REGISTERS, sizeof(saved));
    memcpy(&sim->blocked, frame + FRAME_BLOCKED, sizeof(sim->blocked));
    *general = (GeneralRegisters){
        .r14 = saved[6], .r15 = saved[7], .rax = saved[13], .rsp = saved[15], .rip = saved[16], .orig_rax = ~0ULL};
    sim->block_valid = FALSE;
    g_assert_cmpuint(general->r15, ==, sim->version);
}

/* The system call is made; *DONE: its result is known. */
static void
make_call(Sim *sim)
{
    GeneralRegisters *general = &sim->general;
    gint64 number = (gint64)general->orig_rax;
    sim->runs = RUNS_EXIT;
    if (number == SYS_rt_sigreturn)
        return_from_frame(sim);
    else if (number == SYS_getppid)
        general->rax = RESULT;
    else if (number == SYS_restart_syscall && !sim->block_valid)
        general->rax = (guint64)-EINTR;
    else if (number >= 0) {
        g_assert_false(sim->suspended);
        g_assert_true(is_program(sim));
        g_assert_true(number == number_of(general->r14) ||
                      (number == SYS_restart_syscall && sim->block_index == general->r14));
        g_assert_cmpuint(sim->made, ==, general->r14);
        g_assert_cmpuint(general->r15, ==, sim->version);
        sim->made++;
        general->rax = general->r14;
    }
    sim->functions += number == SYS_getppid;
}

static void
step_call(Sim *sim)
{
    GeneralRegisters *general = &sim->general;
    gint64 number = (gint64)general->orig_rax;
    gboolean waits = number == SYS_restart_syscall || number == SYS_read || number == SYS_epoll_wait ||
                     number == SYS_poll || number == SYS_pause;
    if (!waits || sim->left == 0) {
        make_call(sim);
        return;
    }
    sim->left--;
    sim->waits = general->r14 + 1;
    if (!sim->trap && deliverable(sim) == 0)
        return;
    int failure = number == SYS_read         ? ERESTARTSYS
                  : number == SYS_epoll_wait ? EINTR
                  : number == SYS_pause      ? ERESTARTNOHAND
                                             : ERESTART_RESTARTBLOCK;
    if (number == SYS_poll) {
        sim->block_valid = TRUE;
        sim->block_index = general->r14;
    }
    general->rax = (guint64)-failure;
    sim->runs = RUNS_EXIT;
    /* The kernel fails it whatever becomes of the signal; without a tracer an ignored one would not have come. */
    if ((deliverable(sim) & (1u << (HANDLED - 1) | 1u << (SIGSTOP - 1))) != 0 && failure == EINTR)
        sim->may_fail = TRUE;
}

static gboolean
is_interrupted(const Sim *sim)
{
    gint64 failure = -(gint64)sim->general.rax;
    return (gint64)sim->general.orig_rax >= 0 && (failure == ERESTARTSYS || failure == ERESTARTNOINTR ||
                                                  failure == ERESTARTNOHAND || failure == ERESTART_RESTARTBLOCK);
}

static void
restart(Sim *sim, guint64 number)
{
    sim->general.rax = number;
    sim->general.rip -= 2;
    sim->repeated = TRUE;
}

static void
handle(Sim *sim)
{
    const gint64 failure = is_interrupted(sim) ? -(gint64)sim->general.rax : 0;
    const gboolean is_waiting = is_program(sim) && sim->waits == sim->general.r14 + 1 && !sim->repeated;
    if (is_waiting && (sim->general.rip == PROGRAM_CALL || failure == ERESTARTNOINTR))
        g_assert_true(sim->killed); /* the call goes on */
    if (failure == ERESTARTNOINTR || (failure == ERESTARTSYS && below(sim, 2) == 0)) {
        restart(sim, sim->general.orig_rax);
        sim->waits = 0; /* as with SA_RESTART */
    } else if (failure != 0) {
        sim->general.rax = (guint64)-EINTR;
        sim->may_fail = TRUE;
    }
    sim->general.orig_rax = ~0ULL;
    g_assert_cmpuint(sim->general.r15, ==, sim->version);
    sim->general.r15 = ++sim->version;
    sim->handled++;
}

static void
act_on(Sim *sim, int signal)
{
    /* It came after the call had failed for a stop of ours, and would have made it fail as well. */
    if (signal != IGNORED && (gint64)sim->general.orig_rax >= 0 && -(gint64)sim->general.rax == EINTR)
        sim->may_fail = TRUE;
    if (signal == SIGSTOP) {
        sim->job_stop = TRUE;
        if (sim->traced)
            report(sim, SIGSTOP | EVENT_STOP << 8, RUNS_SIGNALS);
        else
            sim->stands = TRUE;
    } else if (signal == HANDLED) {
        handle(sim);
    } else if (signal == SIGSEGV) {
        g_assert_true(sim->killed); /* not restored after a kill */
        sim->runs = RUNS_NOT;
    }
}

static void
step_signals(Sim *sim)
{
    if (sim->delivered) {
        sim->delivered = FALSE;
        act_on(sim, sim->delivering);
        return;
    }
    if (sim->traced && sim->trap) {
        report(sim, (sim->job_stop ? SIGSTOP : SIGTRAP) | EVENT_STOP << 8, RUNS_SIGNALS);
        return;
    }
    guint64 due = deliverable(sim);
    if (due != 0) {
        int signal = __builtin_ctzll(due) + 1;
        sim->pending &= ~(1ULL << (signal - 1));
        if (!sim->traced)
            act_on(sim, signal);
        else
            report(sim, signal, RUNS_SIGNALS);
        return;
    }
    if (is_interrupted(sim)) /* then it looks again */
        restart(sim, -(gint64)sim->general.rax == ERESTART_RESTARTBLOCK ? SYS_restart_syscall : sim->general.orig_rax);
    else
        sim->runs = RUNS_USER;
}

static void
step(Sim *sim)
{
    if (sim->stopped || sim->stands || sim->runs == RUNS_NOT || sim->clock < sim->stalled_until)
        return;
    switch (sim->runs) {
    case RUNS_USER:
        if (sim->trap || deliverable(sim) != 0) {
            sim->general.orig_rax = ~0ULL;
            sim->runs = RUNS_SIGNALS;
        } else {
            step_user(sim);
        }
        return;
    case RUNS_ENTRY:
        sim->runs = (gint64)sim->general.orig_rax == -1 ? RUNS_EXIT : RUNS_CALL;
        return;
    case RUNS_CALL:
        step_call(sim);
        return;
    case RUNS_EXIT:
        sim->runs = RUNS_SIGNALS;
        if (sim->traced && sim->trace_calls)
            report_call(sim, PTRACE_SYSCALL_INFO_EXIT, RUNS_SIGNALS);
        return;
    default:
        step_signals(sim);
    }
}

static void
go_on_as_job(Sim *sim)
{
    sim->stands = FALSE;
    sim->job_stop = FALSE;
    if ((sim->pending & 1u << (SIGSTOP - 1)) != 0 && is_program(sim) && -(gint64)sim->general.rax == EINTR)
        sim->may_fail = TRUE; /* as without a tracer: the call had failed for the stop that does not come now */
    sim->pending &= ~(1u << (SIGSTOP - 1));
    sim->trap |= sim->traced; /* a notice */
}

static void
happen(Sim *sim)
{
    if (sim->quiet || sim->runs == RUNS_NOT)
        return;
    switch (below(sim, 400)) {
    case 0:
    case 1:
        if ((sim->pending & 1u << (HANDLED - 1)) == 0) {
            sim->pending |= 1u << (HANDLED - 1);
            sim->sent++;
        }
        return;
    case 2:
        if (sim->traced) /* otherwise it is not even queued */
            sim->pending |= 1u << (IGNORED - 1);
        return;
    case 3:
        sim->pending |= 1u << (SIGSTOP - 1);
        return;
    case 4:
    case 5:
    case 6:
        go_on_as_job(sim);
        return;
    case 7:
        sim->stalled_until = sim->clock + below(sim, 300 * 1000);
        return;
    case 8:
        if (below(sim, 20) == 0) {
            sim->runs = RUNS_NOT;
            sim->stopped = FALSE;
        }
        return;
    default:
        return;
    }
}

static void
pass(Sim *sim, guint steps)
{
    for (guint i = 0; i < steps; i++) {
        happen(sim);
        step(sim);
    }
    sim->clock += steps;
}

/* Only what is stopped can be looked at. */
static gboolean
is_ours(Sim *sim)
{
    happen(sim);
    if (sim->runs != RUNS_NOT) {
        g_assert_true(sim->traced && sim->stopped && sim->reported);
        return TRUE;
    }
    errno = ESRCH;
    return FALSE;
}

static gboolean
sim_seize(gpointer data, pid_t thread, guintptr options)
{
    Sim *sim = data;
    sim->traced = TRUE;
    if (sim->repeated && sim->runs == RUNS_USER)
        sim->waits = 0; /* in user mode, nothing tells what is about to be repeated */
    sim->trap = sim->stands;
    sim->stands = FALSE;
    return TRUE;
}

static gboolean
sim_set_options(gpointer data, pid_t thread, guintptr options)
{
    Sim *sim = data;
    g_assert_true(sim->stopped && sim->filter == TRACED_FILTER_SUSPENDED);
    sim->suspended = (options & PTRACE_O_SUSPEND_SECCOMP) != 0;
    return TRUE;
}

static gboolean
sim_interrupt(gpointer data, pid_t thread)
{
    Sim *sim = data;
    sim->trap = TRUE;
    errno = ESRCH;
    return sim->runs != RUNS_NOT;
}

static void
detach(Sim *sim)
{
    sim->traced = sim->suspended = sim->trace_calls = sim->trap = FALSE;
    sim->stands = sim->job_stop;
    sim->pending &= ~(1u << (IGNORED - 1));
}

static gboolean
sim_resume(gpointer data, pid_t thread, TraceResume how, int signal)
{
    Sim *sim = data;
    if (!is_ours(sim))
        return FALSE;
    gboolean at_signal = sim->status >> 16 == 0 && (sim->status >> 8 & 0xff) != SYSCALL_TRAP;
    sim->delivered = at_signal && signal != 0;
    sim->delivering = signal;
    sim->stopped = FALSE;
    sim->trace_calls = how == TRACE_RESUME_TO_SYSTEM_CALL;
    if (how == TRACE_RESUME_DETACHED)
        detach(sim);
    return TRUE;
}

static TraceWait
sim_wait(gpointer data, pid_t thread, int *status)
{
    Sim *sim = data;
    pass(sim, below(sim, 30));
    if (sim->runs == RUNS_NOT) {
        *status = SIGKILL;
        return below(sim, 2) == 0 ? TRACE_WAIT_STATUS : TRACE_WAIT_NONE;
    }
    if (!sim->stopped || sim->reported)
        return TRACE_WAIT_NOTHING;
    sim->reported = TRUE;
    *status = sim->status;
    return TRACE_WAIT_STATUS;
}

static gboolean
sim_call_info(gpointer data, pid_t thread, struct __ptrace_syscall_info *info)
{
    Sim *sim = data;
    *info = sim->info;
    return is_ours(sim);
}

static gboolean
sim_read_general(gpointer data, pid_t thread, GeneralRegisters *general)
{
    Sim *sim = data;
    *general = sim->general;
    return is_ours(sim);
}

static gboolean
sim_read(gpointer data, pid_t thread, Registers *registers)
{
    enum { EXTENDED = 576 };
    Sim *sim = data;
    gint64 failure = -(gint64)sim->general.rax;
    gboolean interrupted =
        is_interrupted(sim) || (failure == EINTR && registers_stop_ends((gint64)sim->general.orig_rax));
    *registers = (Registers){.general = sim->general, .blocked = sim->blocked, .extended_size = EXTENDED};
    registers->call = interrupted ? (gint64)sim->general.orig_rax : -1;
    registers->restarts = failure == ERESTART_RESTARTBLOCK && interrupted ? SYS_restart_syscall : registers->call;
    registers->extended = g_malloc0(EXTENDED);
    if (is_ours(sim))
        return TRUE;
    registers_clear(registers);
    return FALSE;
}

static gboolean
sim_write_general(gpointer data, pid_t thread, const GeneralRegisters *general)
{
    Sim *sim = data;
    if (!is_ours(sim))
        return FALSE;
    sim->general = *general;
    if (is_program(sim))
        g_assert_cmpuint(general->r15, ==, sim->version);
    return TRUE;
}

static gboolean
sim_write_extended(gpointer data, pid_t thread, const Registers *registers)
{
    return is_ours(data);
}

static gboolean
sim_replace_call(gpointer data, pid_t thread, GeneralRegisters *general, gint64 number)
{
    Sim *sim = data;
    general->orig_rax = (guint64)number;
    g_assert_true(number >= 0 || sim->filter != TRACED_FILTERED);
    return sim_write_general(data, thread, general);
}

static gboolean
sim_block(gpointer data, pid_t thread, guint64 signals)
{
    Sim *sim = data;
    sim->blocked = signals;
    return is_ours(sim);
}

static gboolean
sim_write(gpointer data, pid_t thread, guint64 address, const void *bytes, gsize length)
{
    Sim *sim = data;
    g_assert_true(address >= STACK && address + length <= STACK + STACK_SIZE);
    memcpy(sim->stack + (address - STACK), bytes, length);
    return is_ours(sim);
}

static guint64
sim_caught(gpointer data, pid_t thread)
{
    return 1u << (HANDLED - 1);
}

static gboolean
sim_wants_processor(gpointer data, pid_t thread)
{
    Sim *sim = data;
    return sim->clock >= sim->stalled_until && !sim->stopped;
}

static gint64
sim_now(gpointer data)
{
    return ((Sim *)data)->clock;
}

static void
sim_pause(gpointer data, gint64 passed)
{
    Sim *sim = data;
    sim->clock += 1 + below(sim, passed > 1000 ? 5000 : 50);
}

static const TraceKernel kernel = {
    .seize = sim_seize,
    .set_options = sim_set_options,
    .interrupt = sim_interrupt,
    .resume = sim_resume,
    .wait = sim_wait,
    .call_info = sim_call_info,
    .read = sim_read,
    .read_general = sim_read_general,
    .write_general = sim_write_general,
    .write_extended = sim_write_extended,
    .replace_call = sim_replace_call,
    .block = sim_block,
    .write = sim_write,
    .caught = sim_caught,
    .wants_processor = sim_wants_processor,
    .now = sim_now,
    .pause = sim_pause,
};

typedef struct {
    guint borrowed;
    guint at_entry;
    guint returned;
    guint crashed;
    guint left;
    guint lost;
    guint stuck;
    guint ended;
    guint stopped;
    guint handled;
    guint killed;
} Seen;

static gboolean
borrow(Sim *sim, Traced *traced, Seen *seen)
{
    const Registers *registers = traced_registers(traced);
    if (registers == NULL || !traced_may_borrow(traced) || below(sim, 4) == 0 ||
        (sim->filter == TRACED_FILTERED && registers->restarts < 0) ||
        !traced_borrow(traced, registers->general.rsp - 256, &code))
        return FALSE;
    /* It was set back to repeat a call, which a handler of a signal would not end. */
    g_assert_false(sim->repeated && sim->general.rip == PROGRAM_CALL && (gint64)sim->general.orig_rax >= 0);
    seen->borrowed++;
    seen->at_entry += traced_place(traced) == TRACED_AT_ENTRY;
    return TRUE;
}

typedef struct {
    Sim *sim;
    Seen *seen;
} Suiting;

static gboolean
suits(Traced *traced, gpointer data)
{
    Suiting *suiting = data;
    return below(suiting->sim, 3) == 0 && borrow(suiting->sim, traced, suiting->seen);
}

static TraceeVerdict
before(TraceeSystemCall *call, gpointer data)
{
    Sim *sim = data;
    g_assert_cmpint(call->number, ==, SYS_getppid);
    call->result = REPLACED;
    return below(sim, 2) == 0 ? TRACEE_PROCEED : TRACEE_SKIP;
}

static void
after(const TraceeSystemCall *call, gpointer data)
{
    g_assert_cmpint(call->number, ==, SYS_getppid);
    g_assert_true(call->result == RESULT);
}

/* One call; FALSE: the loan is over. */
static gboolean
call_once(Sim *sim, Traced *traced, Seen *seen)
{
    const guint64 arguments[REGISTERS_ARGUMENTS] = {below(sim, 3), below(sim, 12) == 0, below(sim, 6) == 0 ? 500 : 5};
    const TraceeWatch watch = {before, after, sim};
    GeneralRegisters general = registers_call(traced_home(traced), traced_path(traced), &code, FUNCTION, arguments);
    const TracedCall call = {.general = &general, .watch = &watch, .until = sim->clock + 400};
    guint64 result;
    int signal;
    switch (traced_call(traced, &call, &signal)) {
    case TRACED_RETURNED:
        seen->returned++;
        memcpy(&result, sim->stack + (traced_path(traced)->result - STACK), sizeof(result));
        g_assert_cmpuint(result, ==, RESULT);
        return TRUE;
    case TRACED_CRASHED:
        seen->crashed++;
        g_assert_cmpint(signal, ==, SIGSEGV);
        return FALSE;
    case TRACED_LEFT:
        seen->left++;
        /* The tracer may be killed later. */
        sim->killed = TRUE;
        return FALSE;
    default:
        seen->lost++;
        sim->killed = TRUE;
        return FALSE;
    }
}

static void
end_tracer(Sim *sim)
{
    sim->killed = TRUE;
    if (sim->stopped) {
        sim->delivered = sim->status >> 16 == 0 && (sim->status >> 8 & 0xff) != SYSCALL_TRAP;
        sim->delivering = sim->status >> 8 & 0xff;
    }
    sim->stopped = FALSE;
    detach(sim);
}

static void
visit(Sim *sim, Seen *seen)
{
    g_autoptr(Traced) traced = traced_seize(&kernel, sim, THREAD);
    traced_set_filter(traced, sim->filter);
    Suiting suiting = {sim, seen};
    TracedOutcome outcome = traced_stop(traced);
    gboolean borrowed = outcome == TRACED_STOPPED && borrow(sim, traced, seen);
    if (!borrowed && outcome == TRACED_STOPPED && below(sim, 3) > 0)
        borrowed = traced_follow(traced, sim->clock + 200 + below(sim, 600), suits, &suiting);
    while (borrowed && below(sim, 4) > 0) {
        borrowed = call_once(sim, traced, seen);
        if (borrowed && sim->filter == TRACED_FILTERED)
            borrowed = traced_give_back(traced) == TRACED_STOPPED && borrow(sim, traced, seen);
        if (borrowed && below(sim, 40) == 0) {
            seen->killed++;
            break;
        }
    }
    gboolean kill = seen->killed > 0 && below(sim, 60) == 0;
    if (kill || !traced_release(traced)) {
        seen->stuck++;
        end_tracer(sim);
    }
}

/* Without a tracer. */
static void
settle(Sim *sim)
{
    enum { STEPS = 3000 };
    sim->quiet = TRUE;
    sim->stalled_until = 0;
    if (sim->traced)
        end_tracer(sim);
    go_on_as_job(sim);
    sim->trap = FALSE;
    guint64 before_settling = sim->made;
    for (guint i = 0; i < STEPS; i++) {
        step(sim);
        if (sim->stands)
            go_on_as_job(sim);
    }
    if (sim->runs == RUNS_NOT)
        return;
    g_assert_cmpuint(sim->made, >, before_settling + 50);
    g_assert_cmpuint(sim->handled, ==, sim->sent);
    g_assert_cmpuint(sim->blocked, ==, 0);
}

static void
test_interleavings(void)
{
    enum { ROUNDS = 40000, SEED = 20261122 };
    Seen seen = {0};
    g_autoptr(GRand) chance = g_rand_new_with_seed(SEED);
    for (guint round = 0; round < ROUNDS; round++) {
        g_autofree Sim *sim = g_new0(Sim, 1);
        sim->chance = chance;
        sim->filter = (TracedFilter)below(sim, 3);
        sim->general.rip = PROGRAM;
        sim->general.rsp = STACK + STACK_SIZE - 4096;
        pass(sim, below(sim, 200));
        for (guint i = 0; i < 3 && sim->runs != RUNS_NOT && !sim->killed; i++) {
            visit(sim, &seen);
            pass(sim, below(sim, 50));
        }
        seen.ended += sim->runs == RUNS_NOT;
        seen.handled += sim->handled;
        seen.stopped += sim->job_stop;
        if (sim->runs != RUNS_NOT)
            settle(sim);
    }
    g_test_message("borrowed %u (%u at an entry), calls returned %u, crashed %u, left %u, lost %u; released by the end "
                   "of the tracer %u; ended %u, stopped as a job %u, signals handled %u",
                   seen.borrowed, seen.at_entry, seen.returned, seen.crashed, seen.left, seen.lost, seen.stuck,
                   seen.ended, seen.stopped, seen.handled);
    /* Each kind was there. */
    const guint counts[] = {seen.borrowed, seen.at_entry, seen.returned, seen.crashed, seen.left,
                            seen.lost,     seen.stuck,    seen.ended,    seen.stopped, seen.handled};
    for (gsize i = 0; i < G_N_ELEMENTS(counts); i++)
        g_assert_cmpuint(counts[i], >, 50);
}

/* The result of waiting for an endless one. */
typedef struct {
    gint64 clock;
    int status;
    gboolean asked;  /* the stop that was asked for comes, once */
    gboolean inside; /* a system call */
    guint waits;
    guint64 blocked;
    gboolean detached;
    gboolean filter_suspended;
    gboolean pending; /* HANDLED */
    gsize handler_at; /* in handler_stops: what a handler that has begun does next */
    guint8 stack[STACK_SIZE];
} Endless;

enum { INTERRUPTED_SP = STACK + STACK_SIZE - 4096 };

/* A handler that makes one system call, from the delivery of its signal to its end. */
static const struct {
    guint8 op;
    gint64 number;
    guint64 sp;
} handler_stops[] = {
    {PTRACE_SYSCALL_INFO_ENTRY, SYS_getpid, INTERRUPTED_SP - 1024},
    {PTRACE_SYSCALL_INFO_EXIT, SYS_getpid, INTERRUPTED_SP - 1024},
    {PTRACE_SYSCALL_INFO_ENTRY, SYS_rt_sigreturn, INTERRUPTED_SP - 2048},
    {PTRACE_SYSCALL_INFO_EXIT, SYS_rt_sigreturn, INTERRUPTED_SP},
};

static gboolean
endless_seize(gpointer data, pid_t thread, guintptr options)
{
    return TRUE;
}

static gboolean
endless_interrupt(gpointer data, pid_t thread)
{
    return TRUE;
}

static gboolean
endless_resume(gpointer data, pid_t thread, TraceResume how, int signal)
{
    Endless *endless = data;
    endless->detached = how == TRACE_RESUME_DETACHED;
    return TRUE;
}

static TraceWait
endless_wait(gpointer data, pid_t thread, int *status)
{
    enum { STEP_US = 100, WAITS_MAX = 1000000 };
    Endless *endless = data;
    endless->clock += STEP_US;
    g_assert_cmpuint(endless->waits++, <, WAITS_MAX);
    *status = endless->asked ? EVENT_STOP << 16 | SIGTRAP << 8 | 0x7f : endless->status << 8 | 0x7f;
    if (!endless->asked && !endless->inside && endless->pending && (endless->blocked >> (HANDLED - 1) & 1) == 0) {
        *status = HANDLED << 8 | 0x7f;
        endless->pending = FALSE;
        endless->handler_at = 0;
    }
    endless->asked = FALSE;
    return TRACE_WAIT_STATUS;
}

/* The filter is in force for all that the handler does. */
static void
handler_call_info(Endless *endless, struct __ptrace_syscall_info *info)
{
    const gsize at = endless->handler_at++;
    g_assert_false(endless->filter_suspended);
    *info = (struct __ptrace_syscall_info){
        .op = handler_stops[at].op, .arch = registers_architecture, .stack_pointer = handler_stops[at].sp};
    if (info->op == PTRACE_SYSCALL_INFO_ENTRY)
        info->entry.nr = (guint64)handler_stops[at].number;
}

static gboolean
endless_call_info(gpointer data, pid_t thread, struct __ptrace_syscall_info *info)
{
    Endless *endless = data;
    if (endless->handler_at < G_N_ELEMENTS(handler_stops)) {
        handler_call_info(endless, info);
        return TRUE;
    }
    endless->inside = !endless->inside;
    *info = (struct __ptrace_syscall_info){.op = endless->inside ? PTRACE_SYSCALL_INFO_ENTRY : PTRACE_SYSCALL_INFO_EXIT,
                                           .arch = registers_architecture};
    if (endless->inside)
        info->entry.nr = SYS_sched_yield;
    return TRUE;
}

static gboolean
endless_read_general(gpointer data, pid_t thread, GeneralRegisters *general)
{
    *general = (GeneralRegisters){.rip = PROGRAM, .rsp = INTERRUPTED_SP, .orig_rax = G_MAXUINT64};
    return TRUE;
}

static gboolean
endless_read(gpointer data, pid_t thread, Registers *registers)
{
    enum { EXTENDED = 576 };
    *registers = (Registers){.call = -1, .restarts = -1, .extended_size = EXTENDED, .extended = g_malloc0(EXTENDED)};
    return endless_read_general(data, thread, &registers->general);
}

static gboolean
endless_write_general(gpointer data, pid_t thread, const GeneralRegisters *general)
{
    return TRUE;
}

static gboolean
endless_block(gpointer data, pid_t thread, guint64 signals)
{
    ((Endless *)data)->blocked = signals;
    return TRUE;
}

static gboolean
endless_write(gpointer data, pid_t thread, guint64 address, const void *bytes, gsize length)
{
    Endless *endless = data;
    memcpy(endless->stack + (address - STACK), bytes, length);
    return TRUE;
}

static gboolean
endless_set_options(gpointer data, pid_t thread, guintptr options)
{
    ((Endless *)data)->filter_suspended = (options & PTRACE_O_SUSPEND_SECCOMP) != 0;
    return TRUE;
}

static guint64
endless_caught(gpointer data, pid_t thread)
{
    return 1u << (HANDLED - 1);
}

static gboolean
endless_wants_processor(gpointer data, pid_t thread)
{
    return TRUE;
}

static gint64
endless_now(gpointer data)
{
    return ((Endless *)data)->clock;
}

static const TraceKernel endless_kernel = {
    .seize = endless_seize,
    .interrupt = endless_interrupt,
    .resume = endless_resume,
    .wait = endless_wait,
    .call_info = endless_call_info,
    .read = endless_read,
    .read_general = endless_read_general,
    .write_general = endless_write_general,
    .block = endless_block,
    .write = endless_write,
    .set_options = endless_set_options,
    .caught = endless_caught,
    .wants_processor = endless_wants_processor,
    .now = endless_now,
};

static guint64
await_handled(gpointer data)
{
    guint *asked = data;
    return ++*asked > 2 ? 1u << (HANDLED - 1) : 0;
}

/* A call that waits for a thread which the program has suspended, until this one handles a signal, too. */
static void
test_awaited_signals(void)
{
    static const guint64 arguments[REGISTERS_ARGUMENTS];
    g_autofree Endless *endless = g_new0(Endless, 1);
    endless->asked = TRUE;
    endless->handler_at = G_N_ELEMENTS(handler_stops);
    endless->status = SYSCALL_TRAP;
    g_autoptr(Traced) traced = traced_seize(&endless_kernel, endless, THREAD);
    g_assert_cmpint(traced_stop(traced), ==, TRACED_STOPPED);
    g_assert_true(traced_borrow(traced, STACK + STACK_SIZE - 8192, &code));
    GeneralRegisters general = registers_call(traced_home(traced), traced_path(traced), &code, FUNCTION, arguments);
    const TraceeWatch watch = {0};
    guint asked = 0;
    TracedCall call = {.general = &general, .watch = &watch, .until = endless->clock + 50000, .data = &asked};
    int signal;
    g_assert_cmpint(traced_call(traced, &call, &signal), ==, TRACED_LEFT);
    g_assert_cmphex(endless->blocked >> (HANDLED - 1) & 1, ==, 1);

    endless->asked = TRUE;
    g_autoptr(Traced) again = traced_seize(&endless_kernel, endless, THREAD);
    g_assert_cmpint(traced_stop(again), ==, TRACED_STOPPED);
    g_assert_true(traced_borrow(again, STACK + STACK_SIZE - 8192, &code));
    call.until = endless->clock + 500000;
    call.awaited = await_handled;
    g_assert_cmpint(traced_call(again, &call, &signal), ==, TRACED_LEFT);
    g_assert_cmpuint(asked, >, 2);
    g_assert_cmphex(endless->blocked >> (HANDLED - 1) & 1, ==, 0);
    g_assert_cmphex(endless->blocked >> (SIGTERM - 1) & 1, ==, 1);
}

static TraceeVerdict
expect_own_call(TraceeSystemCall *call, gpointer data)
{
    const Endless *endless = data;
    g_assert_true(endless->filter_suspended);
    g_assert_cmpint(call->number, ==, SYS_sched_yield);
    return TRACEE_PROCEED;
}

/* The handler of such a signal belongs to the program: its filter is in force, and its system calls are not judged. */
static void
test_handlers_under_a_filter(void)
{
    static const guint64 arguments[REGISTERS_ARGUMENTS];
    g_autofree Endless *endless = g_new0(Endless, 1);
    endless->asked = endless->pending = TRUE;
    endless->status = SYSCALL_TRAP;
    endless->handler_at = G_N_ELEMENTS(handler_stops);
    g_autoptr(Traced) traced = traced_seize(&endless_kernel, endless, THREAD);
    g_assert_cmpint(traced_stop(traced), ==, TRACED_STOPPED);
    traced_set_filter(traced, TRACED_FILTER_SUSPENDED);
    g_assert_true(traced_borrow(traced, STACK + STACK_SIZE - 8192, &code));
    GeneralRegisters general = registers_call(traced_home(traced), traced_path(traced), &code, FUNCTION, arguments);
    const TraceeWatch watch = {.before = expect_own_call, .data = endless};
    guint asked = 0;
    const TracedCall call = {.general = &general,
                             .watch = &watch,
                             .awaited = await_handled,
                             .data = &asked,
                             .until = endless->clock + 500000};
    int signal;
    g_assert_cmpint(traced_call(traced, &call, &signal), ==, TRACED_LEFT);
    g_assert_false(endless->pending);
    g_assert_cmpuint(endless->handler_at, ==, G_N_ELEMENTS(handler_stops));
    g_assert_cmpuint(asked, >, 3); /* it went on */
    g_assert_true(endless->filter_suspended);
}

/* jemalloc spins with sched_yield() while another thread holds a lock: there is a stop to see whenever it is asked. */
static void
test_endless_system_calls(void)
{
    static const guint64 arguments[REGISTERS_ARGUMENTS];
    g_autofree Endless *endless = g_new0(Endless, 1);
    endless->asked = TRUE;
    endless->handler_at = G_N_ELEMENTS(handler_stops);
    endless->status = SYSCALL_TRAP;
    g_autoptr(Traced) traced = traced_seize(&endless_kernel, endless, THREAD);
    g_assert_cmpint(traced_stop(traced), ==, TRACED_STOPPED);
    g_assert_true(traced_borrow(traced, STACK + STACK_SIZE - 8192, &code));
    GeneralRegisters general = registers_call(traced_home(traced), traced_path(traced), &code, FUNCTION, arguments);
    const TraceeWatch watch = {0};
    const TracedCall call = {.general = &general, .watch = &watch, .until = endless->clock + 5000};
    int signal;
    g_assert_cmpint(traced_call(traced, &call, &signal), ==, TRACED_LEFT);
    g_assert_true(endless->detached);
}

static void
test_endless_signals(void)
{
    g_autofree Endless *endless = g_new0(Endless, 1);
    endless->handler_at = G_N_ELEMENTS(handler_stops);
    endless->status = HANDLED;
    g_autoptr(Traced) traced = traced_seize(&endless_kernel, endless, THREAD);
    g_assert_cmpint(traced_stop(traced), ==, TRACED_STOPPED);
    g_assert_false(traced_may_borrow(traced));
    g_assert_true(traced_release(traced));
    g_assert_true(endless->detached);
}
#endif

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#if defined(__x86_64__)
    g_test_add_func("/traced/interleavings", test_interleavings);
    g_test_add_func("/traced/endless-system-calls", test_endless_system_calls);
    g_test_add_func("/traced/awaited-signals", test_awaited_signals);
    g_test_add_func("/traced/handlers-under-a-filter", test_handlers_under_a_filter);
    g_test_add_func("/traced/endless-signals", test_endless_signals);
#endif
    return g_test_run();
}
