/* SPDX-License-Identifier: Apache-2.0 */
#include "target/suspension.h"

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

static gboolean
is_about_to_handle(pid_t thread)
{
    const ThreadSignals signals = threads_signals(thread);
    return (signals.pending & ~signals.blocked & signals.caught) != 0;
}

/* RUNNING: the verdict on a thread that does not wait. */
static gboolean
has_other(SafePoints *points, pid_t pid, pid_t thread, gboolean (*running)(pid_t thread))
{
    g_auto(ThreadWalk) walk;
    pid_t other;
    thread_walk_begin(&walk, pid);
    while ((other = thread_walk_next(&walk)) != 0) {
        gint64 number = -1;
        const guint64 sp = other != thread ? threads_waits_at(pid, other, &number) : 0;
        if (sp != 0 ? !is_of_server(number) && safe_points_holds(points, sp)
                    : other != thread && running != NULL && running(other))
            return TRUE;
    }
    return FALSE;
}

gboolean
suspension_is_in_force(SafePoints *points, pid_t pid, pid_t thread)
{
    return has_other(points, pid, thread, NULL);
}

gboolean
suspension_is_near(SafePoints *points, pid_t pid, pid_t thread)
{
    return has_other(points, pid, thread, is_about_to_handle);
}
