/* SPDX-License-Identifier: Apache-2.0 */
#include "run/supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* Signals raised by faults of this process; these must not be blocked. */
static const int fault_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};

/* Signal settings to be restored for the program. */
typedef struct {
    sigset_t mask;
    struct sigaction child_action;
} Inherited;

/* Blocks signals, so that they wait for sigwaitinfo(), even those that would be ignored by default. */
static sigset_t
block_signals(Inherited *inherited)
{
    sigset_t watched;
    sigfillset(&watched);
    for (size_t i = 0; i < G_N_ELEMENTS(fault_signals); i++)
        sigdelset(&watched, fault_signals[i]);
    sigprocmask(SIG_BLOCK, &watched, &inherited->mask);
    /* With an inherited SIG_IGN the exit status would be lost. */
    struct sigaction standard = {.sa_handler = SIG_DFL};
    sigaction(SIGCHLD, &standard, &inherited->child_action);
    return watched;
}

static void
exec_program(const char *path, char **argv, char **environment, const Inherited *inherited, int report)
{
    sigaction(SIGCHLD, &inherited->child_action, NULL);
    sigprocmask(SIG_SETMASK, &inherited->mask, NULL);
    execvpe(path, argv, environment);
    int code = errno;
    while (write(report, &code, sizeof(code)) < 0 && errno == EINTR)
        ;
    _exit(SUPERVISE_NOT_FOUND);
}

/* 0 if the program runs; otherwise the errno of execve(). */
static int
read_report(int fd)
{
    int code = 0;
    ssize_t length;
    while ((length = read(fd, &code, sizeof(code))) < 0 && errno == EINTR)
        ;
    return length == sizeof(code) ? code : 0;
}

/* Like a shell's job: when the program is stopped from the terminal, jescope stops, too, which its parent detects. If
 * another process stops the program, jescope must not stop, since it would not be continued. */
static void
follow_stop(int stop_signal)
{
    gboolean from_terminal = stop_signal == SIGTSTP || stop_signal == SIGTTIN || stop_signal == SIGTTOU;
    if (from_terminal && getpid() != 1)
        kill(getpid(), SIGSTOP);
}

/* Reaps children; TRUE with the exit status if CHILD has exited. */
static gboolean
reap(pid_t child, int *status)
{
    pid_t pid;
    int how;
    gboolean ended = FALSE;
    while ((pid = waitpid(-1, &how, WNOHANG | WUNTRACED)) > 0) {
        if (pid != child)
            continue;
        if (WIFSTOPPED(how)) {
            follow_stop(WSTOPSIG(how));
            continue;
        }
        *status = WIFSIGNALED(how) ? SUPERVISE_SIGNAL_BASE + WTERMSIG(how) : WEXITSTATUS(how);
        ended = TRUE;
    }
    return ended;
}

/* The terminal sends signals to the whole process group, so the program has already received them unless it left the
 * group. */
static gboolean
reached_child(const siginfo_t *info, pid_t child)
{
    return info->si_code == SI_KERNEL && getpgid(child) == getpgrp();
}

static int
watch(pid_t child, const sigset_t *watched)
{
    int status = 0;
    siginfo_t info;
    while (!reap(child, &status)) {
        int signal = sigwaitinfo(watched, &info);
        if (signal > 0 && signal != SIGCHLD && !reached_child(&info, child))
            kill(child, signal);
    }
    return status;
}

static int
watch_with_hooks(pid_t child, const sigset_t *watched, const SuperviseHooks *hooks)
{
    if (hooks->started != NULL)
        hooks->started(child, hooks->data);
    int status = watch(child, watched);
    if (hooks->ended != NULL)
        hooks->ended(hooks->data);
    return status;
}

static int
set_not_started(const char *path, int code, GError **error)
{
    g_set_error(error, G_SPAWN_ERROR, G_SPAWN_ERROR_FAILED, "cannot run '%s': %s", path, g_strerror(code));
    return code == ENOENT ? SUPERVISE_NOT_FOUND : SUPERVISE_NOT_EXECUTABLE;
}

int
supervise(const char *path, char **argv, char **environment, const SuperviseHooks *hooks, GError **error)
{
    int report[2];
    if (pipe2(report, O_CLOEXEC) != 0)
        return set_not_started(path, errno, error);
    Inherited inherited;
    sigset_t watched = block_signals(&inherited);
    pid_t child = fork();
    if (child == 0)
        exec_program(path, argv, environment, &inherited, report[1]);
    int code = child < 0 ? errno : 0;
    close(report[1]);
    if (child > 0)
        code = read_report(report[0]);
    close(report[0]);
    if (child > 0 && code == 0)
        return watch_with_hooks(child, &watched, hooks);
    if (child > 0)
        waitpid(child, NULL, 0);
    return set_not_started(path, code, error);
}
