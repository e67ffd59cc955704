/* SPDX-License-Identifier: Apache-2.0 */
/* Processes with names of their own: copies of this program, called what a case wants, which wait to be killed. */
#include "confine/worker.h"
#include "target/candidates.h"
#include "target/open.h"
#include "target/target.h"

#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    OTHER_USER = 65534,
};

static char *directory;

typedef struct {
    const char *file;  /* name of the executable */
    const char *first; /* first argument */
    const char *comm;  /* NULL: as the kernel calls it */
    uid_t uid;
} Called;

/* Returns when it has its name. */
static pid_t
start(const Called *called)
{
    g_autofree char *path = g_build_filename(directory, called->file, NULL);
    g_autofree char *uid = g_strdup_printf("%u", (unsigned)called->uid);
    int ready[2];
    char byte;
    g_autofree char *image = NULL;
    gsize size;
    if (!g_file_test(path, G_FILE_TEST_EXISTS)) {
        g_assert_true(g_file_get_contents("/proc/self/exe", &image, &size, NULL));
        g_assert_true(g_file_set_contents(path, image, (gssize)size, NULL));
        g_assert_cmpint(g_chmod(path, 0755), ==, 0);
    }
    g_assert_cmpint(pipe(ready), ==, 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(ready[1], STDOUT_FILENO);
        execl(path, called->first, "wait", uid, called->comm, NULL);
        _exit(127);
    }
    close(ready[1]);
    g_assert_cmpint(read(ready[0], &byte, 1), ==, 1);
    close(ready[0]);
    return child;
}

static int
wait_to_be_killed(char **argv)
{
    uid_t uid = (uid_t)atoi(argv[2]);
    if (uid != geteuid() && setresuid(uid, uid, uid) != 0)
        return 1;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (argv[3] != NULL)
        prctl(PR_SET_NAME, argv[3]);
    if (write(STDOUT_FILENO, "r", 1) != 1)
        return 1;
    for (;;)
        pause();
}

static void
stop(pid_t pid)
{
    kill(pid, SIGKILL);
    g_assert_cmpint(waitpid(pid, NULL, 0), ==, pid);
}

static guint
count(const char *name, CandidatesFlags flags, pid_t pid)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) all = candidates_find(name, flags, &error);
    gboolean there = FALSE;
    if (all == NULL) {
        g_assert_error(error, TARGET_ERROR, OUTCOME_NO_PROCESS);
        return 0;
    }
    for (guint i = 0; i < all->len; i++)
        there |= ((const Candidate *)all->pdata[i])->process.pid == pid;
    g_assert_true(there);
    return all->len;
}

static void
test_three_names(void)
{
    const Called called = {"jsc-file", "/opt/bin/jsc-first: master process", "[JSC_MAIN]", geteuid()};
    pid_t pid = start(&called);
    g_assert_cmpuint(count("[JSC_MAIN]", CANDIDATES_NAMED, pid), ==, 1);
    g_assert_cmpuint(count("jsc-first", CANDIDATES_NAMED, pid), ==, 1);
    g_assert_cmpuint(count("jsc-file", CANDIDATES_NAMED, pid), ==, 1);
    g_assert_cmpuint(count("jsc-fir", CANDIDATES_NAMED, pid), ==, 0);
    stop(pid);
    g_assert_cmpuint(count("jsc-file", CANDIDATES_NAMED, pid), ==, 0);
}

static void
test_long_name(void)
{
    static const char name[] = "a-very-long-server-name";
    const Called called = {name, name, NULL, geteuid()};
    pid_t pid = start(&called);
    Process process;
    g_assert_true(process_read(pid, &process));
    g_assert_cmpstr(process.name, ==, name);
    g_assert_cmpuint(count(name, CANDIDATES_NAMED, pid), ==, 1);
    g_assert_cmpuint(count("a-very-long-ser", CANDIDATES_NAMED, pid), ==, 1);
    g_assert_cmpuint(count("a-very-long-server-namesake", CANDIDATES_NAMED, pid), ==, 0);
    stop(pid);
}

static void
test_ambiguous(void)
{
    const Called one = {"jsc-twin", "jsc-twin", NULL, geteuid()};
    const Called other = {"jsc-twin", "/elsewhere/jsc-twin", "worker", geteuid()};
    pid_t pids[] = {start(&one), start(&other)};
    g_autoptr(GError) error = NULL;
    Process process;
    g_assert_false(open_find_process("jsc-twin", &process, &error));
    g_assert_error(error, TARGET_ERROR, OUTCOME_AMBIGUOUS);
    g_auto(GStrv) lines = g_strsplit(error->message, "\n", -1);
    g_assert_cmpuint(g_strv_length(lines), ==, 4);
    for (int i = 0; i < 2; i++) {
        g_autofree char *pid = g_strdup_printf("%7d ", (int)pids[i]);
        g_autofree char *parent = g_strdup_printf(" %d ", (int)getpid());
        g_assert_true(g_str_has_prefix(lines[2 + i], pid) || g_str_has_prefix(lines[3 - i], pid));
        g_assert_nonnull(strstr(lines[2 + i], parent));
        g_assert_nonnull(strstr(lines[2 + i], " MiB "));
        g_assert_nonnull(strstr(lines[2 + i], "jsc-twin"));
        g_assert_cmpuint(strlen(lines[2 + i]), <=, 79);
    }
    stop(pids[0]);
    g_assert_true(open_find_process("jsc-twin", &process, NULL));
    g_assert_cmpint(process.pid, ==, pids[1]);
    stop(pids[1]);
}

static void
test_family(void)
{
    g_autofree char *self = g_strdup_printf("%d", (int)getpid());
    const Called called = {"jsc-child", "jsc-child", NULL, geteuid()};
    pid_t pid = start(&called);
    g_assert_cmpuint(count(self, CANDIDATES_NAMED, getpid()), ==, 1);
    worker_end(); /* it reads program files for us, and is our child as well */
    g_assert_cmpuint(count(self, CANDIDATES_FAMILY, pid), ==, 2);
    stop(pid);
}

static void
test_other_user(void)
{
    if (geteuid() != 0) {
        g_test_skip("two users take root");
        return;
    }
    const Called own = {"jsc-user", "jsc-user", NULL, 0};
    const Called foreign = {"jsc-user", "jsc-user", NULL, OTHER_USER};
    pid_t impostor = start(&foreign);
    pid_t server = start(&own);
    g_autoptr(GError) error = NULL;
    Process process;
    g_assert_cmpuint(count("jsc-user", CANDIDATES_NAMED, impostor), ==, 2);
    /* Neither of them silently: not even where one of them alone uses jemalloc (as both do not here). */
    g_assert_false(open_find_process("jsc-user", &process, &error));
    g_assert_error(error, TARGET_ERROR, OUTCOME_AMBIGUOUS);
    /* Users other than root mean their own. */
    g_assert_cmpint(seteuid(OTHER_USER), ==, 0);
    g_assert_true(open_find_process("jsc-user", &process, NULL));
    g_assert_cmpint(process.pid, ==, impostor);
    g_assert_cmpint(seteuid(0), ==, 0);
    stop(impostor);
    stop(server);
}

static Candidate
made_up(pid_t pid, uid_t uid, Reach reach)
{
    return (Candidate){.process = {.pid = pid, .uids = {uid, uid, uid}, .name = "made-up"}, .reach = reach};
}

static void
test_choice(void)
{
    static const struct {
        Reach reach[2];
        uid_t uid[2];
        int chosen; /* -1: ambiguous */
    } cases[] = {
        {{REACH_AGENT, REACH_NO_JEMALLOC}, {0, 0}, 0},
        {{REACH_NO_JEMALLOC, REACH_ATTACH}, {0, 0}, 1},
        {{REACH_AGENT, REACH_NOT}, {0, 0}, -1}, /* the worker that cannot be reached is the one that matters */
        {{REACH_AGENT, REACH_ATTACH}, {0, 0}, -1},
        {{REACH_NO_JEMALLOC, REACH_NO_JEMALLOC}, {0, 0}, -1},
        {{REACH_AGENT, REACH_NO_JEMALLOC}, {1000, 0}, -1}, /* an impostor */
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        Candidate candidates[2];
        g_autoptr(GPtrArray) all = g_ptr_array_new();
        for (int j = 0; j < 2; j++) {
            candidates[j] = made_up(4194300 + j, cases[i].uid[j], cases[i].reach[j]);
            g_ptr_array_add(all, &candidates[j]);
        }
        g_autoptr(GError) error = NULL;
        const Candidate *chosen = candidates_choose(all, "made-up", &error);
        g_assert_true(chosen == (cases[i].chosen < 0 ? NULL : &candidates[cases[i].chosen]));
        g_assert_true((chosen == NULL) == (error != NULL));
    }
}

static void
test_suggestion(void)
{
    const Called called = {"jsc-sugar-dealer", "jsc-sugar-dealer", NULL, geteuid()};
    pid_t pid = start(&called);
    static const char *const typed[] = {"jsc-sugar", "sugar-dealer", "jsc-sugar-daeler", "jsc-sugar-deal"};
    for (gsize i = 0; i < G_N_ELEMENTS(typed); i++) {
        g_autoptr(GError) error = NULL;
        g_assert_null(candidates_find(typed[i], CANDIDATES_NAMED, &error));
        g_assert_error(error, TARGET_ERROR, OUTCOME_NO_PROCESS);
        g_assert_nonnull(strstr(error->message, "did you mean 'jsc-sugar-dealer'?"));
    }
    g_autoptr(GError) error = NULL;
    g_assert_null(candidates_find("entirely-different", CANDIDATES_NAMED, &error));
    g_assert_null(strstr(error->message, "did you mean"));
    stop(pid);
}

/* What a list has found is opened as the same process, or not at all: its pid may be another user's process by then. */
static void
test_operand(void)
{
    g_autoptr(GError) error = NULL;
    Process process;
    const Called called = {"jsc-operand", "jsc-operand", NULL, geteuid()};
    const pid_t pid = start(&called);
    g_assert_true(process_read(pid, &process));
    g_autofree char *operand = process_operand(&process);
    g_autoptr(GPtrArray) found = candidates_find(operand, CANDIDATES_NAMED, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(found->len, ==, 1);
    g_assert_cmpint(((const Candidate *)found->pdata[0])->process.pid, ==, pid);
    process.start_time++;
    g_autofree char *later = process_operand(&process);
    g_assert_null(candidates_find(later, CANDIDATES_NAMED, &error));
    g_assert_error(error, TARGET_ERROR, OUTCOME_NO_PROCESS);
    g_clear_error(&error);
    g_assert_null(target_open_process(&process, "jsc-operand", TARGET_VIA_ANY, &error));
    g_assert_error(error, TARGET_ERROR, OUTCOME_GONE);
    stop(pid);
}

int
main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], "wait") == 0)
        return wait_to_be_killed(argv);
    g_test_init(&argc, &argv, NULL);
    directory = g_dir_make_tmp("candidates-XXXXXX", NULL);
    g_chmod(directory, 0755);
    g_test_add_func("/candidates/three-names", test_three_names);
    g_test_add_func("/candidates/long-name", test_long_name);
    g_test_add_func("/candidates/ambiguous", test_ambiguous);
    g_test_add_func("/candidates/family", test_family);
    g_test_add_func("/candidates/other-user", test_other_user);
    g_test_add_func("/candidates/choice", test_choice);
    g_test_add_func("/candidates/suggestion", test_suggestion);
    g_test_add_func("/candidates/operand", test_operand);
    int failed = g_test_run();
    g_autofree char *command = g_strdup_printf("rm -r '%s'", directory);
    return system(command) != 0 ? 1 : failed;
}
