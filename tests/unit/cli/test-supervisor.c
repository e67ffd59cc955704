/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/supervisor.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STRANGER = 65532, STATUS = 7, DEADLINE_S = 60, NO_SIGNALS = -1 };

static void G_GNUC_PRINTF(1, 2) say(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vdprintf(STDERR_FILENO, format, arguments);
    va_end(arguments);
}

/* A process of another user, which ends with this one. */
static pid_t
begin_stranger(void)
{
    const pid_t self = getpid();
    const pid_t stranger = fork();
    if (stranger == 0) {
        if (setgid(STRANGER) != 0 || setuid(STRANGER) != 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
            _exit(1);
        while (getppid() == self)
            pause();
        _exit(0);
    }
    struct stat status;
    g_autofree char *path = g_strdup_printf("/proc/%d", (int)stranger);
    const gint64 until = g_get_monotonic_time() + DEADLINE_S * G_USEC_PER_SEC;
    while (stat(path, &status) == 0 && status.st_uid != STRANGER && g_get_monotonic_time() < until)
        g_usleep(1000);
    return stranger;
}

typedef struct {
    int status;    /* of wait() */
    GString *text; /* what it has written */
} Ended;

/* Runs WORK as a command about OPERAND; SIGNAL is sent to it after its first output, if not 0. */
static Ended
run(const char *operand, void (*work)(pid_t command), int signal_number)
{
    int ends[2];
    char bytes[256];
    Ended ended = {.text = g_string_new(NULL)};
    g_assert_cmpint(pipe(ends), ==, 0);
    const pid_t command = fork();
    if (command == 0) {
        char *const operands[] = {(char *)(guintptr)operand, NULL};
        const pid_t self = getpid();
        alarm(DEADLINE_S);
        dup2(ends[1], STDOUT_FILENO);
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        supervisor_begin(operands, say);
        work(self);
        _exit(0);
    }
    close(ends[1]);
    for (gssize n; (n = read(ends[0], bytes, sizeof(bytes))) > 0; signal_number = 0) {
        g_string_append_len(ended.text, bytes, n);
        if (signal_number != 0)
            kill(command, signal_number);
    }
    close(ends[0]);
    g_assert_cmpint(waitpid(command, &ended.status, 0), ==, command);
    return ended;
}

static Ended
run_about_stranger(void (*work)(pid_t command), int signal_number)
{
    const pid_t stranger = begin_stranger();
    g_autofree char *operand = g_strdup_printf("%d", (int)stranger);
    const Ended ended = run(operand, work, signal_number);
    kill(stranger, SIGKILL);
    waitpid(stranger, NULL, 0);
    return ended;
}

static gboolean
skip(void)
{
    if (geteuid() != 0)
        g_test_skip("commands of root only are supervised");
    return geteuid() != 0;
}

static void
write_much(pid_t command)
{
    char line[64];
    memset(line, 'x', sizeof(line));
    for (guint i = 0; i < 4096; i++)
        if (write(i % 2 == 0 ? STDOUT_FILENO : STDERR_FILENO, line, sizeof(line)) != (gssize)sizeof(line))
            _exit(1);
    _exit(getpid() != command ? STATUS : 1);
}

static void
test_output_and_status(void)
{
    if (skip())
        return;
    const Ended ended = run_about_stranger(write_much, 0);
    g_assert_true(WIFEXITED(ended.status));
    g_assert_cmpint(WEXITSTATUS(ended.status), ==, STATUS);
    g_assert_cmpuint(ended.text->len, ==, 4096 * 64);
    g_string_free(ended.text, TRUE);
}

static void
kill_itself(pid_t command)
{
    kill(getpid(), SIGKILL);
}

static void
test_signal_of_its_end(void)
{
    if (skip())
        return;
    const Ended ended = run_about_stranger(kill_itself, 0);
    g_assert_true(WIFSIGNALED(ended.status));
    g_assert_cmpint(WTERMSIG(ended.status), ==, SIGKILL);
    g_string_free(ended.text, TRUE);
}

static void
end_orderly(int number)
{
    _exit(STATUS);
}

static void
wait_for_a_signal(pid_t command)
{
    signal(SIGTERM, end_orderly);
    if (write(STDOUT_FILENO, "ready", 5) != 5)
        _exit(1);
    for (;;)
        pause();
}

static void
test_signals_are_passed_on(void)
{
    if (skip())
        return;
    const Ended ended = run_about_stranger(wait_for_a_signal, SIGTERM);
    g_assert_true(WIFEXITED(ended.status));
    g_assert_cmpint(WEXITSTATUS(ended.status), ==, STATUS);
    g_string_free(ended.text, TRUE);
}

static char *fifo;
static int output;

static void
interrupt(int number)
{
}

static void
open_without_end(pid_t command)
{
    const struct open_how how = {.flags = O_RDONLY};
    syscall(SYS_openat2, AT_FDCWD, fifo, &how, sizeof(how));
}

static Ended
run_about_fifo(void (*work)(pid_t command))
{
    g_autofree char *directory = g_dir_make_tmp("jescope-XXXXXX", NULL);
    fifo = g_build_filename(directory, "never", NULL);
    g_assert_cmpint(mkfifo(fifo, 0600), ==, 0);
    const Ended ended = run_about_stranger(work, 0);
    g_assert_nonnull(strstr(ended.text->str, fifo));
    unlink(fifo);
    rmdir(directory);
    g_clear_pointer(&fifo, g_free);
    return ended;
}

static void
test_given_up(void)
{
    if (skip())
        return;
    const Ended ended = run_about_fifo(open_without_end);
    g_assert_true(WIFEXITED(ended.status));
    g_assert_cmpint(WEXITSTATUS(ended.status), ==, EXIT_FAILURE);
    g_assert_nonnull(strstr(ended.text->str, "has not answered for 10 s"));
    g_string_free(ended.text, TRUE);
}

static gpointer
write_slowly(gpointer memory)
{
    const ssize_t ignored = write(output, memory, 4096);
    return GINT_TO_POINTER(ignored > 0);
}

/* Another thread, as one of a hostile process may, holds the lock of a memory file: it writes from memory that does not
 * come. */
static void
truncate_without_end(pid_t command)
{
    struct uffdio_api api = {.api = UFFD_API};
    const int faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
    char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct uffdio_register range = {.range = {(guintptr)page, 4096}, .mode = UFFDIO_REGISTER_MODE_MISSING};
    struct pollfd fault = {.fd = faults, .events = POLLIN};
    output = memfd_create("jescope", MFD_CLOEXEC);
    if (faults < 0 || ioctl(faults, UFFDIO_API, &api) != 0 || ioctl(faults, UFFDIO_REGISTER, &range) != 0) {
        printf("impossible\n");
        fflush(stdout);
        return;
    }
    g_thread_unref(g_thread_new("writer", write_slowly, page));
    poll(&fault, 1, -1);
    const int ignored = ftruncate(output, 0);
    (void)ignored;
}

static void
test_locked_output(void)
{
    if (skip())
        return;
    const Ended ended = run_about_stranger(truncate_without_end, 0);
    if (strstr(ended.text->str, "impossible") != NULL)
        g_test_skip("there is no userfaultfd(2)");
    else
        g_assert_nonnull(strstr(ended.text->str, "/memfd:jescope (deleted) has not answered for 10 s"));
    g_string_free(ended.text, TRUE);
}

/* Each time for less than the patience with one call; what it prints meanwhile makes no difference. */
static void
open_late_again_and_again(pid_t command)
{
    const struct open_how how = {.flags = O_RDONLY};
    sigaction(SIGALRM, &(struct sigaction){.sa_handler = interrupt}, NULL); /* without SA_RESTART */
    for (guint i = 0; i < DEADLINE_S * 2; i++) {
        const struct itimerval second = {.it_value = {.tv_sec = 1}};
        setitimer(ITIMER_REAL, &second, NULL);
        syscall(SYS_openat2, AT_FDCWD, fifo, &how, sizeof(how));
        if (write(STDOUT_FILENO, ".", 1) != 1)
            _exit(1);
    }
}

static void
test_given_up_for_all_together(void)
{
    if (skip())
        return;
    const Ended ended = run_about_fifo(open_late_again_and_again);
    g_assert_true(WIFEXITED(ended.status));
    g_assert_cmpint(WEXITSTATUS(ended.status), ==, EXIT_FAILURE);
    g_assert_nonnull(strstr(ended.text->str, "has taken 30 s longer to answer than all else"));
    g_string_free(ended.text, TRUE);
}

/* A file of the kernel's pipes may be waited for: what a command writes to and reads from is its user's. */
static void
read_for_long(pid_t command)
{
    int ends[2];
    char byte;
    if (pipe(ends) != 0)
        _exit(1);
    struct pollfd end = {.fd = ends[0], .events = POLLIN};
    signal(SIGALRM, end_orderly);
    alarm(13);
    poll(&end, 1, -1);
    _exit(read(ends[0], &byte, 1) == 0 ? 1 : 2);
}

static void
test_other_waits(void)
{
    if (skip())
        return;
    const Ended ended = run_about_stranger(read_for_long, 0);
    g_assert_true(WIFEXITED(ended.status));
    g_assert_cmpint(WEXITSTATUS(ended.status), ==, STATUS);
    g_string_free(ended.text, TRUE);
}

/* A child that cannot be killed must not have the outputs of the command. */
static void
print_in_child(gpointer data)
{
    const char *text = data;
    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
        dprintf(fd, "%s", text);
}

static void
run_in_child(pid_t command)
{
    const pid_t stranger = begin_stranger();
    const SupervisorWork work = {stranger, print_in_child, (gpointer)(guintptr) "printed by the child", DEADLINE_S,
                                 NO_SIGNALS};
    const char *why = supervisor_run(&work);
    kill(stranger, SIGKILL);
    _exit(why == NULL ? STATUS : 1);
}

static void
test_output_of_work(void)
{
    if (skip())
        return;
    const Ended ended = run("/", run_in_child, 0);
    g_assert_true(WIFEXITED(ended.status));
    g_assert_cmpint(WEXITSTATUS(ended.status), ==, STATUS);
    g_assert_cmpstr(ended.text->str, ==, "");
    g_string_free(ended.text, TRUE);
}

static void
work_without_end(gpointer data G_GNUC_UNUSED)
{
    for (;;)
        pause();
}

/* About one of our own processes, by which nothing is to be feared. */
static void
test_deadline_of_work(void)
{
    const SupervisorWork work = {.pid = getpid(), .run = work_without_end, .seconds = 1, .signals = NO_SIGNALS};
    g_autofree char *why = supervisor_run(&work);
    g_assert_cmpstr(why, ==, "it took longer than 1 s");
}

static void
test_work_ends_on_a_signal(void)
{
    int ends[2];
    g_assert_cmpint(pipe(ends), ==, 0);
    g_assert_cmpint(write(ends[1], "", 1), ==, 1);
    const SupervisorWork work = {.pid = getpid(), .run = work_without_end, .seconds = DEADLINE_S, .signals = ends[0]};
    g_autofree char *why = supervisor_run(&work);
    g_assert_cmpstr(why, ==, "a signal was received before it had ended");
    close(ends[0]);
    close(ends[1]);
}

static void
tell_whether_supervised(pid_t command)
{
    _exit(getpid() == command ? 0 : STATUS);
}

/* Of root's own processes, and of what is no process, nothing is to be feared. */
static void
test_not_supervised(void)
{
    g_autofree char *own = g_strdup_printf("%d", (int)getpid());
    const char *const operands[] = {own, "http://localhost/", "/dev/null"};
    for (guint i = 0; i < G_N_ELEMENTS(operands); i++) {
        const Ended ended = run(operands[i], tell_whether_supervised, 0);
        g_assert_true(WIFEXITED(ended.status));
        g_assert_cmpint(WEXITSTATUS(ended.status), ==, 0);
        g_string_free(ended.text, TRUE);
    }
}

/* Also if there is a file with it: another user may have made it, and a process that delays the command. */
static void
test_name(void)
{
    static const char *const names[] = {"proc", "no-such-file"};
    if (skip())
        return;
    for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
        g_assert_cmpint(chdir("/"), ==, 0);
        const Ended ended = run(names[i], tell_whether_supervised, 0);
        g_assert_true(WIFEXITED(ended.status));
        g_assert_cmpint(WEXITSTATUS(ended.status), ==, STATUS);
        g_string_free(ended.text, TRUE);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/supervisor/not-supervised", test_not_supervised);
    g_test_add_func("/supervisor/name", test_name);
    g_test_add_func("/supervisor/output-and-status", test_output_and_status);
    g_test_add_func("/supervisor/signal-of-its-end", test_signal_of_its_end);
    g_test_add_func("/supervisor/signals-are-passed-on", test_signals_are_passed_on);
    g_test_add_func("/supervisor/given-up", test_given_up);
    g_test_add_func("/supervisor/locked-output", test_locked_output);
    g_test_add_func("/supervisor/given-up-for-all-together", test_given_up_for_all_together);
    g_test_add_func("/supervisor/other-waits", test_other_waits);
    g_test_add_func("/supervisor/output-of-work", test_output_of_work);
    g_test_add_func("/supervisor/deadline-of-work", test_deadline_of_work);
    g_test_add_func("/supervisor/work-ends-on-a-signal", test_work_ends_on_a_signal);
    return g_test_run();
}
