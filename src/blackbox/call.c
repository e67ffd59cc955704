/* SPDX-License-Identifier: Apache-2.0 */
#include "blackbox/call.h"

#include "blackbox/prekill.h"
#include "target/cgroup.h"

#include <sys/eventfd.h>
#include <unistd.h>

struct WatchCall {
    int wake; /* an eventfd: ASKED may be set */
    GMutex lock;
    GCond answered;
    pid_t pid;      /* the process that the watch answers for; 0: none */
    gboolean asked; /* a snapshot is requested and not done */
};

WatchCall *
watch_call_new(void)
{
    WatchCall *call = g_new0(WatchCall, 1);
    call->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    g_mutex_init(&call->lock);
    g_cond_init(&call->answered);
    return call;
}

void
watch_call_free(WatchCall *call)
{
    if (call == NULL)
        return;
    close(call->wake);
    g_mutex_clear(&call->lock);
    g_cond_clear(&call->answered);
    g_free(call);
}

static gboolean
is_concerned(pid_t pid, const char *group)
{
    g_autofree char *own = pid != 0 ? cgroup_path((int)pid) : NULL;
    return own != NULL && prekill_concerns(group, own);
}

/* FALSE: it is not concerned. */
static gboolean
ask(WatchCall *call, const char *group)
{
    const guint64 one = 1;
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&call->lock);
    if (!is_concerned(call->pid, group) || write(call->wake, &one, sizeof(one)) != sizeof(one))
        return FALSE;
    call->asked = TRUE;
    return TRUE;
}

static void
wait_until(WatchCall *call, gint64 until_us)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&call->lock);
    while (call->asked && g_cond_wait_until(&call->answered, &call->lock, until_us))
        continue;
}

void
watch_calls_before_kill(WatchCall *const *calls, guint n, const char *group, guint ms)
{
    const gint64 until_us = g_get_monotonic_time() + (gint64)ms * 1000;
    g_autofree gboolean *asked = g_new(gboolean, MAX(n, 1));
    for (guint i = 0; i < n; i++)
        asked[i] = ask(calls[i], group);
    for (guint i = 0; i < n; i++)
        if (asked[i])
            wait_until(calls[i], until_us);
}

void
watch_call_answers_for(WatchCall *call, pid_t pid)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&call->lock);
    call->pid = pid;
    call->asked = FALSE;
    g_cond_broadcast(&call->answered);
}

int
watch_call_wake(const WatchCall *call)
{
    return call->wake;
}

gboolean
watch_call_take(WatchCall *call)
{
    guint64 woken;
    if (read(call->wake, &woken, sizeof(woken)) != sizeof(woken))
        return FALSE;
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&call->lock);
    return call->asked;
}

void
watch_call_done(WatchCall *call)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&call->lock);
    call->asked = FALSE;
    g_cond_broadcast(&call->answered);
}
