/* SPDX-License-Identifier: Apache-2.0 */
#include "confine/sandbox.h"
#include "confine/worker.h"

#include <fcntl.h>
#include <gio/gio.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* A memory file with a word in it. */
static int
file_of(const char *word)
{
    int fd = memfd_create("word", MFD_CLOEXEC);
    g_assert_cmpint(write(fd, word, strlen(word)), ==, (gssize)strlen(word));
    return fd;
}

/* Of a new file each time: one that took too long is not read again. */
static gssize
ask(WorkerAnswers *answers, const char *question, char *answer, gsize room, GError **error)
{
    int fd = file_of("word");
    const WorkerQuestion asked = {.answers = answers, .fd = fd, .data = question, .length = strlen(question) + 1};
    gssize length = worker_ask(&asked, answer, room, error);
    close(fd);
    return length;
}

/* The question and what is in the file. */
static gsize
echo(int fd, gconstpointer question, gpointer answer)
{
    char *text = answer;
    gsize length = strlen(question);
    memcpy(text, question, length);
    return length + (gsize)MAX(pread(fd, text + length, 16, 0), 0);
}

static void
check_echo(void)
{
    char answer[64] = "";
    g_assert_cmpint(ask(echo, "one ", answer, sizeof(answer), NULL), ==, 8);
    g_assert_cmpstr(answer, ==, "one word");
}

static gsize
tell_pid(int fd, gconstpointer question, gpointer answer)
{
    *(pid_t *)answer = getpid();
    return sizeof(pid_t);
}

static pid_t
worker(void)
{
    pid_t pid = 0;
    g_assert_cmpint(ask(tell_pid, "", (char *)&pid, sizeof(pid), NULL), ==, sizeof(pid));
    return pid;
}

static gpointer
worker_of_thread(gpointer data)
{
    return GINT_TO_POINTER(worker());
}

static void
test_one_worker_answers_all_questions_of_a_thread(void)
{
    pid_t first = worker();
    check_echo();
    g_assert_cmpint(worker(), ==, first);
    pid_t other = GPOINTER_TO_INT(g_thread_join(g_thread_new("other", worker_of_thread, NULL)));
    g_assert_cmpint(other, !=, first);
    /* It has ended with its thread, and was waited for. */
    g_assert_cmpint(waitpid(other, NULL, WNOHANG), ==, -1);
}

/* Operations of code that took over the reader; the answer lists the successful ones. */
static gsize
try_all(int fd, gconstpointer question, gpointer answer)
{
    GString *worked = g_string_new(NULL);
    const struct {
        const char *name;
        gboolean works;
    } attempts[] = {
        {"open ", open("/etc/passwd", O_RDONLY) >= 0},
        {"socket ", socket(AF_INET, SOCK_STREAM, 0) >= 0 || socket(AF_UNIX, SOCK_STREAM, 0) >= 0},
        {"kill ", kill(getppid(), 0) == 0},
        {"executable ", mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED},
        {"root ", getuid() == 0 || geteuid() == 0},
        {"stdin ", fcntl(STDIN_FILENO, F_GETFD) >= 0},
        {"stdout ", fcntl(STDOUT_FILENO, F_GETFD) >= 0},
        {"stderr ", fcntl(STDERR_FILENO, F_GETFD) >= 0},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(attempts); i++)
        if (attempts[i].works)
            g_string_append(worked, attempts[i].name);
    memcpy(answer, worked->str, worked->len + 1);
    return worked->len + 1;
}

static void
test_a_worker_reaches_nothing(void)
{
    char answer[256] = "?";
    if (!sandbox_is_complete()) {
        g_test_skip("a sanitizer's runtime needs the system calls");
        return;
    }
    g_assert_cmpint(ask(try_all, "", answer, sizeof(answer), NULL), >, 0);
    /* The file it was handed takes the first number that is free. */
    g_assert_cmpstr(answer, ==, "stdin ");
}

static gsize
never_end(int fd, gconstpointer question, gpointer answer)
{
    for (volatile gboolean ends = FALSE; !ends;)
        continue;
    return 0;
}

static void
test_a_file_that_takes_too_long_is_an_error(void)
{
    g_autoptr(GError) error = NULL;
    char answer[8];
    g_assert_cmpint(ask(never_end, "", answer, sizeof(answer), &error), ==, -1);
    g_assert_error(error, G_IO_ERROR, G_IO_ERROR_TIMED_OUT);
    check_echo();
}

static gsize die(int fd, gconstpointer question, gpointer answer);

static void
test_a_file_that_took_too_long_is_not_read_again(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GError) again = NULL;
    char answer[8];
    int fd = file_of("word");
    WorkerQuestion question = {.answers = die, .fd = fd, .data = "", .length = 1};
    g_assert_cmpint(worker_ask(&question, answer, sizeof(answer), &error), ==, -1);
    g_assert_error(error, G_IO_ERROR, G_IO_ERROR_PARTIAL_INPUT);
    question.answers = echo;
    g_assert_cmpint(worker_ask(&question, answer, sizeof(answer), &again), ==, -1);
    g_assert_error(again, G_IO_ERROR, G_IO_ERROR_BUSY);
    close(fd);
    check_echo();
}

/* Another user's, which may have any number of files. */
static void
test_owner_of_slow_files_is_passed_over(void)
{
    char answer[64];
    if (geteuid() != 0) {
        g_test_skip("another user's files take root");
        return;
    }
    for (guint i = 0; i < WORKER_MAX_SLOW + 1; i++) {
        g_autoptr(GError) error = NULL;
        int fd = file_of("word");
        g_assert_cmpint(fchown(fd, 4711, 4711), ==, 0);
        const WorkerQuestion question = {.answers = die, .fd = fd, .data = "", .length = 1};
        g_assert_cmpint(worker_ask(&question, answer, sizeof(answer), &error), ==, -1);
        g_assert_error(error, G_IO_ERROR, (i < WORKER_MAX_SLOW ? G_IO_ERROR_PARTIAL_INPUT : G_IO_ERROR_BUSY));
        close(fd);
    }
    check_echo();
}

static gsize
die(int fd, gconstpointer question, gpointer answer)
{
    raise(SIGSEGV);
    return 0;
}

static gsize
take_all_memory(int fd, gconstpointer question, gpointer answer)
{
    const gsize piece = (gsize)64 << 20;
    for (guint i = 0; i < 256; i++)
        if (mmap(NULL, piece, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == MAP_FAILED)
            abort(); /* as g_malloc() does */
    return 0;
}

static gsize
say_too_much(int fd, gconstpointer question, gpointer answer)
{
    memset(answer, 1, WORKER_MAX_MESSAGE);
    return WORKER_MAX_MESSAGE;
}

static void
test_death_is_an_error_once(void)
{
    static WorkerAnswers *const deaths[] = {die, take_all_memory, say_too_much};
    for (gsize i = 0; i < G_N_ELEMENTS(deaths); i++) {
        g_autoptr(GError) error = NULL;
        char answer[64] = "";
        if (deaths[i] == take_all_memory && !sandbox_is_complete())
            continue; /* its runtime takes address space without end */
        g_assert_cmpint(ask(deaths[i], "", answer, sizeof(answer), &error), ==, -1);
        g_assert_error(error, G_IO_ERROR, G_IO_ERROR_PARTIAL_INPUT);
        check_echo();
    }
}

static void
test_a_worker_that_was_killed_is_replaced(void)
{
    pid_t first = worker();
    siginfo_t ended;
    g_assert_cmpint(kill(first, SIGKILL), ==, 0);
    g_assert_cmpint(waitid(P_PID, (id_t)first, &ended, WEXITED | WNOWAIT), ==, 0);
    check_echo();
}

static void
test_a_fork_has_its_own(void)
{
    pid_t first = worker();
    pid_t pid = fork();
    int status = 0;
    if (pid == 0)
        _exit(worker() == first);
    g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
    g_assert_cmpint(status, ==, 0);
    g_assert_cmpint(worker(), ==, first);
    worker_end();
    g_assert_cmpint(waitpid(first, NULL, WNOHANG), ==, -1);
}

/* A worker that one user's file may have taken over is not used for another's. */
static void
test_another_owner_finds_a_new_one(void)
{
    if (geteuid() != 0) {
        g_test_skip("another user's files take root");
        return;
    }
    pid_t first = worker(), other = 0;
    int fd = file_of("word");
    g_assert_cmpint(fchown(fd, 4712, 4712), ==, 0);
    const WorkerQuestion question = {.answers = tell_pid, .fd = fd, .data = "", .length = 1};
    g_assert_cmpint(worker_ask(&question, &other, sizeof(other), NULL), ==, sizeof(other));
    g_assert_cmpint(other, !=, first);
    g_assert_cmpint(worker(), !=, other);
    close(fd);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/confine/worker/one-worker-answers-all-questions-of-a-thread",
                    test_one_worker_answers_all_questions_of_a_thread);
    g_test_add_func("/confine/worker/reaches-nothing", test_a_worker_reaches_nothing);
    g_test_add_func("/confine/worker/a-file-that-takes-too-long-is-an-error",
                    test_a_file_that_takes_too_long_is_an_error);
    g_test_add_func("/confine/worker/a-file-that-took-too-long-is-not-read-again",
                    test_a_file_that_took_too_long_is_not_read_again);
    g_test_add_func("/confine/worker/owner-of-slow-files-is-passed-over", test_owner_of_slow_files_is_passed_over);
    g_test_add_func("/confine/worker/death-is-an-error-once", test_death_is_an_error_once);
    g_test_add_func("/confine/worker/a-worker-that-was-killed-is-replaced", test_a_worker_that_was_killed_is_replaced);
    g_test_add_func("/confine/worker/a-fork-has-its-own", test_a_fork_has_its_own);
    g_test_add_func("/confine/worker/another-owner-finds-a-new-one", test_another_owner_finds_a_new_one);
    return g_test_run();
}
