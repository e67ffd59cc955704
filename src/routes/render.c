/* SPDX-License-Identifier: Apache-2.0 */
#include "routes/render.h"

#include "routes/reply.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    SECONDS = 120,
    ARGUMENTS_MAX = 64,
    TEXT_MAX = 4096,
    STACK_SIZE = 64 * 1024,
    NICENESS = 10,
    STATUS_PARTIAL = 3, /* of `jescope report --partial`, which then says in the report what is missing */
    STATUS_USAGE = 2,
    NO_STATUS = -1,
};

static const uint64_t address_space = UINT64_C(4) << 30;
static const rlim_t output_max = (rlim_t)256 << 20;

/* The child's descriptors, in this order. */
enum { INPUT, OUTPUT, ERRORS, DUMP, BASE, STATUS, N_DESCRIPTORS };

/* One child. What it needs is made by the parent: between clone and exec it shares the parent's memory. */
typedef struct {
    const char *program;
    char *arguments[ARGUMENTS_MAX];
    char *environment[8];
    int descriptors[N_DESCRIPTORS]; /* in the parent; -1: none */
    struct rlimit limits[4];
    int exec_error;
    char program_text[TEXT_MAX];
    char texts[8][TEXT_MAX / 8];
} Child;

static const int limited[] = {RLIMIT_CPU, RLIMIT_FSIZE, RLIMIT_CORE, RLIMIT_AS};

/* A sanitizer's shadow is larger than any limit worth having. */
#if defined(__SANITIZE_ADDRESS__)
enum { N_LIMITED = 3 };
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
enum { N_LIMITED = 3 };
#else
enum { N_LIMITED = 4 };
#endif
#else
enum { N_LIMITED = 4 };
#endif

static RouteResult
fail(RouteFailure *failure, RouteResult result, int error, const char *what)
{
    failure->error = error;
    snprintf(failure->why, sizeof failure->why, "%.400s: %.100s", what, reply_error_name(error));
    return result;
}

/* ---- in the child: system calls alone, no memory is its own ---- */

static void
close_from(unsigned first)
{
    if (syscall(SYS_close_range, first, ~0u, 0) == 0) {
        return;
    }
    struct rlimit most;
    getrlimit(RLIMIT_NOFILE, &most);
    for (rlim_t number = first; number < most.rlim_cur && number < 65536; number++) {
        close((int)number);
    }
}

/* Moves the descriptors to 0, 1, 2...: out of the way first, since a source may sit where another has to go. */
static bool
place_descriptors(const Child *child)
{
    int moved[N_DESCRIPTORS];
    for (int i = 0; i < N_DESCRIPTORS; i++) {
        moved[i] = child->descriptors[i] < 0 ? -1 : fcntl(child->descriptors[i], F_DUPFD, N_DESCRIPTORS);
        if (moved[i] < 0 && child->descriptors[i] >= 0) {
            return false;
        }
    }
    for (int i = 0; i < N_DESCRIPTORS; i++) {
        if (moved[i] < 0) {
            close(i);
        } else if (dup2(moved[i], i) < 0) {
            return false;
        }
    }
    close_from(N_DESCRIPTORS);
    return true;
}

/* Where memory is short, this child goes, and not the service beside it. */
static void
offer_to_oom_killer(void)
{
    int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (file >= 0) {
        (void)!write(file, "1000", strlen("1000"));
        close(file);
    }
}

static void
become_modest(const Child *child)
{
    for (size_t i = 0; i < N_LIMITED; i++) {
        setrlimit((__rlimit_resource_t)limited[i], &child->limits[i]);
    }
    setpriority(PRIO_PROCESS, 0, NICENESS);
    offer_to_oom_killer();
}

static void
reset_signals(void)
{
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigset_t none;
    for (int number = 1; number < NSIG; number++) {
        sigaction(number, &action, NULL);
    }
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static int
run_child(void *data)
{
    Child *child = data;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    become_modest(child);
    if (place_descriptors(child)) {
        reset_signals();
        execve(child->program, child->arguments, child->environment);
    }
    child->exec_error = errno;
    _exit(127);
}

/* ---- in the parent ---- */

static bool
find_program(const char *name, char *text, size_t size)
{
    const char *path = secure_getenv("PATH");
    for (const char *at = path != NULL ? path : "/usr/local/bin:/usr/bin:/bin"; *at != '\0';) {
        size_t n = strcspn(at, ":");
        int length = snprintf(text, size, "%.*s/%s", (int)n, at, name);
        if (*at == '/' && length > 0 && (size_t)length < size && access(text, X_OK) == 0) {
            return true;
        }
        at += n + (at[n] == ':');
    }
    return false;
}

static void
set_limit(struct rlimit *limit, int resource, rlim_t most)
{
    if (getrlimit((__rlimit_resource_t)resource, limit) != 0) {
        *limit = (struct rlimit){RLIM_INFINITY, RLIM_INFINITY};
    }
    limit->rlim_cur = most < limit->rlim_max ? most : limit->rlim_max;
    limit->rlim_max = limit->rlim_cur;
}

static unsigned
seconds_of(const RenderSetup *setup)
{
    return setup->seconds != 0 ? setup->seconds : SECONDS;
}

static void
prepare_limits(Child *child, const RenderSetup *setup)
{
    /* Several threads may spend their time at once. */
    const rlim_t most[] = {(rlim_t)seconds_of(setup) * 4, output_max, 0,
                           setup->bytes != 0 ? setup->bytes : address_space};
    for (size_t i = 0; i < sizeof limited / sizeof limited[0]; i++) {
        set_limit(&child->limits[i], limited[i], most[i]);
    }
}

/* Nothing of the host's environment but where things are: LD_PRELOAD or MALLOC_CONF would make a target of the child.
 */
static void
prepare_environment(Child *child)
{
    static const char *const kept[] = {"HOME", "XDG_CACHE_HOME", "TMPDIR", "PATH"};
    size_t n = 0;
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
        const char *value = secure_getenv(kept[i]);
        int length = value == NULL ? -1 : snprintf(child->texts[n], sizeof child->texts[n], "%s=%s", kept[i], value);
        if (length > 0 && (size_t)length < sizeof child->texts[n]) {
            child->environment[n] = child->texts[n];
            n++;
        }
    }
    snprintf(child->texts[n], sizeof child->texts[n], RENDER_STATUS_VARIABLE "=%d", STATUS);
    child->environment[n] = child->texts[n];
    child->environment[++n] = NULL;
}

static bool
add_argument(Child *child, size_t *n, const char *argument)
{
    union {
        const char *in;
        char *out; /* execve() takes them so and changes nothing */
    } text = {argument};
    if (*n >= ARGUMENTS_MAX - 1) {
        return false;
    }
    child->arguments[(*n)++] = text.out;
    child->arguments[*n] = NULL;
    return true;
}

/* False: too many. */
static bool
prepare_arguments(Child *child, const RenderSetup *setup, const RouteRendering *rendering, char pid[static 32])
{
    const char *const fixed[] = {"jescope", "report", "--format", rendering->format};
    const char *const base[] = {"--base", "/proc/self/fd/4"};
    const char *const process[] = {"--pid", pid};
    const char *const title[] = {"--title", setup->title};
    const char *const end[] = {"--", "/proc/self/fd/3"};
    const struct {
        const char *const *words;
        size_t n;
        bool wanted;
    } groups[] = {
        {fixed, 4, true},
        {base, 2, rendering->base >= 0},
        {process, 2, setup->pid > 0},
        {title, 2, setup->title != NULL},
        {rendering->options, 0, rendering->options != NULL},
        {end, 2, true},
    };
    size_t n = 0;
    bool fits = true;
    snprintf(pid, 32, "%d", (int)setup->pid);
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
        for (size_t j = 0; groups[i].wanted && (groups[i].n > 0 ? j < groups[i].n : groups[i].words[j] != NULL); j++) {
            fits = fits && add_argument(child, &n, groups[i].words[j]);
        }
    }
    return fits;
}

static uint64_t
now_ms(void)
{
    struct timespec now = {0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Its exit status, as it said it; NO_STATUS: it ended without a word, or *in_time is false. A process that the host has
 * forked meanwhile may hold the other end of PIPE, so that its end says nothing; PIDFD (-1: an old kernel) does. */
static int
read_status(int pipe, int pidfd, uint64_t deadline, bool *in_time)
{
    for (;;) {
        uint64_t now = now_ms();
        struct pollfd ready[] = {{.fd = pipe, .events = POLLIN}, {.fd = pidfd, .events = POLLIN}};
        unsigned char byte;
        *in_time = now < deadline;
        if (!*in_time) {
            return NO_STATUS;
        }
        if (poll(ready, 2, (int)(deadline - now)) <= 0) {
            continue;
        }
        if (ready[0].revents != 0) {
            return read(pipe, &byte, 1) == 1 ? byte : NO_STATUS;
        }
        if (ready[1].revents != 0) {
            /* What it wrote before it ended is in the pipe. */
            return poll(ready, 1, 0) == 1 && read(pipe, &byte, 1) == 1 ? byte : NO_STATUS;
        }
    }
}

/* The host may have waited for it already, or have the kernel do so: then there is nothing left to wait for. Returns
 * the signal that ended it, 0: none or unknown. */
static int
reap(pid_t pid, int pidfd)
{
    siginfo_t ended = {0};
    int result;
    do {
        result = pidfd >= 0 ? waitid(P_PIDFD, (id_t)pidfd, &ended, WEXITED | __WALL)
                            : waitid(P_PID, (id_t)pid, &ended, WEXITED | __WALL);
    } while (result != 0 && errno == EINTR);
    bool by_signal = result == 0 && (ended.si_code == CLD_KILLED || ended.si_code == CLD_DUMPED);
    return by_signal ? ended.si_status : 0;
}

static void
kill_child(pid_t pid, int pidfd)
{
    if (pidfd >= 0) {
        syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
    } else {
        kill(pid, SIGKILL);
    }
}

/* The last line of what it wrote to its standard error, without our own name before it. */
static bool
read_sentence(int errors, char *text, size_t size)
{
    static const char own[] = "jescope: ";
    char tail[ROUTE_WHY_MAX * 2];
    off_t end = lseek(errors, 0, SEEK_END);
    off_t from = end > (off_t)sizeof tail - 1 ? end - (off_t)sizeof tail + 1 : 0;
    ssize_t n = pread(errors, tail, sizeof tail - 1, from);
    while (n > 0 && tail[n - 1] == '\n') {
        n--;
    }
    if (n <= 0) {
        return false;
    }
    tail[n] = '\0';
    const char *line = strrchr(tail, '\n');
    line = line != NULL ? line + 1 : tail;
    line += strncmp(line, own, strlen(own)) == 0 ? strlen(own) : 0;
    snprintf(text, size, "%.*s", (int)size - 1, line);
    return *text != '\0';
}

static RouteResult
judge(int status, int errors, int signal_number, unsigned seconds, RouteFailure *failure)
{
    failure->error = 0;
    if (status == 0 || status == STATUS_PARTIAL) {
        return ROUTE_DONE;
    }
    if (status != NO_STATUS && read_sentence(errors, failure->why, sizeof failure->why)) {
        return status == STATUS_USAGE ? ROUTE_INVALID : ROUTE_SYSTEM;
    }
    if (seconds > 0) {
        snprintf(failure->why, sizeof failure->why,
                 "the report took over %u seconds; ask for a simpler format, or take the dump and run jescope report",
                 seconds);
    } else {
        snprintf(
            failure->why, sizeof failure->why,
            "the report broke off (signal %d), perhaps at its limit of memory; take the dump and run jescope report",
            signal_number);
    }
    return ROUTE_SYSTEM;
}

/* Runs *child until it ends or the time is over. */
static RouteResult
run(Child *child, int status_pipe, unsigned seconds, RouteFailure *failure)
{
    sigset_t all, before;
    bool in_time;
    int pidfd = -1;
    char *stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED) {
        return fail(failure, ROUTE_SYSTEM, errno, "no memory for a child");
    }
    uint64_t deadline = now_ms() + seconds * UINT64_C(1000);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t pid = clone(run_child, stack + STACK_SIZE, CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD, child, &pidfd);
    int error = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    munmap(stack, STACK_SIZE);
    close(child->descriptors[STATUS]);
    child->descriptors[STATUS] = -1;
    if (pid < 0) {
        return fail(failure, ROUTE_SYSTEM, error, "no child can be started");
    }
    int status = read_status(status_pipe, pidfd, deadline, &in_time);
    if (!in_time) {
        kill_child(pid, pidfd);
    }
    int signal_number = reap(pid, pidfd);
    if (pidfd >= 0) {
        close(pidfd);
    }
    if (child->exec_error != 0) {
        char what[TEXT_MAX + 16];
        snprintf(what, sizeof what, "cannot run %s", child->program);
        return fail(failure, ROUTE_SYSTEM, child->exec_error, what);
    }
    return judge(status, child->descriptors[ERRORS], signal_number, in_time ? 0 : seconds, failure);
}

static bool
open_descriptors(Child *child, const RouteRendering *rendering, int *status_pipe)
{
    int ends[2] = {-1, -1};
    child->descriptors[DUMP] = rendering->dump;
    child->descriptors[BASE] = rendering->base;
    child->descriptors[INPUT] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    child->descriptors[OUTPUT] = memfd_create("jescope-report", MFD_CLOEXEC);
    child->descriptors[ERRORS] = memfd_create("jescope-errors", MFD_CLOEXEC);
    bool piped = pipe2(ends, O_CLOEXEC) == 0;
    *status_pipe = ends[0];
    child->descriptors[STATUS] = ends[1];
    return piped && child->descriptors[INPUT] >= 0 && child->descriptors[OUTPUT] >= 0 &&
           child->descriptors[ERRORS] >= 0;
}

static void
close_descriptors(Child *child, int status_pipe)
{
    const int own[] = {child->descriptors[INPUT], child->descriptors[OUTPUT], child->descriptors[ERRORS],
                       child->descriptors[STATUS], status_pipe};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        if (own[i] >= 0) {
            close(own[i]);
        }
    }
}

RouteResult
render_report(const RenderSetup *setup, const RouteRendering *rendering, int *descriptor, RouteFailure *failure)
{
    Child child = {.program = setup->program};
    char pid[32];
    int status_pipe = -1;
    RouteResult result;
    if (child.program == NULL && find_program("jescope", child.program_text, sizeof child.program_text)) {
        child.program = child.program_text;
    }
    if (child.program == NULL) {
        return fail(failure, ROUTE_SYSTEM, ENOENT, "no jescope on PATH, which makes reports; install it, or name it");
    }
    prepare_limits(&child, setup);
    prepare_environment(&child);
    if (!prepare_arguments(&child, setup, rendering, pid)) {
        return fail(failure, ROUTE_INVALID, E2BIG, "too many options");
    }
    if (!open_descriptors(&child, rendering, &status_pipe)) {
        result = fail(failure, ROUTE_SYSTEM, errno, "no descriptors for a report");
    } else {
        result = run(&child, status_pipe, seconds_of(setup), failure);
    }
    if (result == ROUTE_DONE) {
        lseek(child.descriptors[OUTPUT], 0, SEEK_SET);
        *descriptor = child.descriptors[OUTPUT];
        child.descriptors[OUTPUT] = -1;
    }
    close_descriptors(&child, status_pipe);
    return result;
}
