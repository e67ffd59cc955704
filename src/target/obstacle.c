/* SPDX-License-Identifier: Apache-2.0 */
#include "target/obstacle.h"

#include "target/target.h"
#include "target/threads.h"
#include "target/user-name.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    SCOPE_OWN = 1, /* /proc/sys/kernel/yama/ptrace_scope: descendants only */
    SCOPE_ROOT = 2,
    SCOPE_NOBODY = 3,

    ENDING_US = 200 * 1000, /* that the other threads of a process that ends may take after the first */
    TURN_US = 2000 * 1000,  /* maximum wait for another jescope */
    TURN_PAUSE_US = 500,
};

/* The value of KEY ("Seccomp") in /proc/PID/status, or NULL. */
static char *
status_value(const char *pid, const char *key)
{
    g_autofree char *path = g_strdup_printf("/proc/%s/status", pid);
    g_autofree char *status = NULL;
    g_autofree char *line = g_strdup_printf("\n%s:", key);
    if (!g_file_get_contents(path, &status, NULL, NULL))
        return NULL;
    const char *found = strstr(status, line);
    if (found == NULL)
        return NULL;
    found += strlen(line);
    return g_strstrip(g_strndup(found, strcspn(found, "\n")));
}

static char *
value_of(const Process *process, const char *key)
{
    char pid[16];
    g_snprintf(pid, sizeof(pid), "%d", (int)process->pid);
    return status_value(pid, key);
}

static gboolean
we_have(int capability)
{
    g_autofree char *effective = status_value("self", "CapEff");
    return effective != NULL && (g_ascii_strtoull(effective, NULL, 16) >> capability & 1) != 0;
}

gboolean
obstacle_thread_has_filter(pid_t thread)
{
    char id[16];
    g_snprintf(id, sizeof(id), "%d", (int)thread);
    g_autofree char *mode = status_value(id, "Seccomp");
    return mode != NULL && strcmp(mode, "0") != 0;
}

gboolean
obstacle_seccomp(const Process *process)
{
    g_auto(ThreadWalk) walk;
    pid_t thread;
    gboolean found = FALSE;
    thread_walk_begin(&walk, process->pid);
    while (!found && (thread = thread_walk_next(&walk)) != 0)
        found = obstacle_thread_has_filter(thread);
    return found;
}

gboolean
obstacle_may_suspend_seccomp(void)
{
    /* A process under a filter may not suspend one. */
    g_autofree char *own = status_value("self", "Seccomp");
    return we_have(CAP_SYS_ADMIN) && (own == NULL || strcmp(own, "0") == 0);
}

static void
set_denied(const Process *process, GError **error, const char *why)
{
    g_set_error(error, TARGET_ERROR, OUTCOME_PERMISSION, "cannot attach to %s (%d): %s", process->name,
                (int)process->pid, why);
}

gboolean
obstacle_traced_by_us(pid_t thread)
{
    char id[16];
    g_snprintf(id, sizeof(id), "%d", (int)thread);
    g_autofree char *tracer = status_value(id, "TracerPid");
    g_autofree char *process = tracer != NULL ? status_value(tracer, "Tgid") : NULL;
    return process != NULL && atoi(process) == getpid();
}

/* Whether another jescope traces a thread of it, which takes milliseconds. */
static gboolean
is_traced_by_jescope(pid_t pid)
{
    char id[16];
    Process tracing;
    g_snprintf(id, sizeof(id), "%d", (int)pid);
    g_autofree char *tracer = status_value(id, "TracerPid");
    g_autofree char *process = tracer != NULL && atoi(tracer) != 0 ? status_value(tracer, "Tgid") : NULL;
    return process != NULL && atoi(process) != getpid() && process_read(atoi(process), &tracing) &&
           strcmp(tracing.name, "jescope") == 0;
}

gboolean
obstacle_passes(pid_t thread)
{
    gint64 until = g_get_monotonic_time() + TURN_US;
    if (!is_traced_by_jescope(thread))
        return FALSE;
    while (g_get_monotonic_time() < until) {
        g_usleep(TURN_PAUSE_US);
        if (!is_traced_by_jescope(thread))
            return TRUE;
    }
    return FALSE;
}

/* The thread that traces the process permanently, to be freed; NULL if there is none or it is ours. Waits for each
 * jescope that traces it in turn. */
static char *
lasting_tracer(const Process *process)
{
    const gint64 until = g_get_monotonic_time() + TURN_US;
    for (;;) {
        g_autofree char *tracer = value_of(process, "TracerPid");
        if (tracer == NULL || atoi(tracer) == 0 || obstacle_traced_by_us(process->pid))
            return NULL;
        if (obstacle_passes(process->pid) && g_get_monotonic_time() < until)
            continue;
        g_autofree char *now = value_of(process, "TracerPid");
        if (g_strcmp0(tracer, now) == 0 || g_get_monotonic_time() >= until)
            return g_steal_pointer(&tracer);
    }
}

/* TRUE, with ERROR set, if another process traces it. */
static gboolean
is_traced(const Process *process, GError **error)
{
    g_autofree char *tracer = lasting_tracer(process);
    if (tracer == NULL)
        return FALSE;
    Process other;
    g_autofree char *who = process_read(atoi(tracer), &other) ? g_strdup(other.name) : g_strdup("a process");
    g_autofree char *why = g_strdup_printf("%s (%s) is already tracing it; end it first", who, tracer);
    set_denied(process, error, why);
    return TRUE;
}

static gboolean
is_foreign_image(const Process *process)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/exe", (int)process->pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    unsigned char head[EI_NIDENT];
    gboolean foreign = fd >= 0 && read(fd, head, sizeof(head)) == (ssize_t)sizeof(head) &&
                       memcmp(head, ELFMAG, SELFMAG) == 0 && head[EI_CLASS] != ELFCLASS64;
    if (fd >= 0)
        close(fd);
    return foreign;
}

/* Its first thread may have ended alone, or before the others of a process that ends. */
static gboolean
ends_soon(const Process *process)
{
    const gint64 until = g_get_monotonic_time() + ENDING_US;
    while (process_alive(process->pid, process->start_time)) {
        if (g_get_monotonic_time() >= until)
            return FALSE;
        g_usleep(ENDING_US / 100);
    }
    return TRUE;
}

gboolean
obstacle_check(const Process *process, GError **error)
{
    if (process_has_ended(process) || (process->state == 'Z' && ends_soon(process))) {
        g_set_error(error, TARGET_ERROR, OUTCOME_GONE, "%s (%d) has ended (a zombie)", process->name,
                    (int)process->pid);
        return FALSE;
    }
    if (process->state == 'Z') {
        set_denied(process, error, "its first thread has ended; restart it under 'jescope run'");
        return FALSE;
    }
    if (is_traced(process, error))
        return FALSE;
    if (is_foreign_image(process)) {
        set_denied(process, error, "it is a 32-bit process; start it under 'jescope run' of that architecture");
        return FALSE;
    }
    g_autofree char *shadow = value_of(process, "x86_Thread_features");
    if (shadow != NULL && strstr(shadow, "shstk") != NULL) {
        set_denied(process, error, "it runs with a shadow stack; restart it under 'jescope run'");
        return FALSE;
    }
    return TRUE;
}

static int
ptrace_scope(void)
{
    g_autofree char *text = NULL;
    return g_file_get_contents("/proc/sys/kernel/yama/ptrace_scope", &text, NULL, NULL) ? atoi(text) : 0;
}

void
obstacle_set_denied(const Process *process, int code, GError **error)
{
    int scope = ptrace_scope();
    g_autofree char *user = user_name(process->uids[1]);
    g_autofree char *as_user = g_strdup_printf("it belongs to user %s; run jescope as root", user);
    if (is_traced(process, error))
        return;
    if (scope == SCOPE_NOBODY)
        set_denied(process, error,
                   "kernel.yama.ptrace_scope is 3, which forbids it for all users until the next boot; restart it "
                   "under 'jescope run'");
    else if (!process_is_ours(process))
        set_denied(process, error, as_user);
    else if (!we_have(CAP_SYS_PTRACE) && scope == SCOPE_OWN)
        set_denied(process, error,
                   "kernel.yama.ptrace_scope is 1; run jescope as root, or 'sysctl kernel.yama.ptrace_scope=0'");
    else if (!we_have(CAP_SYS_PTRACE) && scope == SCOPE_ROOT)
        set_denied(process, error, "kernel.yama.ptrace_scope is 2; run jescope as root");
    else if (!we_have(CAP_SYS_PTRACE))
        set_denied(process, error, "it has privileges, ids other than yours, or is not dumpable; run jescope as root");
    else
        set_denied(process, error,
                   code == EPERM || code == EACCES
                       ? "the kernel refuses; run jescope with CAP_SYS_PTRACE in the target's user namespace "
                         "or above, outside of any container"
                       : g_strerror(code));
}

gboolean
obstacle_may_attach(const Process *process, GError **error)
{
    if (!obstacle_check(process, error))
        return FALSE;
    if (ptrace_scope() < SCOPE_NOBODY &&
        (we_have(CAP_SYS_PTRACE) || (process_is_ours(process) && ptrace_scope() < SCOPE_OWN)))
        return TRUE;
    obstacle_set_denied(process, EPERM, error);
    return FALSE;
}
