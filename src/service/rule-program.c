/* SPDX-License-Identifier: Apache-2.0 */
#include "service/rule-program.h"

#include <errno.h>
#include <fcntl.h>
#include <glib-unix.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    GRACE_S = 2, /* seconds from SIGTERM to SIGKILL, and from there until it is given up */
    GROUPS_MAX = 256,
    FIRST_FILE = STDERR_FILENO + 1,
    FILES_MAX = 4,
    ERROR_PIPE = FIRST_FILE + FILES_MAX, /* its descriptor in the child */
    EXIT_NOT_EXECUTED = 127,
};

/* What was done to end it. */
typedef enum { PHASE_RUNS, PHASE_TERMINATED, PHASE_KILLED } Phase;

struct RuleProgram {
    pid_t pid; /* also its process group; a child, and a zombie until on_ended() */
    int pidfd;
    int errors; /* the pipe into which the child writes errno if it could not execute the program */
    GSource *end, *timer;
    gint64 limit_us;
    Phase phase;
    gboolean stopped;     /* why it was terminated */
    RuleProgramDone done; /* NULL: called */
    gpointer data;
};

/* The rights that the child assumes; uid -1: unchanged. */
typedef struct {
    uid_t uid;
    gid_t gid;
    gid_t groups[GROUPS_MAX];
    int n_groups;
    pid_t parent;
} Rights;

/* ---- in the child, where other threads may have held locks: system calls only ---- */

static gboolean
become(const Rights *rights)
{
    return rights->uid == (uid_t)-1 || (setgroups((size_t)rights->n_groups, rights->groups) == 0 &&
                                        setgid(rights->gid) == 0 && setuid(rights->uid) == 0);
}

/* Leaves the process nothing but its standard descriptors, FILES, ERRORS as ERROR_PIPE, and what closes on exec. */
static gboolean
place_files(const int *files, guint n, int errors)
{
    int moved[FILES_MAX];
    const int null = fcntl(open("/dev/null", O_RDWR | O_CLOEXEC), F_DUPFD_CLOEXEC, ERROR_PIPE + 1);
    errors = fcntl(errors, F_DUPFD_CLOEXEC, ERROR_PIPE + 1);
    for (guint i = 0; i < n; i++)
        moved[i] = files[i] >= 0 ? fcntl(files[i], F_DUPFD_CLOEXEC, ERROR_PIPE + 1) : -1;
    if (dup3(errors, ERROR_PIPE, O_CLOEXEC) < 0)
        return FALSE;
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (dup2(null, fd) < 0)
            return FALSE;
    for (guint i = 0; i < FILES_MAX; i++)
        if (i >= n || files[i] < 0)
            close(FIRST_FILE + (int)i);
        else if (dup2(moved[i], FIRST_FILE + (int)i) < 0)
            return FALSE;
    return syscall(SYS_close_range, ERROR_PIPE + 1, ~0U, 0) == 0 || errno == ENOSYS;
}

static void G_GNUC_NORETURN
run_child(const RuleProgramSetup *setup, const Rights *rights, int errors)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    if (setpgid(0, 0) == 0 && chdir("/") == 0 && place_files(setup->files, MIN(setup->n_files, FILES_MAX), errors) &&
        become(rights) &&
        /* After setuid(), which resets it. The parent may have been killed before. */
        prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == rights->parent)
        execve(setup->argv[0], setup->argv, setup->environment);
    const int why = errno;
    G_GNUC_UNUSED const ssize_t written = write(ERROR_PIPE, &why, sizeof(why));
    _exit(EXIT_NOT_EXECUTED);
}

/* ---- in jescope ---- */

static void
end_timer(RuleProgram *program)
{
    if (program->timer != NULL)
        g_source_destroy(program->timer);
    g_clear_pointer(&program->timer, g_source_unref);
}

static void
send_signal(const RuleProgram *program, int number)
{
    kill(-program->pid, number);
    if (number == SIGKILL ||
        getpgid(program->pid) != program->pid) /* it may lead no group any more, but be in another */
        pidfd_send_signal(program->pidfd, number, NULL, 0);
}

/* It is reaped when it ends, also after this. */
void
rule_program_free(RuleProgram *program)
{
    if (program == NULL)
        return;
    program->done = NULL;
    end_timer(program);
    send_signal(program, SIGKILL);
}

/* Once it is reaped, or the context is freed. */
static void
free_program(gpointer data)
{
    RuleProgram *program = data;
    end_timer(program);
    close(program->pidfd);
    close(program->errors);
    g_free(program);
}

static void
tell_done(RuleProgram *program, const char *failure)
{
    const RuleProgramDone done = program->done;
    program->done = NULL;
    end_timer(program);
    if (done != NULL)
        done(failure, program->data);
}

static gboolean
find_rights(const char *user, Rights *rights, GError **error)
{
    *rights = (Rights){.uid = (uid_t)-1, .n_groups = GROUPS_MAX, .parent = getpid()};
    if (user == NULL || geteuid() != 0)
        return TRUE;
    g_autofree struct passwd *entry = g_unix_get_passwd_entry(user, error);
    if (entry == NULL)
        return FALSE;
    if (getgrouplist(entry->pw_name, entry->pw_gid, rights->groups, &rights->n_groups) < 0) {
        g_set_error(error, G_SPAWN_ERROR, G_SPAWN_ERROR_FAILED, "user '%s' is in too many groups", user);
        return FALSE;
    }
    rights->uid = entry->pw_uid;
    rights->gid = entry->pw_gid;
    return TRUE;
}

static void
end_within_grace(RuleProgram *program, Phase phase, int number)
{
    program->phase = phase;
    send_signal(program, number);
    g_source_set_ready_time(program->timer, g_get_monotonic_time() + GRACE_S * G_USEC_PER_SEC);
}

static gboolean
on_late(gpointer data)
{
    RuleProgram *program = data;
    if (program->phase == PHASE_RUNS)
        end_within_grace(program, PHASE_TERMINATED, SIGTERM);
    else if (program->phase == PHASE_TERMINATED)
        end_within_grace(program, PHASE_KILLED, SIGKILL);
    else
        tell_done(program, "it did not end when it was killed, and is left alone");
    return G_SOURCE_CONTINUE;
}

void
rule_program_stop(RuleProgram *program)
{
    if (program->phase != PHASE_RUNS)
        return;
    program->stopped = TRUE;
    end_within_grace(program, PHASE_TERMINATED, SIGTERM);
}

/* A sentence, to be freed; NULL: it exited with status 0. */
static char *
failure_of(const RuleProgram *program, int status)
{
    g_autoptr(GError) error = NULL;
    int why;
    if (program->stopped)
        return g_strdup("it was ended, since jescope was told to stop");
    if (program->phase != PHASE_RUNS)
        return g_strdup_printf("it did not end within %" G_GINT64_FORMAT " s and was killed",
                               program->limit_us / G_USEC_PER_SEC);
    if (read(program->errors, &why, sizeof(why)) == sizeof(why))
        return g_strdup_printf("it cannot be executed: %s", g_strerror(why));
    return g_spawn_check_wait_status(status, &error) ? NULL : g_strdup(error->message);
}

static gboolean
on_ended(gint pidfd, GIOCondition condition, gpointer data)
{
    RuleProgram *program = data;
    int status = -1;
    /* Before its number can be another's: children that it has left running. */
    send_signal(program, SIGKILL);
    while (waitpid(program->pid, &status, 0) < 0 && errno == EINTR)
        continue;
    g_autofree char *failure = failure_of(program, status);
    tell_done(program, failure);
    return G_SOURCE_REMOVE;
}

static gboolean
dispatch_timer(GSource *source, GSourceFunc func, gpointer data)
{
    return func(data);
}

static void
watch(RuleProgram *program, GMainContext *context)
{
    static GSourceFuncs funcs = {.dispatch = dispatch_timer};
    g_autoptr(GSource) end = g_unix_fd_source_new(program->pidfd, G_IO_IN);
    g_source_set_callback(end, G_SOURCE_FUNC(on_ended), program, free_program);
    g_source_attach(end, context);
    program->timer = g_source_new(&funcs, sizeof(GSource));
    g_source_set_callback(program->timer, on_late, program, NULL);
    g_source_set_ready_time(program->timer, g_get_monotonic_time() + program->limit_us);
    g_source_attach(program->timer, context);
}

static gpointer
set_not_started(GError **error)
{
    g_set_error(error, G_SPAWN_ERROR, G_SPAWN_ERROR_FORK, "cannot start a process: %s", g_strerror(errno));
    return NULL;
}

/* Does not wait until the child executes the program: its user may stop it before. */
RuleProgram *
rule_program_start(const RuleProgramSetup *setup, GMainContext *context, RuleProgramDone done, gpointer data,
                   GError **error)
{
    Rights rights;
    int errors[2];
    if (!find_rights(setup->user, &rights, error))
        return NULL;
    if (pipe2(errors, O_CLOEXEC | O_NONBLOCK) != 0)
        return set_not_started(error);
    const pid_t pid = fork();
    if (pid == 0)
        run_child(setup, &rights, errors[1]);
    close(errors[1]);
    const int pidfd = pid > 0 ? pidfd_open(pid, 0) : -1;
    if (pidfd < 0) {
        set_not_started(error);
        close(errors[0]);
        if (pid > 0) {
            kill(pid, SIGKILL);
            waitpid(pid, NULL, 0);
        }
        return NULL;
    }
    setpgid(pid, pid); /* as the child does, which may come later */
    RuleProgram *program = g_new0(RuleProgram, 1);
    *program = (RuleProgram){
        .pid = pid, .pidfd = pidfd, .errors = errors[0], .limit_us = setup->limit_us, .done = done, .data = data};
    watch(program, context);
    return program;
}
