/* SPDX-License-Identifier: Apache-2.0 */
#include "target/trace-kernel.h"

#include "target/address-space.h"
#include "target/process.h"

#include <errno.h>
#include <sched.h>
#include <sys/wait.h>

enum {
    SPIN_US = 2000, /* most stops occur immediately; on a busy machine even yielding takes long */
    SHORT_SLEEP_US = 50,
    LONG_SLEEP_US = 1000,
    SHORT_US = 5000,
};

/* A thread's id is given to another process when it has ended, but not while it is traced. */
static gboolean
linux_seize(gpointer data, pid_t thread, guintptr options)
{
    const TraceProgram *program = data;
    if (!threads_is_of(program->pid, program->start_time, thread)) {
        errno = ESRCH;
        return FALSE;
    }
    if (ptrace(PTRACE_SEIZE, thread, NULL, options) != 0)
        return FALSE;
    if (threads_is_of(program->pid, program->start_time, thread))
        return TRUE;
    errno = ESTALE;
    return FALSE;
}

static gboolean
linux_set_options(gpointer data, pid_t thread, guintptr options)
{
    return ptrace(PTRACE_SETOPTIONS, thread, NULL, options) == 0;
}

static gboolean
linux_interrupt(gpointer data, pid_t thread)
{
    return ptrace(PTRACE_INTERRUPT, thread, NULL, NULL) == 0;
}

static gboolean
linux_resume(gpointer data, pid_t thread, TraceResume how, int signal)
{
    static const enum __ptrace_request requests[] = {
        [TRACE_RESUME_ON] = PTRACE_CONT,
        [TRACE_RESUME_TO_SYSTEM_CALL] = PTRACE_SYSCALL,
        [TRACE_RESUME_DETACHED] = PTRACE_DETACH,
    };
    return ptrace(requests[how], thread, NULL, (guintptr)signal) == 0;
}

static TraceWait
linux_wait(gpointer data, pid_t thread, int *status)
{
    pid_t got = waitpid(thread, status, __WALL | WNOHANG);
    if (got == thread)
        return TRACE_WAIT_STATUS;
    return got < 0 && errno != EINTR ? TRACE_WAIT_NONE : TRACE_WAIT_NOTHING;
}

static gboolean
linux_call_info(gpointer data, pid_t thread, struct __ptrace_syscall_info *info)
{
    return ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof(*info), info) > 0;
}

static gboolean
linux_read(gpointer data, pid_t thread, Registers *registers)
{
    return registers_read(thread, registers);
}

static gboolean
linux_read_general(gpointer data, pid_t thread, GeneralRegisters *general)
{
    return registers_read_general(thread, general);
}

static gboolean
linux_write_general(gpointer data, pid_t thread, const GeneralRegisters *general)
{
    return registers_write_general(thread, general);
}

static gboolean
linux_write_extended(gpointer data, pid_t thread, const Registers *registers)
{
    return registers_write_extended(thread, registers);
}

static gboolean
linux_replace_call(gpointer data, pid_t thread, GeneralRegisters *general, gint64 number)
{
    return registers_replace_call(thread, general, number);
}

static gboolean
linux_block(gpointer data, pid_t thread, guint64 signals)
{
    return ptrace(PTRACE_SETSIGMASK, thread, sizeof(signals), &signals) == 0;
}

static gboolean
linux_write(gpointer data, pid_t thread, guint64 address, const void *bytes, gsize length)
{
    return address_space_write(((const TraceProgram *)data)->memory, address, bytes, length);
}

static guint64
linux_caught(gpointer data, pid_t thread)
{
    return threads_signals(thread).caught;
}

static gboolean
linux_wants_processor(gpointer data, pid_t thread)
{
    Process now;
    return process_read(thread, &now) && now.state == 'R';
}

static gint64
linux_now(gpointer data)
{
    return g_get_monotonic_time();
}

static void
linux_pause(gpointer data, gint64 passed)
{
    if (passed < SPIN_US)
        sched_yield();
    else
        g_usleep(passed < SHORT_US ? SHORT_SLEEP_US : LONG_SLEEP_US);
}

const TraceKernel trace_kernel_linux = {
    .seize = linux_seize,
    .set_options = linux_set_options,
    .interrupt = linux_interrupt,
    .resume = linux_resume,
    .wait = linux_wait,
    .call_info = linux_call_info,
    .read = linux_read,
    .read_general = linux_read_general,
    .write_general = linux_write_general,
    .write_extended = linux_write_extended,
    .replace_call = linux_replace_call,
    .block = linux_block,
    .write = linux_write,
    .caught = linux_caught,
    .wants_processor = linux_wants_processor,
    .now = linux_now,
    .pause = linux_pause,
};
