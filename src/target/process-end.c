/* SPDX-License-Identifier: Apache-2.0 */
#include "target/process-end.h"

#include "target/exit-events.h"
#include "target/process-file.h"
#include "target/process-stat.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* struct pidfd_info of <linux/pidfd.h>, which older headers lack. */
typedef struct {
    guint64 mask;
    guint64 cgroup;
    guint32 ids[11];
    gint32 exit_code;
} PidfdInfo;

#define PIDFD_GET_INFO_REQUEST _IOWR(0xFF, 11, PidfdInfo)
#define PIDFD_INFO_EXIT_BIT    (G_GUINT64_CONSTANT(1) << 3)

enum { STAT_MAX = 4096 }; /* maximum bytes of /proc/PID/stat */

struct ProcessEnd {
    pid_t pid;
    int pidfd;
    gboolean followed; /* by exit-events.h */
};

ProcessEnd *
process_end_new(pid_t pid)
{
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (pidfd < 0)
        return NULL;
    ProcessEnd *end = g_new0(ProcessEnd, 1);
    *end = (ProcessEnd){.pid = pid, .pidfd = pidfd, .followed = !process_end_pidfd_has_status()};
    if (end->followed)
        exit_events_follow(pid);
    return end;
}

void
process_end_free(ProcessEnd *end)
{
    if (end == NULL)
        return;
    if (end->followed)
        exit_events_forget(end->pid);
    close(end->pidfd);
    g_free(end);
}

int
process_end_pidfd(const ProcessEnd *end)
{
    return end->pidfd;
}

static gboolean
ask_pidfd(int pidfd, int *status)
{
    PidfdInfo info = {.mask = PIDFD_INFO_EXIT_BIT};
    if (ioctl(pidfd, PIDFD_GET_INFO_REQUEST, &info) != 0 || (info.mask & PIDFD_INFO_EXIT_BIT) == 0)
        return FALSE;
    *status = info.exit_code;
    return TRUE;
}

/* The kernel permits reading this link by the same rule as the status in /proc/PID/stat, which is 0 for others. */
static gboolean
may_see_status(pid_t pid)
{
    char link[64], ns[64];
    g_snprintf(link, sizeof(link), "/proc/%d/ns/user", (int)pid);
    return readlink(link, ns, sizeof(ns)) > 0;
}

/* Whether its parent has waited for it; until then, its pid cannot be reused. */
static gboolean
is_reaped(int pidfd)
{
    return syscall(SYS_pidfd_send_signal, pidfd, 0, NULL, 0) != 0 && errno == ESRCH;
}

static gboolean
read_zombie(const ProcessEnd *end, int *status)
{
    g_autofree char *stat = process_text(end->pid, "stat", STAT_MAX, NULL);
    guint64 code, threads;
    /* That of the first thread, if others go on, is not that of the process. */
    if (process_stat_state(stat) != 'Z' || !process_stat_number(stat, PROCESS_STAT_THREADS, &threads) || threads > 1 ||
        !process_stat_number(stat, PROCESS_STAT_EXIT_CODE, &code))
        return FALSE;
    *status = (int)code;
    return (*status != 0 || may_see_status(end->pid)) && !is_reaped(end->pidfd);
}

gboolean
process_end_read(const ProcessEnd *end, int *status)
{
    return ask_pidfd(end->pidfd, status) || (end->followed && exit_events_read(end->pid, status)) ||
           read_zombie(end, status);
}

/* Tests pidfds with a child that ends. */
static gboolean
try_pidfd(void)
{
    int status;
    pid_t child = fork();
    if (child == 0)
        for (;;)
            raise(SIGKILL);
    int pidfd = child > 0 ? (int)syscall(SYS_pidfd_open, child, 0) : -1;
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
        continue;
    const gboolean works = pidfd >= 0 && ask_pidfd(pidfd, &status);
    if (pidfd >= 0)
        close(pidfd);
    return works;
}

gboolean
process_end_pidfd_has_status(void)
{
    static gsize known; /* 0: untested, 1: no, 2: yes */
    if (g_once_init_enter(&known))
        g_once_init_leave(&known, try_pidfd() ? 2 : 1);
    return known == 2;
}
