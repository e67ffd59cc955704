/* SPDX-License-Identifier: Apache-2.0 */
#include "service/rule-process.h"

#include "confine/forking.h"
#include "confine/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <gio/gio.h>
#include <glib-unix.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

enum {
    GROUPS_MAX = 256,
    FIRST_FILE = 3,
    FILES_MAX = 4,
    FAILURE_FILE = FIRST_FILE + FILES_MAX, /* in the child: what it could not do */
    FIRST_FREE = FAILURE_FILE + 1,
    FAILED = 127,
};

/* The rights that the child assumes; uid -1: unchanged. */
typedef struct {
    uid_t uid;
    gid_t gid;
    gid_t groups[GROUPS_MAX];
    int n_groups;
} Rights;

typedef struct {
    const RuleProgramSetup *setup;
    Rights rights;
    pid_t parent;
    int nothing; /* /dev/null */
    int failure;
} Child;

static gboolean
fail(const char *what, GError **error)
{
    const int number = errno;
    g_set_error(error, G_IO_ERROR, g_io_error_from_errno(number), "%s: %s", what, g_strerror(number));
    return FALSE;
}

static gboolean
find_rights(const char *user, Rights *rights, GError **error)
{
    *rights = (Rights){.uid = (uid_t)-1, .n_groups = GROUPS_MAX};
    if (user == NULL || geteuid() != 0)
        return TRUE;
    g_autofree struct passwd *entry = g_unix_get_passwd_entry(user, error);
    if (entry == NULL)
        return FALSE;
    if (getgrouplist(entry->pw_name, entry->pw_gid, rights->groups, &rights->n_groups) < 0) {
        g_set_error(error, G_IO_ERROR, G_IO_ERROR_FAILED, "user '%s' is in too many groups", user);
        return FALSE;
    }
    rights->uid = entry->pw_uid;
    rights->gid = entry->pw_gid;
    return TRUE;
}

/* ---- in the child: only system calls are allowed ---- */

/* All others are closed before processes of another user may stop the child. */
static gboolean
place_files(const Child *child)
{
    const RuleProgramSetup *setup = child->setup;
    int files[FILES_MAX], failure = fcntl(child->failure, F_DUPFD_CLOEXEC, FIRST_FREE);
    const int nothing = fcntl(child->nothing, F_DUPFD_CLOEXEC, FIRST_FREE);
    for (guint i = 0; i < FILES_MAX; i++) {
        const gboolean given = i < setup->n_files && setup->files[i] >= 0;
        files[i] = given ? fcntl(setup->files[i], F_DUPFD_CLOEXEC, FIRST_FREE) : -1;
        if (given && files[i] < 0)
            return FALSE;
    }
    if (failure < 0 || nothing < 0 || dup3(failure, FAILURE_FILE, O_CLOEXEC) < 0)
        return FALSE;
    for (int fd = STDIN_FILENO; fd < FIRST_FILE; fd++)
        if (dup2(nothing, fd) < 0)
            return FALSE;
    for (int i = 0; i < FILES_MAX; i++)
        if (files[i] < 0)
            close(FIRST_FILE + i);
        else if (dup2(files[i], FIRST_FILE + i) < 0)
            return FALSE;
    const gboolean closed = forking_close(FIRST_FREE, ~0u);
    forking_child_began();
    return closed;
}

/* Handlers of jescope are not called; what it ignores for itself is not ignored. */
static void
reset_signals(void)
{
    sigset_t none;
    for (int number = 1; number < NSIG; number++) {
        struct sigaction action;
        if (sigaction(number, NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            signal(number, SIG_DFL);
    }
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static gboolean
become(const Rights *rights)
{
    return rights->uid == (uid_t)-1 || (setgroups((size_t)rights->n_groups, rights->groups) == 0 &&
                                        setgid(rights->gid) == 0 && setuid(rights->uid) == 0);
}

static void G_GNUC_NORETURN
run_child(const Child *child)
{
    int failure = child->failure;
    if (setpgid(0, 0) == 0 && place_files(child)) {
        failure = FAILURE_FILE;
        reset_signals();
        terminal_leave();
        /* The death signal after setuid(), which resets it. The parent may have been killed before. */
        if (chdir("/") == 0 && become(&child->rights) && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 &&
            getppid() == child->parent)
            execve(child->setup->argv[0], child->setup->argv, child->setup->environment);
    }
    const int number = errno;
    G_GNUC_UNUSED const ssize_t n = write(failure, &number, sizeof(number)); /* otherwise, the status says it */
    _exit(FAILED);
}

/* ---- in the parent ---- */

/* Signals wait, so that the child calls no handler of jescope. Both sides make the group: each may be the first that
 * needs it. */
static pid_t
start_child(const Child *child)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const pid_t pid = forking_fork();
    if (pid == 0)
        run_child(child);
    const int number = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (pid > 0)
        setpgid(pid, pid);
    errno = number;
    return pid;
}

/* With an inherited SIG_IGN, the kernel gives the number of a child that has ended to others at once. */
static void
keep_ended_children(void)
{
    struct sigaction action;
    if (sigaction(SIGCHLD, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
        signal(SIGCHLD, SIG_DFL);
}

gboolean
rule_process_start(const RuleProgramSetup *setup, RuleProcess *process, GError **error)
{
    Child child = {.setup = setup, .parent = getpid()};
    int ends[2];
    if (!find_rights(setup->user, &child.rights, error))
        return FALSE;
    child.nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (child.nothing < 0)
        return fail("cannot open /dev/null", error);
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
        fail("cannot create a pipe", error);
        close(child.nothing);
        return FALSE;
    }
    child.failure = ends[1];
    keep_ended_children();
    *process = (RuleProcess){.pid = start_child(&child), .failure = ends[0]};
    if (process->pid < 0) {
        fail("cannot create a process", error);
        close(process->failure);
    }
    close(child.nothing);
    close(child.failure);
    return process->pid > 0;
}

int
rule_process_failure(const RuleProcess *process)
{
    int number;
    return read(process->failure, &number, sizeof(number)) == (ssize_t)sizeof(number) ? number : 0;
}
