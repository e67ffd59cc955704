/* SPDX-License-Identifier: Apache-2.0 */
#include "target/suspension.h"

#include "target/cfi-table.h"
#include "target/threads.h"

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

typedef struct {
    SafePoints *points;
    pid_t pid, thread;
    guint64 awaited; /* signals that THREAD has not handled */
    guint work;      /* that may still be done for all threads, as in safe_points_holds() */
} Suspension;

/* The verdict on a thread that runs, before the loan. */
static gboolean
is_about_to_handle(const Suspension *suspension, pid_t thread)
{
    const ThreadSignals signals = threads_signals(thread);
    return (signals.pending & ~signals.blocked & signals.caught) != 0;
}

/* The same during the loan: it handles what THREAD does not. */
static gboolean
handles_awaited(const Suspension *suspension, pid_t thread)
{
    return (threads_signals(thread).blocked & suspension->awaited) != 0;
}

/* RUNNING: the verdict on a thread that does not wait; UNKNOWN: that on those for which there is no time. */
static gboolean
has_other(Suspension *suspension, gboolean (*running)(const Suspension *suspension, pid_t thread), gboolean unknown)
{
    g_auto(ThreadWalk) walk;
    pid_t other;
    thread_walk_begin(&walk, suspension->pid);
    while ((other = thread_walk_next(&walk)) != 0) {
        gint64 number = -1;
        if (other == suspension->thread)
            continue;
        const guint64 sp = threads_waits_at(suspension->pid, other, &number);
        if (sp != 0 ? !is_of_server(number) && safe_points_holds(suspension->points, sp, &suspension->work)
                    : running(suspension, other))
            return TRUE;
    }
    return unknown && g_get_monotonic_time() >= walk.until_us;
}

gboolean
suspension_is_in_force(SafePoints *points, pid_t pid, pid_t thread, guint64 awaited)
{
    Suspension suspension = {points, pid, thread, awaited, CFI_WORK_MAX};
    return has_other(&suspension, handles_awaited, FALSE);
}

gboolean
suspension_is_near(SafePoints *points, pid_t pid, pid_t thread)
{
    Suspension suspension = {points, pid, thread, 0, CFI_WORK_MAX};
    return has_other(&suspension, is_about_to_handle, TRUE);
}
