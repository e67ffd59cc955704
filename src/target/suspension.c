/* SPDX-License-Identifier: Apache-2.0 */
#include "target/suspension.h"

#include "target/traced.h"

#include <sys/syscall.h>

/* No handler waits in these, but hundreds of threads of a server may. */
static gboolean
is_of_server(gint64 number)
{
    switch (number) {
    case SYS_accept:
    case SYS_accept4:
    case SYS_epoll_pwait:
#ifdef SYS_epoll_wait
    case SYS_epoll_wait:
#endif
        return TRUE;
    default:
        return FALSE;
    }
}

/* What is known of the thread to be borrowed. */
typedef struct {
    SafePoints *points;
    TraceProgram *program;
    pid_t thread;
    guint64 awaited; /* signals that it has not handled */
} Suspension;

/* A handler blocks its own signal. One that does not wait in a system call is recognised by its stack alone, so the
 * thread is stopped for a moment. */
static gboolean
holds(Suspension *suspension, pid_t thread)
{
    g_autoptr(Traced) traced = traced_seize(&trace_kernel_linux, suspension->program, thread);
    if (traced == NULL)
        return FALSE;
    const TracedOutcome outcome = traced_stop(traced);
    const Registers *registers = outcome == TRACED_STOPPED ? traced_registers(traced) : NULL;
    const gboolean found =
        registers != NULL && safe_points_holds(suspension->points, registers_sp(&registers->general));
    return !(outcome == TRACED_GONE || traced_release(traced)) || found;
}

/* The verdict on a thread that runs, before the loan. */
static gboolean
is_about_to_hold(Suspension *suspension, pid_t thread)
{
    const ThreadSignals signals = threads_signals(thread);
    return (signals.pending & ~signals.blocked & signals.caught) != 0 ||
           ((signals.blocked & signals.caught) != 0 && holds(suspension, thread));
}

/* The same during the loan: it handles what the borrowed thread does not. */
static gboolean
handles_awaited(Suspension *suspension, pid_t thread)
{
    return (threads_signals(thread).blocked & suspension->awaited) != 0;
}

/* RUNNING: the verdict on a thread that does not wait; UNKNOWN: that on those for which there is no time. */
static gboolean
has_other(Suspension *suspension, gboolean (*running)(Suspension *suspension, pid_t thread), gboolean unknown)
{
    const pid_t pid = suspension->program->pid;
    g_auto(ThreadWalk) walk;
    pid_t other;
    thread_walk_begin(&walk, pid);
    while ((other = thread_walk_next(&walk)) != 0) {
        gint64 number = -1;
        if (other == suspension->thread)
            continue;
        const guint64 sp = threads_waits_at(pid, other, &number);
        if (sp != 0 ? !is_of_server(number) && safe_points_holds(suspension->points, sp) : running(suspension, other))
            return TRUE;
    }
    return unknown && g_get_monotonic_time() >= walk.until_us;
}

gboolean
suspension_is_in_force(SafePoints *points, TraceProgram *program, pid_t thread, guint64 awaited)
{
    Suspension suspension = {points, program, thread, awaited};
    return has_other(&suspension, handles_awaited, FALSE);
}

gboolean
suspension_is_near(SafePoints *points, TraceProgram *program, pid_t thread)
{
    Suspension suspension = {points, program, thread, 0};
    return has_other(&suspension, is_about_to_hold, TRUE);
}
