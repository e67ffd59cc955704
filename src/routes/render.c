/* SPDX-License-Identifier: Apache-2.0 */
#include "routes/render.h"

#include "routes/reply.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
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
    ARGUMENTS_MAX = 192,
    WORD_MAX = 32, /* of a number or the path of a descriptor */
    TEXT_MAX = 4096,
    STACK_SIZE = 64 * 1024,
    NICENESS = 10,
    STATUS_PARTIAL = 3, /* of `jescope report --partial`, whose report says what is missing */
    STATUS_FOUND = 4,   /* of `jescope doctor` */
    STATUS_USAGE = 2,
    WANTED_MS = 200, /* interval of checking whether the result is still wanted */
    NO_STATUS = -1,
};

#define PUBLIC_FILES "--public-files"

static const rlim_t output_max = (rlim_t)256 << 20;

/* The child's descriptors, in this order; from FIRST_OF_GROWTH on the dumps of a growth report. */
enum {
    INPUT,
    OUTPUT,
    ERRORS,
    DUMP,
    BASE,
    STATUS,
    FIRST_OF_GROWTH,
    N_DESCRIPTORS = FIRST_OF_GROWTH + RENDER_GROWTH_MAX,
};

/* The work of a child, for messages and limits. */
typedef struct {
    const char *work;    /* "the report" */
    const char *instead; /* advice if it takes too long */
    const char *smaller; /* advice if it takes too much memory */
    int niceness;
    bool finds; /* a search: STATUS_PARTIAL without output means that nothing matched */
} Kind;

static const Kind report_kind = {
    .work = "the report",
    .instead = "request a simpler format, or download the dump and run jescope report",
    .smaller = "download the dump and run jescope report",
    .niceness = NICENESS,
};
static const Kind growth_kind = {
    .work = "the growth",
    .instead = "download the dumps and run jescope growth",
    .smaller = "download the dumps and run jescope growth",
    .niceness = NICENESS,
};
static const Kind question_kind = {
    .work = "the answer",
    .instead = "ask about less time or fewer processes",
    .smaller = "ask about less time or fewer processes",
    .niceness = NICENESS,
    .finds = true,
};
static const Kind examination_kind = {
    .work = "the examination",
    .instead = "request a shorter one",
    .smaller = "run jescope doctor on its machine",
};

/* A child. The parent prepares its data: between clone and exec the two share memory. */
typedef struct {
    const Kind *kind;
    const char *program;
    char *arguments[ARGUMENTS_MAX];
    char *environment[8];
    int descriptors[N_DESCRIPTORS]; /* in the parent; -1: none */
    struct rlimit limits[4];
    int exec_error;
    pid_t parent;
    char program_text[TEXT_MAX];
    char texts[8][TEXT_MAX / 8];
} Child;

static const int limited[] = {RLIMIT_CPU, RLIMIT_FSIZE, RLIMIT_CORE, RLIMIT_AS};

#if defined(__SANITIZE_ADDRESS__)
#define HAS_ADDRESS_SANITIZER
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ADDRESS_SANITIZER
#endif
#endif

/* A sanitizer's shadow is larger than any limit worth having. */
#ifdef HAS_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
enum { N_LIMITED = 3 };
#else
enum { N_LIMITED = 4 };
#endif

static Outcome
fail(Failure *failure, Outcome result, int error, const char *what)
{
    failure->error = error;
    snprintf(failure->why, sizeof(failure->why), "%.400s: %.100s", what, error_name(error));
    return result;
}

/* ---- in the child: system calls alone, no memory is its own ---- */

static void
close_from(unsigned first)
{
    if (syscall(SYS_close_range, first, ~0u, 0) == 0)
        return;
    struct rlimit most;
    getrlimit(RLIMIT_NOFILE, &most);
    for (rlim_t number = first; number < most.rlim_cur && number < 65536; number++)
        close((int)number);
}

/* Moves the descriptors to 0, 1, 2...: to high numbers first, since a source may occupy another one's destination. */
static bool
place_descriptors(const Child *child)
{
    int moved[N_DESCRIPTORS];
    for (int i = 0; i < N_DESCRIPTORS; i++) {
        moved[i] = child->descriptors[i] < 0 ? -1 : fcntl(child->descriptors[i], F_DUPFD, N_DESCRIPTORS);
        if (moved[i] < 0 && child->descriptors[i] >= 0)
            return false;
    }
    for (int i = 0; i < N_DESCRIPTORS; i++)
        if (moved[i] < 0)
            close(i);
        else if (dup2(moved[i], i) < 0)
            return false;
    close_from(N_DESCRIPTORS);
    return true;
}

/* If memory is short, this child is killed, not the service. */
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
    for (size_t i = 0; i < N_LIMITED; i++)
        setrlimit((__rlimit_resource_t)limited[i], &child->limits[i]);
    if (child->kind->niceness > 0)
        setpriority(PRIO_PROCESS, 0, child->kind->niceness);
    offer_to_oom_killer();
}

static void
reset_signals(void)
{
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigset_t none;
    for (int number = 1; number < NSIG; number++)
        sigaction(number, &action, NULL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static int
run_child(void *data)
{
    Child *child = data;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    become_modest(child);
    /* Its own group, which ends with it: what it has started may wait for a file that is never read. */
    if (setpgid(0, 0) == 0 && getppid() == child->parent && place_descriptors(child)) {
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
        if (*at == '/' && length > 0 && (size_t)length < size && access(text, X_OK) == 0)
            return true;
        at += n + (at[n] == ':');
    }
    return false;
}

static void
set_limit(struct rlimit *limit, int resource, rlim_t most)
{
    if (getrlimit((__rlimit_resource_t)resource, limit) != 0)
        *limit = (struct rlimit){RLIM_INFINITY, RLIM_INFINITY};
    limit->rlim_cur = most < limit->rlim_max ? most : limit->rlim_max;
    limit->rlim_max = limit->rlim_cur;
}

static unsigned
seconds_of(const RenderSetup *setup)
{
    return setup->seconds != 0 ? setup->seconds : RENDER_SECONDS;
}

static void
prepare_limits(Child *child, const RenderSetup *setup)
{
    /* Several threads may consume the time in parallel. */
    const rlim_t most[] = {(rlim_t)seconds_of(setup) * 4, output_max, 0,
                           setup->bytes != 0 ? setup->bytes : RENDER_BYTES};
    for (size_t i = 0; i < sizeof(limited) / sizeof(limited[0]); i++)
        set_limit(&child->limits[i], limited[i], most[i]);
}

/* Only paths from the host's environment: LD_PRELOAD or MALLOC_CONF would make the child a target. */
static void
prepare_environment(Child *child)
{
    static const char *const kept[] = {"HOME", "XDG_CACHE_HOME", "TMPDIR", "PATH"};
    size_t n = 0;
    for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
        const char *value = secure_getenv(kept[i]);
        int length = value == NULL ? -1 : snprintf(child->texts[n], sizeof(child->texts[n]), "%s=%s", kept[i], value);
        if (length > 0 && (size_t)length < sizeof(child->texts[n])) {
            child->environment[n] = child->texts[n];
            n++;
        }
    }
    snprintf(child->texts[n], sizeof(child->texts[n]), RENDER_STATUS_VARIABLE "=%d", STATUS);
    child->environment[n] = child->texts[n];
    child->environment[++n] = NULL;
}

static bool
add_argument(Child *child, size_t *n, const char *argument)
{
    union {
        const char *in;
        char *out; /* execve() takes this type and changes nothing */
    } text = {argument};
    if (*n >= ARGUMENTS_MAX - 1)
        return false;
    child->arguments[(*n)++] = text.out;
    child->arguments[*n] = NULL;
    return true;
}

/* Appends groups of words. False: too many. */
typedef struct {
    const char *const *words;
    size_t n; /* 0: up to NULL */
    bool wanted;
} Words;

static bool
add_words(Child *child, const Words *groups, size_t n_groups)
{
    size_t n = 0;
    bool fits = true;
    for (size_t i = 0; i < n_groups; i++)
        for (size_t j = 0; groups[i].wanted && (groups[i].n > 0 ? j < groups[i].n : groups[i].words[j] != NULL); j++)
            fits = fits && add_argument(child, &n, groups[i].words[j]);
    return fits;
}

bool
render_is_batch(const char *format)
{
    return strcmp(format, RENDER_BATCH) == 0 || strcmp(format, RENDER_BATCH_WITH_HEAP) == 0;
}

static bool
prepare_arguments(Child *child, const RenderSetup *setup, const RouteRendering *rendering, char pid[static WORD_MAX])
{
    const bool batch = render_is_batch(rendering->format);
    const char *const fixed[] = {"jescope", "report", "--format", rendering->format};
    const char *const push[] = {"jescope", "push", "--print", rendering->format};
    const char *const base[] = {"--base", "/proc/self/fd/4"};
    const char *const process[] = {"--pid", pid};
    const char *const title[] = {"--title", setup->title};
    const char *const no_files[] = {"--no-files"}, *const public_files[] = {PUBLIC_FILES};
    const char *const end[] = {"--", "/proc/self/fd/3"};
    const Words groups[] = {
        {batch ? push : fixed, 4, true},
        {base, 2, rendering->base >= 0},
        {process, 2, setup->pid > 0},
        {title, 2, setup->title != NULL && !batch},
        {no_files, 1, setup->no_files},
        {public_files, 1, setup->public_files},
        {rendering->options, 0, rendering->options != NULL},
        {end, 2, true},
    };
    snprintf(pid, WORD_MAX, "%d", (int)setup->pid);
    return add_words(child, groups, sizeof(groups) / sizeof(groups[0]));
}

static uint64_t
now_ms(void)
{
    struct timespec now = {0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Milliseconds to wait for the child now; 0: stop, since the time is over or the result is not wanted. */
static uint64_t
time_left(const RenderSetup *setup, uint64_t deadline)
{
    uint64_t now = now_ms();
    if (now >= deadline || (setup->is_wanted != NULL && !setup->is_wanted(setup->data)))
        return 0;
    return setup->is_wanted != NULL && deadline - now > WANTED_MS ? WANTED_MS : deadline - now;
}

/* The exit status that the child reported; NO_STATUS: it ended without one, or *in_time is false. A process forked by
 * the host may hold the other end of PIPE open, so the end is detected by PIDFD (-1: an old kernel). */
static int
read_status(const RenderSetup *setup, int pipe, int pidfd, bool *in_time)
{
    uint64_t deadline = now_ms() + seconds_of(setup) * UINT64_C(1000);
    for (;;) {
        uint64_t left = time_left(setup, deadline);
        struct pollfd ready[] = {{.fd = pipe, .events = POLLIN}, {.fd = pidfd, .events = POLLIN}};
        unsigned char byte;
        *in_time = left > 0;
        if (!*in_time)
            return NO_STATUS;
        if (poll(ready, 2, (int)left) <= 0)
            continue;
        if (ready[0].revents != 0)
            return read(pipe, &byte, 1) == 1 ? byte : NO_STATUS;
        if (ready[1].revents != 0) {
            /* Its status may still be in the pipe. */
            return poll(ready, 1, 0) == 1 && read(pipe, &byte, 1) == 1 ? byte : NO_STATUS;
        }
    }
}

/* waitid(2) with FLAGS. False: the host may have waited for the child already, or let the kernel do so. */
static bool
wait_for_child(pid_t pid, int pidfd, int flags, siginfo_t *ended)
{
    int result;
    do {
        result = pidfd >= 0 ? waitid(P_PIDFD, (id_t)pidfd, ended, WEXITED | __WALL | flags)
                            : waitid(P_PID, (id_t)pid, ended, WEXITED | __WALL | flags);
    } while (result != 0 && errno == EINTR);
    return result == 0;
}

/* Ends the child and all that it has started. The id of a group is certain until the child has been waited for. */
static void
kill_group(pid_t pid, int pidfd)
{
    siginfo_t ended = {0};
    if (wait_for_child(pid, pidfd, WNOWAIT | WNOHANG, &ended))
        kill(-pid, SIGKILL);
}

/* Ends what the child has left. Returns the signal that ended it, 0: none or unknown. */
static int
reap(pid_t pid, int pidfd)
{
    siginfo_t ended = {0};
    if (wait_for_child(pid, pidfd, WNOWAIT, &ended))
        kill_group(pid, pidfd);
    bool by_signal =
        wait_for_child(pid, pidfd, 0, &ended) && (ended.si_code == CLD_KILLED || ended.si_code == CLD_DUMPED);
    return by_signal ? ended.si_status : 0;
}

/* Readers do not know the child's descriptors. */
static const struct {
    const char *path;
    const char *name;
} inputs[] = {{"/proc/self/fd/3", "the dump"}, {"/proc/self/fd/4", "the base"}};

/* Copies LINE with the names of the inputs. */
static void
copy_sentence(const char *line, char *text, size_t size)
{
    size_t n = 0;
    while (*line != '\0' && n + 1 < size) {
        const char *name = NULL;
        for (size_t i = 0; i < sizeof(inputs) / sizeof(inputs[0]) && name == NULL; i++)
            if (strncmp(line, inputs[i].path, strlen(inputs[i].path)) == 0) {
                name = inputs[i].name;
                line += strlen(inputs[i].path);
            }
        if (name == NULL)
            text[n++] = *line++;
        for (; name != NULL && *name != '\0' && n + 1 < size; name++)
            text[n++] = *name;
    }
    text[n] = '\0';
}

/* The last line of its standard error, without "jescope: ". */
static bool
read_sentence(int errors, char *text, size_t size)
{
    static const char own[] = "jescope: ";
    char tail[FAILURE_WHY_MAX * 2];
    off_t end = lseek(errors, 0, SEEK_END);
    off_t from = end > (off_t)sizeof(tail) - 1 ? end - (off_t)sizeof(tail) + 1 : 0;
    ssize_t n = pread(errors, tail, sizeof(tail) - 1, from);
    while (n > 0 && tail[n - 1] == '\n')
        n--;
    if (n <= 0)
        return false;
    tail[n] = '\0';
    const char *line = strrchr(tail, '\n');
    line = line != NULL ? line + 1 : tail;
    line += strncmp(line, own, strlen(own)) == 0 ? strlen(own) : 0;
    copy_sentence(line, text, size);
    return *text != '\0';
}

static Outcome
judge(const Child *child, int status, int signal_number, unsigned seconds, Failure *failure)
{
    failure->error = 0;
    if (child->kind->finds && status == STATUS_PARTIAL && lseek(child->descriptors[OUTPUT], 0, SEEK_END) == 0 &&
        read_sentence(child->descriptors[ERRORS], failure->why, sizeof(failure->why)))
        return OUTCOME_NOT_FOUND;
    if (status == 0 || status == STATUS_PARTIAL || status == STATUS_FOUND)
        return OUTCOME_DONE;
    if (status != NO_STATUS && read_sentence(child->descriptors[ERRORS], failure->why, sizeof(failure->why)))
        return status == STATUS_USAGE ? OUTCOME_INVALID : OUTCOME_SYSTEM;
    if (seconds > 0)
        snprintf(failure->why, sizeof(failure->why), "%s took more than %u seconds; %s", child->kind->work, seconds,
                 child->kind->instead);
    else
        snprintf(failure->why, sizeof(failure->why), "%s ended early (signal %d), possibly at its memory limit; %s",
                 child->kind->work, signal_number, child->kind->smaller);
    return OUTCOME_SYSTEM;
}

/* The child never returned from its functions, so AddressSanitizer's marks of their variables would remain for the next
 * stack at this address. */
static void
forget_marks(char *stack)
{
#ifdef HAS_ADDRESS_SANITIZER
    __asan_unpoison_memory_region(stack, STACK_SIZE);
#endif
}

/* Runs *child until it ends or the time is over. */
static Outcome
run(Child *child, const RenderSetup *setup, int status_pipe, Failure *failure)
{
    sigset_t all, before;
    bool in_time;
    int pidfd = -1;
    char *stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED)
        return fail(failure, OUTCOME_SYSTEM, errno, "no memory for a child");
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    child->parent = getpid();
    pid_t pid = clone(run_child, stack + STACK_SIZE, CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD, child, &pidfd);
    int error = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    forget_marks(stack);
    munmap(stack, STACK_SIZE);
    close(child->descriptors[STATUS]);
    child->descriptors[STATUS] = -1;
    if (pid < 0)
        return fail(failure, OUTCOME_SYSTEM, error, "cannot start a child process");
    int status = read_status(setup, status_pipe, pidfd, &in_time);
    if (!in_time)
        kill_group(pid, pidfd);
    int signal_number = reap(pid, pidfd);
    if (pidfd >= 0)
        close(pidfd);
    if (child->exec_error != 0) {
        char what[TEXT_MAX + 16];
        snprintf(what, sizeof(what), "cannot run %s", child->program);
        return fail(failure, OUTCOME_SYSTEM, child->exec_error, what);
    }
    return judge(child, status, signal_number, in_time ? 0 : seconds_of(setup), failure);
}

static bool
open_descriptors(Child *child, int *status_pipe)
{
    int ends[2] = {-1, -1};
    child->descriptors[INPUT] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    child->descriptors[OUTPUT] = memfd_create("jescope-report", MFD_CLOEXEC | MFD_ALLOW_SEALING);
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
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
        if (own[i] >= 0)
            close(own[i]);
}

/* A child without inputs. */
static void
init_child(Child *child, const Kind *kind)
{
    *child = (Child){.kind = kind};
    for (int i = 0; i < N_DESCRIPTORS; i++)
        child->descriptors[i] = -1;
}

/* CHILD has its arguments and inputs. */
static Outcome
render(Child *child, const RenderSetup *setup, int *descriptor, Failure *failure)
{
    int status_pipe = -1;
    Outcome result;
    child->program = setup->program;
    if (child->program == NULL && find_program("jescope", child->program_text, sizeof(child->program_text)))
        child->program = child->program_text;
    if (child->program == NULL) {
        return fail(failure, OUTCOME_SYSTEM, ENOENT,
                    "the program jescope, which makes reports, is not in PATH; install it, or set its path");
    }
    prepare_limits(child, setup);
    prepare_environment(child);
    if (!open_descriptors(child, &status_pipe))
        result = fail(failure, OUTCOME_SYSTEM, errno, "cannot open descriptors for a child");
    else
        result = run(child, setup, status_pipe, failure);
    if (result == OUTCOME_DONE) {
        lseek(child->descriptors[OUTPUT], 0, SEEK_SET);
        *descriptor = child->descriptors[OUTPUT];
        child->descriptors[OUTPUT] = -1;
    }
    close_descriptors(child, status_pipe);
    return result;
}

Outcome
render_report(const RenderSetup *setup, const RouteRendering *rendering, int *descriptor, Failure *failure)
{
    Child child;
    char pid[WORD_MAX];
    init_child(&child, &report_kind);
    child.descriptors[DUMP] = rendering->dump;
    child.descriptors[BASE] = rendering->base;
    if (!prepare_arguments(&child, setup, rendering, pid))
        return fail(failure, OUTCOME_INVALID, E2BIG, "too many options");
    return render(&child, setup, descriptor, failure);
}

/* Storage for the arguments about the dumps. */
typedef struct {
    const char *titles[2 * RENDER_GROWTH_MAX];
    const char *paths[RENDER_GROWTH_MAX];
    char ids[RENDER_GROWTH_MAX][WORD_MAX];
    char files[RENDER_GROWTH_MAX][WORD_MAX];
} GrowthWords;

static void
fill_growth_words(GrowthWords *words, const RenderGrowth *wanted)
{
    for (size_t i = 0; i < wanted->n; i++) {
        snprintf(words->ids[i], WORD_MAX, "%" PRIu64, wanted->ids[i]);
        snprintf(words->files[i], WORD_MAX, "/proc/self/fd/%zu", (size_t)FIRST_OF_GROWTH + i);
        words->titles[2 * i] = "--title";
        words->titles[2 * i + 1] = words->ids[i];
        words->paths[i] = words->files[i];
    }
}

Outcome
render_growth(const RenderSetup *setup, const RenderGrowth *wanted, int *descriptor, Failure *failure)
{
    Child child;
    GrowthWords words;
    char pid[WORD_MAX];
    const char *const fixed[] = {"jescope", "growth", "--json"};
    const char *const process[] = {"--pid", pid};
    const char *const public_files[] = {PUBLIC_FILES};
    const char *const end[] = {"--"};
    const Words groups[] = {
        {fixed, 3, true},
        {process, 2, setup->pid > 0},
        {public_files, 1, setup->public_files},
        {words.titles, 2 * wanted->n, wanted->n > 0},
        {wanted->options, 0, wanted->options != NULL},
        {end, 1, true},
        {words.paths, wanted->n, wanted->n > 0},
    };
    init_child(&child, &growth_kind);
    snprintf(pid, WORD_MAX, "%d", (int)setup->pid);
    if (wanted->n > RENDER_GROWTH_MAX)
        return fail(failure, OUTCOME_INVALID, E2BIG, "too many dumps");
    fill_growth_words(&words, wanted);
    memcpy(&child.descriptors[FIRST_OF_GROWTH], wanted->dumps, wanted->n * sizeof(*wanted->dumps));
    if (!add_words(&child, groups, sizeof(groups) / sizeof(groups[0])))
        return fail(failure, OUTCOME_INVALID, E2BIG, "too many options");
    return render(&child, setup, descriptor, failure);
}

Outcome
render_examination(const RenderSetup *setup, const RenderExamination *wanted, int *descriptor, Failure *failure)
{
    Child child;
    char process[WORD_MAX], duration[WORD_MAX];
    const char *const fixed[] = {"jescope", "doctor", "--json", "--for", duration};
    const char *const via[] = {"--via", wanted->via};
    const char *const kept[] = {"--history", inputs[0].path};
    const char *const end[] = {"--", process};
    const Words groups[] = {
        {fixed, 5, true}, {via, 2, wanted->via != NULL}, {kept, 2, wanted->kept >= 0}, {end, 2, true}};
    init_child(&child, &examination_kind);
    child.descriptors[DUMP] = wanted->kept;
    snprintf(process, sizeof(process), "%d@%" PRIu64, (int)setup->pid, setup->start_time);
    snprintf(duration, sizeof(duration), "%" PRIu64 "ms", wanted->watch_ms);
    if (!add_words(&child, groups, sizeof(groups) / sizeof(groups[0])))
        return fail(failure, OUTCOME_INVALID, E2BIG, "too many options");
    return render(&child, setup, descriptor, failure);
}

Outcome
render_question(const RenderSetup *setup, const RenderQuestion *wanted, int *descriptor, Failure *failure)
{
    Child child;
    const char *const fixed[] = {"jescope", "fleet"};
    const char *const end[] = {"--", wanted->question, wanted->operand};
    const Words groups[] = {{fixed, 2, true}, {wanted->options, 0, true}, {end, wanted->operand != NULL ? 3 : 2, true}};
    init_child(&child, &question_kind);
    if (!add_words(&child, groups, sizeof(groups) / sizeof(groups[0])))
        return fail(failure, OUTCOME_INVALID, E2BIG, "too many options");
    return render(&child, setup, descriptor, failure);
}
