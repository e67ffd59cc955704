/* SPDX-License-Identifier: Apache-2.0 */
/* Calls in a child that waits for one byte and then ends with status 7. */
#include "target/tracee.h"

#include "target/target.h"
#include "target/trace-kernel.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct {
    volatile int begun;
    volatile int done;
} Shared;

static Shared *shared;

typedef struct _Child Child;
struct _Child {
    Process process;
    Tracee *tracee;
    int ends[2];
    void (*visit)(Child *child);
    int seen;
};

static void
start(Child *child)
{
    g_autoptr(GError) error = NULL;
    char byte;
    g_assert_cmpint(pipe(child->ends), ==, 0);
    memset(shared, 0, sizeof(*shared));
    pid_t pid = fork();
    if (pid == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0)
        _exit(read(child->ends[0], &byte, 1) == 1 ? 7 : 1);
    g_assert_true(process_read(pid, &child->process));
    child->tracee = tracee_new(&child->process, &error);
    g_assert_no_error(error);
}

static gboolean
run_visit(Tracee *tracee, gpointer data, GError **error)
{
    Child *child = data;
    g_assert_cmpint(tracee_thread(tracee), ==, child->process.pid);
    child->visit(child);
    return TRUE;
}

/* Calls WHAT while the child is stopped. */
static void
visit(Child *child, void (*what)(Child *child))
{
    g_autoptr(GError) error = NULL;
    child->visit = what;
    g_assert_true(tracee_visit(child->tracee, run_visit, child, &error));
    g_assert_no_error(error);
}

/* It goes on as if nothing had been. */
static void
finish(Child *child)
{
    int status;
    tracee_free(child->tracee);
    g_assert_cmpint(write(child->ends[1], "x", 1), ==, 1);
    g_assert_cmpint(waitpid(child->process.pid, &status, 0), ==, child->process.pid);
    g_assert_true(WIFEXITED(status));
    g_assert_cmpint(WEXITSTATUS(status), ==, 7);
    close(child->ends[0]);
    close(child->ends[1]);
}

static guint64
call(Child *child, void (*function)(void), const guint64 *arguments, guint n)
{
    g_autoptr(GError) error = NULL;
    guint64 result = 0;
    tracee_call(child->tracee, (guint64)(guintptr)function, arguments, n, &result, &error);
    g_assert_no_error(error);
    return result;
}

static guint64
weigh(guint64 a, guint64 b, guint64 c, guint64 d, guint64 e, guint64 f)
{
    return a + 10 * b + 100 * c + 1000 * d + 10000 * e + 100000 * f;
}

static guint64
length_of(const char *text)
{
    return strlen(text);
}

static void
call_both(Child *child)
{
    static const guint64 arguments[] = {1, 2, 3, 4, 5, 6};
    g_assert_cmpuint(call(child, (void (*)(void))weigh, arguments, 6), ==, 654321);
    guint64 scratch = tracee_scratch(child->tracee);
    g_assert_true(tracee_write(child->tracee, scratch, "twelve bytes", 13, NULL));
    g_assert_cmpuint(call(child, (void (*)(void))length_of, &scratch, 1), ==, 12);
}

static void
test_calls(void)
{
    Child child;
    start(&child);
    visit(&child, call_both);
    g_assert_cmpuint(tracee_pause_ns(child.tracee), >, 0);
    visit(&child, call_both);
    finish(&child);
}

static void
make_system_calls(Child *child)
{
    static const guint64 bad[] = {G_MAXINT32};
    gint64 result;
    g_assert_true(tracee_system_call(child->tracee, SYS_getpid, NULL, 0, &result, NULL));
    g_assert_cmpint(result, ==, child->process.pid);
    g_assert_true(tracee_system_call(child->tracee, SYS_close, bad, 1, &result, NULL));
    g_assert_cmpint(result, ==, -9); /* EBADF */
}

static void
test_system_calls(void)
{
    Child child;
    start(&child);
    visit(&child, make_system_calls);
    finish(&child);
}

static void
say_parents(void)
{
    shared->done = getppid();
}

static TraceeVerdict
pretend(TraceeSystemCall *made, gpointer data)
{
    int *seen = data;
    if (made->number != SYS_getppid)
        return TRACEE_PROCEED;
    (*seen)++;
    made->result = 4711;
    return TRACEE_SKIP;
}

static void
call_watched(Child *child)
{
    const TraceeWatch watch = {.before = pretend, .data = &child->seen};
    tracee_watch(child->tracee, &watch);
    call(child, say_parents, NULL, 0);
    g_assert_cmpint(child->seen, ==, 1);
    g_assert_cmpint(shared->done, ==, 4711);
    tracee_watch(child->tracee, NULL);
    call(child, say_parents, NULL, 0);
    g_assert_cmpint(shared->done, ==, getpid());
}

static void
test_watch(void)
{
    Child child = {0};
    start(&child);
    visit(&child, call_watched);
    finish(&child);
}

static void
dawdle(void)
{
    shared->begun = 1;
    while (shared->done == 0)
        usleep(1000);
    shared->done = 2;
}

static void
call_dawdle(Child *child)
{
    g_autoptr(GError) error = NULL;
    g_assert_false(tracee_call(child->tracee, (guint64)(guintptr)dawdle, NULL, 0, NULL, &error));
    g_assert_error(error, TARGET_ERROR, OUTCOME_SILENT);
    g_assert_cmpint(tracee_thread(child->tracee), ==, 0);
}

/* A call that takes too long is left to finish, and does. */
static void
test_too_long(void)
{
    const TraceeDeadlines deadlines = {.attach = 5000, .call = 50};
    Child child;
    start(&child);
    tracee_set_deadlines(child.tracee, &deadlines);
    visit(&child, call_dawdle);
    g_assert_cmpint(shared->begun, ==, 1);
    shared->done = 1;
    for (int i = 0; i < 5000 && shared->done != 2; i++)
        g_usleep(1000);
    g_assert_cmpint(shared->done, ==, 2);
    finish(&child);
}

static void
crash(void)
{
    raise(SIGSEGV);
}

static void
call_crash(Child *child)
{
    g_autoptr(GError) error = NULL;
    g_assert_false(tracee_call(child->tracee, (guint64)(guintptr)crash, NULL, 0, NULL, &error));
    g_assert_error(error, TARGET_ERROR, OUTCOME_PROTOCOL);
}

/* A crash of what we called is not the program's. */
static void
test_crash(void)
{
    Child child;
    start(&child);
    visit(&child, call_crash);
    finish(&child);
}

/* A thread that executes another program once it is told to. */
static gpointer
execute(gpointer data)
{
    const int *told = data;
    char byte;
    if (read(*told, &byte, 1) == 1)
        execl("/bin/sleep", "sleep", "60", NULL);
    _exit(1);
}

/* The main thread waits in a call that a stop does not end, and is tried first. */
static void
wait_and_execute(int told)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, execute, &told) == 0)
        pause();
    _exit(1);
}

/* The address of the stack of the program that PID runs. */
static guint64
stack_of(pid_t pid)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/maps", (int)pid);
    g_autofree char *maps = NULL;
    guint64 start = 0;
    if (g_file_get_contents(path, &maps, NULL, NULL))
        for (char *line = maps; line != NULL; line = strchr(line, '\n') != NULL ? strchr(line, '\n') + 1 : NULL)
            if (strstr(line, "[stack]") != NULL && strstr(line, "[stack]") < line + strcspn(line, "\n"))
                start = g_ascii_strtoull(line, NULL, 16);
    return start;
}

static gboolean
runs_sleep(pid_t pid)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/cmdline", (int)pid);
    g_autofree char *words = NULL;
    return g_file_get_contents(path, &words, NULL, NULL) && strcmp(words, "sleep") == 0;
}

/* The main thread is stopped; another one executes a program, which gets its id. */
static gboolean
visit_replaced(Tracee *tracee, gpointer data, GError **error)
{
    Child *child = data;
    char bytes[16] = "";
    const pid_t pid = child->process.pid;
    g_assert_cmpint(tracee_thread(tracee), ==, pid);
    g_assert_cmpint(write(child->ends[1], "x", 1), ==, 1);
    for (int i = 0; i < 5000 && !runs_sleep(pid); i++)
        g_usleep(1000);
    g_assert_true(runs_sleep(pid));
    const guint64 stack = stack_of(pid);
    g_assert_cmphex(stack, !=, 0);
    child->seen = tracee_write(tracee, stack, "written", 8, NULL) + tracee_read(tracee, stack, bytes, 8, NULL);
    return TRUE;
}

/* The new program may have other rights: nothing of it is read or written. */
static void
test_another_program(void)
{
    Child child = {0};
    g_autoptr(GError) error = NULL;
    g_assert_cmpint(pipe(child.ends), ==, 0);
    pid_t pid = fork();
    if (pid == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0)
        wait_and_execute(child.ends[0]);
    g_usleep(100000);
    g_assert_true(process_read(pid, &child.process));
    child.tracee = tracee_new(&child.process, &error);
    g_assert_no_error(error);
    tracee_visit(child.tracee, visit_replaced, &child, &error);
    g_assert_cmpint(child.seen, ==, 0);
    tracee_free(child.tracee);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static gboolean
is_traced(pid_t pid)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/status", (int)pid);
    g_autofree char *status = NULL;
    g_assert_true(g_file_get_contents(path, &status, NULL, NULL));
    return strstr(status, "TracerPid:\t0\n") == NULL;
}

/* A thread that was listed has ended, and another user's process got its id. */
static void
test_thread_of_another_process(void)
{
    Child child = {0}, other = {0};
    start(&child);
    start(&other);
    const Process *process = &child.process;
    TraceProgram ours = {.pid = process->pid, .start_time = process->start_time, .memory = -1};
    TraceProgram earlier = {.pid = process->pid, .start_time = process->start_time - 1, .memory = -1};
    g_assert_false(trace_kernel_linux.seize(&ours, other.process.pid, 0));
    g_assert_cmpint(errno, ==, ESRCH);
    g_assert_false(trace_kernel_linux.seize(&earlier, process->pid, 0));
    g_assert_cmpint(errno, ==, ESRCH);
    g_assert_false(is_traced(other.process.pid) || is_traced(process->pid));
    g_assert_true(trace_kernel_linux.seize(&ours, process->pid, 0));
    g_assert_true(is_traced(process->pid));
    finish(&other);
    finish(&child);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    g_test_add_func("/tracee/calls", test_calls);
    g_test_add_func("/tracee/system-calls", test_system_calls);
    g_test_add_func("/tracee/watch", test_watch);
    g_test_add_func("/tracee/too-long", test_too_long);
    g_test_add_func("/tracee/crash", test_crash);
    g_test_add_func("/tracee/another-program", test_another_program);
    g_test_add_func("/tracee/thread-of-another-process", test_thread_of_another_process);
    return g_test_run();
}
