/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/supervisor.h"

#include "confine/death-signal.h"
#include "confine/thread-calls.h"
#include "confine/walk.h"
#include "target/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    LOOK_MIN_MS = 500, /* minimum interval of checks of the child; randomized, so that no file system can avoid them */
    LOOK_MAX_MS = 1500,
    PATIENCE_US = 10 * G_USEC_PER_SEC, /* for a single system call */
    TOTAL_US = 30 * G_USEC_PER_SEC,    /* for all together: excess over the time spent otherwise */
    END_MS = 1000,                     /* time to end for a killed child */
    IN_A_FAULT = -1,
};

/* How a system call identifies its file. */
typedef enum {
    ABOUT_PATH,   /* the first argument */
    ABOUT_PATH_2, /* the second one */
    ABOUT_FD,     /* the first one, of a file */
    ABOUT_ANY_FD, /* the first one, of any kind */
    ABOUT_SHARED, /* the first one, a file of /proc or a memory file, which the process may have and lock as well */
    ABOUT_SEALS,  /* the same, if the second argument is F_ADD_SEALS */
    ABOUT_MEMORY, /* memory of the process in the first one */
    ABOUT_TRACED, /* the process in the second one, which may be in execve() without end */
    ABOUT_NOTHING,
} About;

static const struct {
    long number;
    About about;
} calls[] = {
    {IN_A_FAULT, ABOUT_NOTHING},
    {SYS_openat, ABOUT_PATH_2},
    {SYS_openat2, ABOUT_PATH_2},
    {SYS_newfstatat, ABOUT_PATH_2},
    {SYS_statx, ABOUT_PATH_2},
    {SYS_readlinkat, ABOUT_PATH_2},
    {SYS_faccessat, ABOUT_PATH_2},
    {SYS_mkdirat, ABOUT_PATH_2},
    {SYS_statfs, ABOUT_PATH},
#ifdef SYS_open
    {SYS_open, ABOUT_PATH},
    {SYS_stat, ABOUT_PATH},
    {SYS_lstat, ABOUT_PATH},
    {SYS_access, ABOUT_PATH},
    {SYS_readlink, ABOUT_PATH},
#endif
    {SYS_read, ABOUT_FD},
    {SYS_pread64, ABOUT_FD},
    {SYS_getdents64, ABOUT_FD},
    {SYS_fstat, ABOUT_ANY_FD},
    {SYS_fstatfs, ABOUT_ANY_FD},
    {SYS_close, ABOUT_ANY_FD},
    {SYS_process_vm_readv, ABOUT_MEMORY},
    {SYS_process_vm_writev, ABOUT_MEMORY},
    {SYS_pwrite64, ABOUT_SHARED},
    {SYS_write, ABOUT_SHARED},
    {SYS_ftruncate, ABOUT_SHARED},
    {SYS_fallocate, ABOUT_SHARED},
    {SYS_fcntl, ABOUT_SEALS},
    {SYS_ptrace, ABOUT_TRACED},
    {SYS_pidfd_getfd, ABOUT_ANY_FD},
};

static char *
path_in(pid_t pid, guint64 address)
{
    char text[4096] = "";
    for (gsize at = 0; at + 1 < sizeof(text); at++) { /* one by one: the next page may not be there */
        const struct iovec to = {text + at, 1}, from = {(void *)(gsize)(address + at), 1};
        if (process_vm_readv(pid, &to, 1, &from, 1, 0) != 1 || text[at] == '\0')
            break;
    }
    return g_strdup(text);
}

/* A file of /proc or a memory file, or NULL. */
static char *
shared_file(char *name)
{
    if (g_str_has_prefix(name, "/proc/") || g_str_has_prefix(name, "/memfd:"))
        return name;
    g_free(name);
    return NULL;
}

static char *
link_of(pid_t pid, guint64 fd)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/fd/%" G_GUINT64_FORMAT, (int)pid, fd);
    char *link = g_file_read_link(path, NULL);
    return link != NULL ? link : g_strdup("a file");
}

static gboolean paths_may_wait; /* an operand is a path that others decide on */

/* Whether others may decide how long NAME, which is looked up, takes. */
static gboolean
name_may_wait(long number, const char *name)
{
    return paths_may_wait || number == SYS_openat2 || name[0] == '\0' || g_str_has_prefix(name, "/proc/");
}

/* Whether others may decide how long the file NAME, a descriptor of PID, takes. Its file system is not asked. */
static gboolean
file_may_wait(pid_t pid, guint64 fd, const char *name)
{
    struct statx status;
    g_autofree char *path = g_strdup_printf("/proc/%d/fd/%" G_GUINT64_FORMAT, (int)pid, fd);
    if (g_str_has_prefix(name, "/proc/"))
        return TRUE;
    return paths_may_wait && statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_TYPE, &status) == 0 &&
           (S_ISREG(status.stx_mode) || S_ISDIR(status.stx_mode));
}

/* The file that CALL waits for, to be freed; NULL: it may wait. */
static char *
waits_for(pid_t pid, const ThreadCall *call)
{
    gsize i = 0;
    while (i < G_N_ELEMENTS(calls) && calls[i].number != call->number)
        i++;
    if (i == G_N_ELEMENTS(calls))
        return NULL;
    g_autofree char *name = NULL;
    switch (calls[i].about) {
    case ABOUT_PATH:
    case ABOUT_PATH_2:
        name = path_in(pid, call->arguments[calls[i].about == ABOUT_PATH_2]);
        return name_may_wait(call->number, name) ? g_steal_pointer(&name) : NULL;
    case ABOUT_FD:
        name = link_of(pid, call->arguments[0]);
        return file_may_wait(pid, call->arguments[0], name) ? g_steal_pointer(&name) : NULL;
    case ABOUT_ANY_FD:
        return link_of(pid, call->arguments[0]);
    case ABOUT_SEALS:
        if (call->arguments[1] != F_ADD_SEALS)
            return NULL;
        return shared_file(link_of(pid, call->arguments[0]));
    case ABOUT_SHARED:
        return shared_file(link_of(pid, call->arguments[0]));
    case ABOUT_TRACED:
        return g_strdup_printf("process %d", (int)call->arguments[1]);
    case ABOUT_MEMORY:
        return g_strdup_printf("the memory of process %d", (int)call->arguments[0]);
    default:
        return g_strdup("a file that is mapped");
    }
}

/* The state of a child. */
typedef struct {
    pid_t pid;
    GHashTable *calls; /* thread-calls.h */
    gint64 looked_us;
    gint64 waited_us; /* excess of waiting over other time since then */
    gboolean asked;   /* to end, by a signal */
} Watched;

/* For a single call. */
static gint64
patience(const Watched *child)
{
    return child->asked ? END_MS * (gint64)1000 : PATIENCE_US;
}

typedef enum {
    WAIT_NONE,
    WAIT_SHORT,
    WAIT_LONG, /* in one call */
} Wait;

/* Whether a thread waits for a file of another user; *WHAT: which file, to be freed. */
static Wait
look_at_threads(const Watched *child, char **what)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/task", (int)child->pid);
    g_autoptr(GDir) threads = g_dir_open(path, 0, NULL);
    const char *thread;
    Wait wait = WAIT_NONE;
    *what = NULL;
    while (threads != NULL && wait != WAIT_LONG && (thread = g_dir_read_name(threads)) != NULL) {
        const ThreadCall *call = thread_calls_look(child->calls, child->pid, thread);
        char *file = call != NULL ? waits_for(child->pid, call) : NULL;
        if (file == NULL)
            continue;
        g_free(*what);
        *what = file;
        wait = g_get_monotonic_time() - call->seen_us > patience(child) ? WAIT_LONG : WAIT_SHORT;
    }
    return wait;
}

/* The reason to give the child up, to be freed; NULL: it may continue. */
static char *
look(Watched *child)
{
    g_autofree char *what = NULL;
    const Wait wait = look_at_threads(child, &what);
    const gint64 now = g_get_monotonic_time(), since = now - child->looked_us;
    child->looked_us = now;
    child->waited_us = MAX(child->waited_us + (wait != WAIT_NONE ? since : -since), 0);
    if (wait == WAIT_LONG)
        return g_strdup_printf("%s has not answered for %d s", what, (int)(patience(child) / G_USEC_PER_SEC));
    if (child->waited_us > TOTAL_US)
        return g_strdup_printf("%s, and what was read before it, has taken %d s longer to answer than all else", what,
                               (int)(TOTAL_US / G_USEC_PER_SEC));
    return NULL;
}

static const int passed_on[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH};

/* A terminal sends its signals to the child as well. CHILD is 0 if it has ended. Whether one was to end it. */
static gboolean
pass_on(int signals, pid_t child)
{
    struct signalfd_siginfo info;
    gboolean asked = FALSE;
    while (read(signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        asked |= info.ssi_signo == SIGINT || info.ssi_signo == SIGTERM || info.ssi_signo == SIGHUP ||
                 info.ssi_signo == SIGQUIT;
        if (info.ssi_code <= 0 && child > 0)
            kill(child, (int)info.ssi_signo);
    }
    return asked;
}

/* ---- output ---- */

/* Output that the reader reads to its end: a child that cannot be killed would keep it open. */
typedef struct {
    int from, to;  /* from: -1: none */
    gboolean full; /* there may be data, and TO accepts none at present */
} Relay;

enum {
    OUTPUTS = 2,
    PIECE = 4096, /* accepted at once by a pipe that accepts anything (PIPE_BUF) */
    PIECES = 16,  /* before signals are checked again */
};

static gboolean
write_all(int to, const char *bytes, gsize size)
{
    while (size > 0) {
        const ssize_t n = write(to, bytes, size);
        if (n < 0 && errno != EINTR)
            return FALSE;
        bytes += MAX(n, 0);
        size -= (gsize)MAX(n, 0);
    }
    return TRUE;
}

/* FALSE: there is no data, or FROM was closed, at its end or because the output is closed. */
static gboolean
relay_piece(Relay *relay)
{
    char bytes[PIECE];
    const ssize_t got = read(relay->from, bytes, sizeof(bytes));
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return FALSE;
    if (got > 0 && write_all(relay->to, bytes, (gsize)got))
        return TRUE;
    close(relay->from);
    relay->from = -1;
    return FALSE;
}

/* Copies some data. Waits MS for TO to accept it. TRUE: there may be more that it accepts. */
static gboolean
relay_some(Relay *relay, int ms)
{
    struct pollfd to = {.fd = relay->to, .events = POLLOUT};
    gboolean more = relay->from >= 0;
    for (guint i = 0; i < PIECES && more; i++) {
        relay->full = poll(&to, 1, ms) <= 0;
        more = !relay->full && relay_piece(relay);
    }
    return more;
}

/* The next events to wait for. */
static struct pollfd
relay_event(const Relay *relay)
{
    const gboolean waits = relay->from >= 0 && relay->full;
    return (struct pollfd){.fd = waits ? relay->to : relay->from, .events = waits ? POLLOUT : POLLIN};
}

/* *WRITTEN: the end for the child. */
static void
relay_begin(int to, Relay *relay, int *written)
{
    struct stat status;
    int ends[2];
    *relay = (Relay){.from = -1, .to = to};
    *written = -1;
    if (fstat(to, &status) != 0 || !(S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode)) ||
        pipe2(ends, O_CLOEXEC) != 0)
        return;
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    relay->from = ends[0];
    *written = ends[1];
}

static gboolean
is_same_output(void)
{
    struct stat one, other;
    return fstat(STDOUT_FILENO, &one) == 0 && fstat(STDERR_FILENO, &other) == 0 && one.st_dev == other.st_dev &&
           one.st_ino == other.st_ino;
}

/* ---- the end ---- */

/* Forwards what a killed child has written as far as the output accepts it at once. Otherwise waits for the output,
 * until a signal. */
static void G_GNUC_NORETURN
end_like(pid_t child, int signals, Relay relays[OUTPUTS])
{
    int status = 0;
    sigset_t all;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    pass_on(signals, 0); /* signals received before its end were meant for it */
    sigfillset(&all);
    sigprocmask(SIG_UNBLOCK, &all, NULL);
    for (guint i = 0; i < OUTPUTS; i++)
        while (relay_some(&relays[i], WIFSIGNALED(status) ? 0 : -1))
            continue;
    if (!WIFSIGNALED(status))
        _exit(WEXITSTATUS(status));
    signal(WTERMSIG(status), SIG_DFL);
    raise(WTERMSIG(status));
    _exit(EXIT_FAILURE);
}

static void G_GNUC_NORETURN
give_up(pid_t child, int pidfd, const char *why, SupervisorSay say)
{
    struct pollfd end = {.fd = pidfd, .events = POLLIN};
    kill(child, SIGKILL);
    poll(&end, 1, END_MS);
    say("%s: it is in a file system that another user answers for; nothing was found out. End the process, or run "
        "jescope as its user",
        why);
    _exit(EXIT_FAILURE);
}

/* For kernels without pidfd_open(). */
static gboolean
has_ended(pid_t child)
{
    siginfo_t end = {0};
    return waitid(P_PID, (id_t)child, &end, WEXITED | WNOHANG | WNOWAIT) == 0 && end.si_pid == child;
}

static void G_GNUC_NORETURN
supervise(pid_t child, int signals, Relay relays[OUTPUTS], SupervisorSay say)
{
    int pidfd = pidfd_open(child, 0);
    Watched watched = {.pid = child, .looked_us = g_get_monotonic_time()};
    watched.calls = thread_calls_new();
    for (gint64 look_us = watched.looked_us + LOOK_MIN_MS * 1000;;) {
        struct pollfd events[] = {{.fd = pidfd, .events = POLLIN},
                                  {.fd = signals, .events = POLLIN},
                                  relay_event(&relays[0]),
                                  relay_event(&relays[1])};
        const gint64 ms = (look_us - g_get_monotonic_time()) / 1000;
        const int n = poll(events, G_N_ELEMENTS(events), (int)CLAMP(ms, 0, LOOK_MAX_MS));
        if (has_ended(child) || (n > 0 && events[0].revents != 0))
            end_like(child, signals, relays);
        if (n > 0)
            watched.asked |= pass_on(signals, child);
        for (guint i = 0; i < OUTPUTS && n > 0; i++)
            relay_some(&relays[i], 0);
        if (g_get_monotonic_time() < look_us)
            continue;
        const char *why = look(&watched);
        if (why != NULL)
            give_up(child, pidfd, why, say);
        look_us = g_get_monotonic_time() + g_random_int_range(LOOK_MIN_MS, LOOK_MAX_MS) * 1000;
    }
}

static gboolean
is_url(const char *operand)
{
    return strstr(operand, "://") != NULL || g_str_has_prefix(operand, "unix:");
}

static gboolean
is_path_of_others(const char *operand)
{
    return !is_url(operand) && strchr(operand, '/') != NULL && !walk_is_decided_by_us(operand);
}

/* Whether it is a process of another user, or may name one. */
static gboolean
is_process_of_others(const char *operand)
{
    uid_t user;
    pid_t pid;
    guint64 start;
    if (process_operand_parse(operand, &pid, &start))
        return process_may_delay(pid, &user);
    /* Also if a file has the name: most commands use none, and another user may have made it. */
    return !is_url(operand) && strchr(operand, '/') == NULL && strcmp(operand, "-") != 0;
}

static void
become_supervised(pid_t parent, const int written[OUTPUTS])
{
    death_signal_bind(parent);
    for (int i = 0; i < OUTPUTS; i++)
        if (written[i] >= 0)
            dup2(written[i], STDOUT_FILENO + i);
}

static void
split(int signals, const sigset_t *before, SupervisorSay say)
{
    Relay relays[OUTPUTS];
    int written[OUTPUTS];
    const pid_t self = getpid();
    relay_begin(STDOUT_FILENO, &relays[0], &written[0]);
    if (is_same_output()) {
        relays[1] = (Relay){.from = -1, .to = STDERR_FILENO};
        written[1] = written[0];
    } else {
        relay_begin(STDERR_FILENO, &relays[1], &written[1]);
    }
    const pid_t child = fork();
    if (child == 0)
        become_supervised(self, written);
    for (guint i = 0; i < OUTPUTS; i++) {
        if (written[i] >= 0 && (i == 0 || written[i] != written[0]))
            close(written[i]);
        if (child <= 0 && relays[i].from >= 0)
            close(relays[i].from);
    }
    if (child > 0) {
        signal(SIGPIPE, SIG_IGN);
        supervise(child, signals, relays, say);
    }
    close(signals);
    sigprocmask(SIG_SETMASK, before, NULL);
}

void
supervisor_begin(char *const *operands, SupervisorSay say)
{
    sigset_t signals, before;
    gboolean any = FALSE;
    for (; geteuid() == 0 && *operands != NULL; operands++) {
        any |= is_process_of_others(*operands);
        paths_may_wait |= is_path_of_others(*operands);
    }
    if (!any && !paths_may_wait)
        return;
    sigemptyset(&signals);
    for (gsize i = 0; i < G_N_ELEMENTS(passed_on); i++)
        sigaddset(&signals, passed_on[i]);
    sigprocmask(SIG_BLOCK, &signals, &before);
    const int descriptor = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    if (descriptor >= 0)
        split(descriptor, &before, say);
    else
        sigprocmask(SIG_SETMASK, &before, NULL);
}

/* ---- work of a command that stays ---- */

/* A child with a deadline, which a signal brings forward. */
typedef struct {
    const SupervisorWork *work;
    Watched watched;
    gboolean is_delayable; /* by another user */
    int pidfd;             /* or -1 */
    gint64 until_us;
} Working;

/* The reason to give the child up, to be freed; NULL: it may continue. */
static char *
judge_work(Working *working)
{
    if (g_get_monotonic_time() <= working->until_us)
        return working->is_delayable ? look(&working->watched) : NULL;
    return working->watched.asked ? g_strdup("a signal was received before it had ended")
                                  : g_strdup_printf("it took longer than %u s", working->work->seconds);
}

/* Waits for its end or a signal. Whether it has ended. */
static gboolean
wait_for_work(Working *working)
{
    struct pollfd events[] = {{.fd = working->pidfd, .events = POLLIN},
                              {.fd = working->watched.asked ? -1 : working->work->signals, .events = POLLIN}};
    poll(events, G_N_ELEMENTS(events), g_random_int_range(LOOK_MIN_MS, LOOK_MAX_MS));
    if (events[1].revents != 0) {
        working->watched.asked = TRUE;
        working->until_us = MIN(working->until_us, g_get_monotonic_time() + SUPERVISOR_END_S * G_USEC_PER_SEC);
    }
    return has_ended(working->watched.pid);
}

/* The reason why the child did not end by itself, to be freed; NULL: it did. */
static char *
supervise_work(Working *working)
{
    struct pollfd end = {.fd = working->pidfd, .events = POLLIN};
    char *why = NULL;
    while (why == NULL && !wait_for_work(working))
        why = judge_work(working);
    if (why != NULL) {
        kill(-working->watched.pid, SIGKILL);
        poll(&end, 1, END_MS);
    }
    return why;
}

/* A child that cannot be killed would keep open the outputs of the command, whose reader waits for their end. */
static void
discard_output(void)
{
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0)
        _exit(EXIT_FAILURE);
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        dup2(null, fd);
}

static void G_GNUC_NORETURN
do_work(const SupervisorWork *work, pid_t parent, gboolean is_delayable)
{
    death_signal_bind(parent);
    signal(SIGTTOU, SIG_IGN); /* it prints from a process group that is not the terminal's */
    if (is_delayable)
        discard_output();
    work->run(work->data);
    _exit(EXIT_SUCCESS);
}

char *
supervisor_run(const SupervisorWork *work)
{
    uid_t user;
    int status = 0;
    const gboolean is_delayable = geteuid() == 0 && process_may_delay(work->pid, &user);
    const pid_t self = getpid(), child = fork();
    if (child < 0)
        return g_strdup_printf("no process can be started: %s", g_strerror(errno));
    setpgid(child, 0); /* also of its own readers, which a child that waits for a file keeps from ending */
    if (child == 0)
        do_work(work, self, is_delayable);
    Working working = {.work = work,
                       .watched = {.pid = child, .looked_us = g_get_monotonic_time(), .calls = thread_calls_new()},
                       .is_delayable = is_delayable,
                       .pidfd = pidfd_open(child, 0),
                       .until_us = g_get_monotonic_time() + work->seconds * G_USEC_PER_SEC};
    char *why = supervise_work(&working);
    g_hash_table_unref(working.watched.calls);
    if (working.pidfd >= 0)
        close(working.pidfd);
    if (waitpid(child, &status, why != NULL ? WNOHANG : 0) == child && why == NULL && WIFSIGNALED(status))
        return g_strdup_printf("its child process was ended by signal %d", WTERMSIG(status));
    return why;
}
