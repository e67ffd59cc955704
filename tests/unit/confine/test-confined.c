/* SPDX-License-Identifier: Apache-2.0 */
#include "confine/confined.h"
#include "confine/opener.h"
#include "confine/rights.h"
#include "confine/sandbox.h"
#include "confine/target-files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* The result of work: its status and its output. */
static int
run(ConfinedWork *work, gpointer data, char **written, GError **error)
{
    ConfinedResult result;
    int status = confined_run(&(Confined){.work = work, .data = data}, &result, error);
    g_free(result.words);
    if (status >= 0) {
        char text[256] = "";
        g_assert_cmpint(read(result.output, text, sizeof(text) - 1), >=, 0);
        *written = g_strdup(text);
    }
    close(result.output);
    return status;
}

static int
write_greeting(gpointer data, GOutputStream *out, GError **error)
{
    *(int *)data = 1;
    return g_output_stream_write_all(out, "hello", 5, NULL, NULL, error) ? 3 : 1;
}

static void
test_status_and_output_come_back(void)
{
    g_autofree char *written = NULL;
    int here = 0;
    g_assert_cmpint(run(write_greeting, &here, &written, NULL), ==, 3);
    g_assert_cmpstr(written, ==, "hello");
    g_assert_cmpint(here, ==, 0);
}

static int
fail(gpointer data, GOutputStream *out, GError **error)
{
    g_set_error_literal(error, G_IO_ERROR, G_IO_ERROR_INVALID_DATA, "line 7: no number");
    return 1;
}

static void
test_failure_comes_back(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *written = NULL;
    g_assert_cmpint(run(fail, NULL, &written, &error), ==, -1);
    g_assert_cmpstr(error->message, ==, "line 7: no number");
}

/* Each is what code that took the reader over would want, or what its end takes; names of what is wrong are written. */
static gboolean
opens_a_file(void)
{
    return open("/etc/passwd", O_RDONLY) >= 0;
}

static gboolean
makes_a_file(void)
{
    return open("/tmp/jescope-test-confined", O_WRONLY | O_CREAT, 0600) >= 0;
}

static gboolean
connects(void)
{
    return socket(AF_INET, SOCK_STREAM, 0) >= 0 || socket(AF_UNIX, SOCK_STREAM, 0) >= 0;
}

static gboolean
starts_a_process(void)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    return pid > 0;
}

static gboolean
executes(void)
{
    char *const arguments[] = {NULL};
    execve("/bin/true", arguments, arguments);
    return FALSE;
}

static gboolean
signals_its_parent(void)
{
    return kill(getppid(), 0) == 0;
}

static pid_t other; /* a process of the user that a reader becomes; of the test's own if that is not root */

static gboolean
signals_another(void)
{
    return syscall(SYS_tgkill, other, other, 0) == 0;
}

static gboolean
has_another_signalled(void)
{
    const struct f_owner_ex owner = {.type = F_OWNER_PID, .pid = other};
    return fcntl(STDERR_FILENO, F_SETOWN, other) == 0 || fcntl(STDERR_FILENO, F_SETOWN_EX, &owner) == 0 ||
           fcntl(STDERR_FILENO, F_SETSIG, SIGKILL) == 0;
}

static gboolean
cannot_signal_itself(void)
{
    return syscall(SYS_tgkill, getpid(), gettid(), 0) != 0;
}

static gboolean
traces_its_parent(void)
{
    return ptrace(PTRACE_SEIZE, getppid(), NULL, NULL) == 0;
}

static gboolean
makes_code(void)
{
    return mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED;
}

/* Its memory would be bounded by nothing. */
static gboolean
makes_a_memory_file(void)
{
    return memfd_create("", 0) >= 0 || ftruncate(STDIN_FILENO, 1) == 0;
}

static gboolean
is_root(void)
{
    return getuid() == 0 || setresuid(0, 0, 0) == 0;
}

static int caller_has; /* a descriptor that the child is not handed */

static gboolean
has_more_descriptors(void)
{
    char byte;
    return fcntl(caller_has, F_GETFD) >= 0 || read(STDIN_FILENO, &byte, 1) != 0;
}

static int
try_all(gpointer data, GOutputStream *out, GError **error)
{
    static const struct {
        const char *name;
        gboolean (*works)(void);
    } attempts[] = {
        {"open ", opens_a_file},
        {"create ", makes_a_file},
        {"socket ", connects},
        {"fork ", starts_a_process},
        {"execve ", executes},
        {"kill ", signals_its_parent},
        {"tgkill ", signals_another},
        {"fcntl ", has_another_signalled},
        {"no abort ", cannot_signal_itself},
        {"ptrace ", traces_its_parent},
        {"executable ", makes_code},
        {"memory file ", makes_a_memory_file},
        {"root ", is_root},
        {"descriptors ", has_more_descriptors},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(attempts); i++)
        if (attempts[i].works())
            g_output_stream_write_all(out, attempts[i].name, strlen(attempts[i].name), NULL, NULL, NULL);
    return 0;
}

/* Returns once it is of its user. */
static pid_t
start_other(void)
{
    int ends[2];
    char byte;
    g_assert_no_errno(pipe(ends));
    pid_t pid = fork();
    if (pid == 0) {
        if (geteuid() == 0 && setresuid(SANDBOX_USER, SANDBOX_USER, SANDBOX_USER) != 0)
            _exit(1);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)!write(ends[1], "", 1);
        for (;;)
            pause();
    }
    close(ends[1]);
    g_assert_cmpint(read(ends[0], &byte, 1), ==, 1);
    close(ends[0]);
    return pid;
}

static void
test_nothing_else_can_be_reached(void)
{
    g_autofree char *written = NULL;
    if (!sandbox_is_complete()) {
        g_test_skip("a sanitizer's runtime needs the system calls");
        return;
    }
    caller_has = dup(STDERR_FILENO);
    other = start_other();
    g_assert_cmpint(run(try_all, NULL, &written, NULL), ==, 0);
    close(caller_has);
    kill(other, SIGKILL);
    waitpid(other, NULL, 0);
    g_assert_cmpstr(written, ==, "");
}

static int
say_ids(gpointer data, GOutputStream *out, GError **error)
{
    return g_output_stream_printf(out, NULL, NULL, error, "%u %u %u %u", getuid(), geteuid(), getgid(), getegid()) ? 0
                                                                                                                   : 1;
}

/* So that none can stop or trace it. */
static void
test_no_other_process_has_its_user(void)
{
    g_autofree char *written = NULL, *expected = NULL;
    if (geteuid() != 0) {
        g_test_skip("only root's children become another user");
        return;
    }
    g_assert_cmpint(run(say_ids, NULL, &written, NULL), ==, 0);
    expected = g_strdup_printf("%1$d %1$d %1$d %1$d", SANDBOX_USER);
    g_assert_cmpstr(written, ==, expected);
}

static int
open_through_the_parent(gpointer data, GOutputStream *out, GError **error)
{
    g_auto(TargetFile) file = {.fd = -1};
    char text[16] = "";
    if (!target_files_open(data, "/proc/version", &file, NULL) &&
        target_files_open(data, "/etc/passwd", &file, error) && read(file.fd, text, 5) == 5)
        return g_output_stream_write_all(out, text, strlen(text), NULL, NULL, error) ? 0 : 1;
    return 1;
}

static void
test_files_come_from_the_parent(void)
{
    g_autoptr(TargetFiles) files = target_files_new(&(TargetFilesOptions){.owner = RIGHTS_NOBODY});
    g_autofree char *written = NULL;
    g_assert_cmpint(run(open_through_the_parent, files, &written, NULL), ==, 0);
    g_assert_cmpstr(written, ==, "root:");
}

static char *content; /* of the latest request, as its handler reads it */

static int
read_content(const OpenerQuestion *question, OpenerAnswer *answer)
{
    char text[16] = "";
    if (pread(question->fd, text, sizeof(text) - 1, 0) < 0)
        return EIO;
    g_free(content);
    content = g_strdup(text);
    return 0;
}

static int
send_contents(gpointer data, GOutputStream *out, GError **error)
{
    static const char *const texts[] = {"the longer one", "shorter"};
    for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_autoptr(GByteArray) bytes = g_byte_array_new();
        const OpenerQuestion question = {.kind = OPENER_CACHE_WRITE, .text = "name", .content = bytes, .fd = -1};
        OpenerAnswer answer;
        g_byte_array_append(bytes, (const guint8 *)texts[i], (guint)strlen(texts[i]));
        if (opener_ask(&question, &answer) != 0)
            return 1;
    }
    return 0;
}

/* From a child, which can make no file for them, and without one. */
static void
test_contents_are_handed_over(void)
{
    g_autofree char *written = NULL;
    opener_handle(OPENER_CACHE_WRITE, read_content);
    g_assert_cmpint(run(send_contents, NULL, &written, NULL), ==, 0);
    g_assert_cmpstr(content, ==, "shorter");
    g_clear_pointer(&content, g_free);
    g_assert_cmpint(send_contents(NULL, NULL, NULL), ==, 0);
    g_assert_cmpstr(content, ==, "shorter");
    g_clear_pointer(&content, g_free);
}

static int
work_in_threads(gpointer data, GOutputStream *out, GError **error)
{
    GThread *thread = g_thread_try_new("worker", (GThreadFunc)g_strdup, (gpointer)(guintptr) "from a thread", error);
    g_autofree char *text = thread != NULL ? g_thread_join(thread) : NULL;
    return text != NULL && g_output_stream_write_all(out, text, strlen(text), NULL, NULL, error) ? 0 : 1;
}

static void
test_threads_work(void)
{
    g_autofree char *written = NULL;
    g_assert_cmpint(run(work_in_threads, NULL, &written, NULL), ==, 0);
    g_assert_cmpstr(written, ==, "from a thread");
}

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;

static void *
wait_for_the_end(void *data)
{
    pthread_mutex_lock(&held);
    return NULL;
}

/* Returns whether it could start more threads than it may. */
static int
take_threads(gpointer data, GOutputStream *out, GError **error)
{
    pthread_attr_t small;
    pthread_t thread;
    guint n = 0;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, PTHREAD_STACK_MIN);
    pthread_mutex_lock(&held);
    while (n <= SANDBOX_MAX_THREADS && pthread_create(&thread, &small, wait_for_the_end, NULL) == 0)
        n++;
    return n > SANDBOX_MAX_THREADS;
}

static void
test_threads_are_bounded(void)
{
    g_autofree char *written = NULL;
    if (geteuid() != 0 || !sandbox_is_complete()) {
        g_test_skip("only root's children become another user, whose threads are counted");
        return;
    }
    g_assert_cmpint(run(take_threads, NULL, &written, NULL), ==, 0);
}

/* A mapping whose file was truncated. */
static int
touch_what_is_gone(gpointer data, GOutputStream *out, GError **error)
{
    const int fd = STDOUT_FILENO; /* a memory file */
    signal(SIGBUS, SIG_DFL);
    const char *map = ftruncate(fd, 4096) == 0 ? mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (map == MAP_FAILED || ftruncate(fd, 0) != 0)
        return 0;
    return ((const volatile char *)map)[0];
}

static void
test_death_is_an_error(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *written = NULL;
    g_assert_cmpint(run(touch_what_is_gone, NULL, &written, &error), ==, -1);
    g_assert_nonnull(strstr(error->message, sandbox_is_complete() ? "truncated while it was read" : "aborted"));
}

static int
chatter(gpointer data, GOutputStream *out, GError **error)
{
    fprintf(stderr, "\033]0;title\007words\n");
    printf("printed\n");
    for (guint i = 0; i < 3 * CONFINED_MAX_WORDS / 8; i++)
        fputs("12345678", stderr);
    return 0;
}

/* Its stderr was the caller's own terminal. */
static void
test_words_come_back_bounded(void)
{
    ConfinedResult result;
    char text[16] = "";
    g_assert_cmpint(confined_run(&(Confined){.work = chatter}, &result, NULL), ==, 0);
    g_assert_true(g_str_has_prefix(result.words, "\033]0;title\007words\n12345678"));
    g_assert_cmpuint(strlen(result.words), ==, CONFINED_MAX_WORDS);
    g_assert_cmpint(read(result.output, text, sizeof(text) - 1), ==, strlen("printed\n"));
    g_assert_cmpstr(text, ==, "printed\n");
    close(result.output);
    g_free(result.words);
}

static int
take_memory(gpointer data, GOutputStream *out, GError **error)
{
    const gsize piece = (gsize)64 << 20;
    for (guint i = 0; i < 64; i++)
        if (mmap(NULL, piece, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == MAP_FAILED)
            abort(); /* as g_malloc() does */
    return 0;
}

static void
test_memory_is_bounded(void)
{
    g_autoptr(GError) error = NULL;
    ConfinedResult result;
    const Confined confined = {.work = take_memory, .memory = (guint64)2 << 30};
    if (!sandbox_is_complete()) {
        g_test_skip("a sanitizer's runtime needs the address space");
        return;
    }
    g_assert_cmpint(confined_run(&confined, &result, &error), ==, -1);
    g_assert_nonnull(strstr(error->message, "out of memory"));
    close(result.output);
    g_free(result.words);
}

static int
take_time(gpointer data, GOutputStream *out, GError **error)
{
    for (;;)
        g_get_monotonic_time();
    return 0;
}

static void
test_time_is_bounded(void)
{
    g_autoptr(GError) error = NULL;
    ConfinedResult result;
    const Confined confined = {.work = take_time, .seconds = 1};
    g_assert_cmpint(confined_run(&confined, &result, &error), ==, -1);
    g_assert_nonnull(strstr(error->message, "took too much time"));
    close(result.output);
    g_free(result.words);
}

enum { HANDED_IN = 1500 }; /* more than sandbox_enter() allows by itself */

static int
use_new_descriptor(gpointer data, GOutputStream *out, GError **error)
{
    const int *handed = data;
    char byte;
    return read(handed[HANDED_IN - 1], &byte, 1) == 0 && dup(handed[0]) >= 0 ? 0 : 1;
}

static void
test_many_descriptors(void)
{
    g_autofree int *handed = g_new(int, HANDED_IN);
    struct rlimit limit;
    ConfinedResult result;
    g_assert_no_errno(getrlimit(RLIMIT_NOFILE, &limit));
    limit.rlim_cur = limit.rlim_max;
    g_assert_no_errno(setrlimit(RLIMIT_NOFILE, &limit));
    if (limit.rlim_max < HANDED_IN + 64) {
        g_test_skip("so many files may not be open");
        return;
    }
    for (guint i = 0; i < HANDED_IN; i++)
        handed[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    const Confined confined = {.work = use_new_descriptor, .data = handed, .keep = handed, .n_keep = HANDED_IN};
    g_assert_cmpint(confined_run(&confined, &result, NULL), ==, 0);
    close(result.output);
    g_free(result.words);
    for (guint i = 0; i < HANDED_IN; i++)
        close(handed[i]);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/confine/confined/status-and-output-come-back", test_status_and_output_come_back);
    g_test_add_func("/confine/confined/failure-comes-back", test_failure_comes_back);
    g_test_add_func("/confine/confined/nothing-else-can-be-reached", test_nothing_else_can_be_reached);
    g_test_add_func("/confine/confined/no-other-process-has-its-user", test_no_other_process_has_its_user);
    g_test_add_func("/confine/confined/files-come-from-the-parent", test_files_come_from_the_parent);
    g_test_add_func("/confine/confined/contents-are-handed-over", test_contents_are_handed_over);
    g_test_add_func("/confine/confined/threads-work", test_threads_work);
    g_test_add_func("/confine/confined/threads-are-bounded", test_threads_are_bounded);
    g_test_add_func("/confine/confined/death-is-an-error", test_death_is_an_error);
    g_test_add_func("/confine/confined/words-come-back-bounded", test_words_come_back_bounded);
    g_test_add_func("/confine/confined/memory-is-bounded", test_memory_is_bounded);
    g_test_add_func("/confine/confined/time-is-bounded", test_time_is_bounded);
    g_test_add_func("/confine/confined/many-descriptors", test_many_descriptors);
    return g_test_run();
}
