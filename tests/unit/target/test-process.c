/* SPDX-License-Identifier: Apache-2.0 */
#include "target/discovery.h"
#include "target/process.h"

#include "enclosed.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void
test_self(void)
{
    /* A name that ends the field of a careless reader of /proc/PID/stat. */
    prctl(PR_SET_NAME, "a) R (b");
    Process self;
    g_assert_true(process_read(getpid(), &self));
    g_assert_cmpstr(self.name, ==, "a) R (b");
    g_assert_cmpuint(self.uids[1], ==, geteuid());
    g_assert_cmpuint(self.start_time, >, 0);
    g_assert_true(process_is_ours(&self));
    g_assert_true(process_alive(getpid(), self.start_time));
    g_assert_false(process_alive(getpid(), self.start_time + 1));
}

static void
test_name_is_cleaned(void)
{
    prctl(PR_SET_NAME, "\x1b[2J\xff");
    Process self;
    g_assert_true(process_read(getpid(), &self));
    g_assert_true(g_utf8_validate(self.name, -1, NULL));
    g_assert_null(strchr(self.name, '\x1b'));
}

static void
test_ended(void)
{
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    siginfo_t info;
    g_assert_cmpint(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), ==, 0);
    Process zombie;
    g_assert_true(process_read(child, &zombie));
    g_assert_false(process_alive(child, zombie.start_time));
    g_assert_cmpint(waitpid(child, NULL, 0), ==, child);
    g_assert_false(process_read(child, &zombie));
}

static void
test_program(void)
{
    ProcessProgram program, again;
    g_assert_true(process_program(getpid(), &program));
    g_assert_true(process_program(getpid(), &again));
    g_assert_cmpmem(&program, sizeof(program), &again, sizeof(again));
    g_assert_cmpuint(program.stack, !=, 0);
    g_assert_cmpuint(program.inode, !=, 0);
}

/* The errno value with which process_program() fails for PID, to a process that was root; 0 if it does not fail. */
static int
refusal_to_nobody(pid_t pid)
{
    enum { NOBODY = 65534 };
    ProcessProgram program;
    int status;
    pid_t child = fork();
    if (child == 0)
        _exit(setresuid(NOBODY, NOBODY, NOBODY) == 0 && process_program(pid, &program) ? 0 : errno);
    g_assert_cmpint(waitpid(child, &status, 0), ==, child);
    g_assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* A missing right is not taken for an end. */
static void
test_program_refused(void)
{
    if (geteuid() != 0) {
        g_test_skip("only root can start a process of another user");
        return;
    }
    g_assert_cmpint(refusal_to_nobody(getpid()), ==, EACCES);
    pid_t ended = fork();
    if (ended == 0)
        _exit(0);
    g_assert_cmpint(waitpid(ended, NULL, 0), ==, ended);
    g_assert_cmpint(refusal_to_nobody(ended), ==, ENOENT);
}

static void
test_list(void)
{
    g_autoptr(GArray) list = process_list(NULL);
    gboolean found = FALSE;
    for (guint i = 0; i < list->len; i++) {
        found |= g_array_index(list, Process, i).pid == getpid();
        g_assert_true(i == 0 || g_array_index(list, Process, i - 1).pid < g_array_index(list, Process, i).pid);
    }
    g_assert_true(found);
}

/* They may be completed by what their users can delay. Not in a child process for each: the page faults of children are
 * counted once they have been waited for. */
static void
test_many_cut_names(void)
{
    enum { CUT = 100, OTHER_USER = 65533, FAULTS_OF_A_CHILD = 20 };
    pid_t pids[CUT];
    struct rusage before, after;
    guint found = 0;
    if (geteuid() != 0) {
        g_test_skip("only root can start processes of another user");
        return;
    }
    for (guint i = 0; i < CUT; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            prctl(PR_SET_NAME, "fifteen-letters");
            if (setresuid(OTHER_USER, OTHER_USER, OTHER_USER) == 0)
                for (;;)
                    pause();
            _exit(1);
        }
    }
    g_usleep(G_USEC_PER_SEC / 5);
    getrusage(RUSAGE_CHILDREN, &before);
    g_autoptr(GArray) list = process_list(NULL);
    getrusage(RUSAGE_CHILDREN, &after);
    for (guint i = 0; i < list->len; i++)
        found += strcmp(g_array_index(list, Process, i).name, "fifteen-letters") == 0;
    g_assert_cmpuint(found, >=, CUT);
    g_assert_cmpint(after.ru_minflt - before.ru_minflt, <, CUT * FAULTS_OF_A_CHILD);
    for (guint i = 0; i < CUT; i++) {
        kill(pids[i], SIGKILL);
        waitpid(pids[i], NULL, 0);
    }
}

enum { MANY = 600 };

static guint
count_ours(const GArray *list)
{
    guint ours = 0;
    for (guint i = 0; i < list->len; i++)
        ours += g_array_index(list, Process, i).pid == getpid();
    return ours;
}

/* Whether another user has his processes listed, too, who cannot see the namespaces of others. */
static gboolean
others_are_listed(void)
{
    int status = -1;
    const pid_t pid = fork();
    if (pid == 0) {
        ProcessListGaps gaps;
        if (setresuid(1, 1, 1) != 0)
            _exit(1);
        g_autoptr(GArray) list = process_list(&gaps);
        _exit(count_ours(list) != 1 || gaps.slow == 0 || gaps.unread != 0);
    }
    return waitpid(pid, &status, 0) == pid && status == 0;
}

static GArray *
all_pids(void)
{
    GArray *pids = g_array_new(FALSE, FALSE, sizeof(pid_t));
    g_autoptr(GDir) proc = g_dir_open("/proc", 0, NULL);
    for (const char *name; (name = g_dir_read_name(proc)) != NULL;) {
        const pid_t pid = (pid_t)g_ascii_strtoll(name, NULL, 10);
        if (pid > 0)
            g_array_append_val(pids, pid);
    }
    return pids;
}

static void
assert_left_out(const GArray *list, const ProcessListGaps *gaps)
{
    g_assert_cmpuint(count_ours(list), ==, 1);
    g_assert_cmpuint(gaps->slow, >, 0);
    g_assert_cmpuint(gaps->unread, ==, 0);
}

/* The kernel takes milliseconds to print the groups of each. Those of others are listed all the same. */
static void
test_many_groups(void)
{
    const char *obstacle;
    const pid_t first = enclosed_start(MANY, &obstacle);
    if (first == 0) {
        g_test_skip(obstacle);
        return;
    }
    ProcessListGaps gaps, look_gaps;
    g_autoptr(GArray) pids = all_pids();
    g_autoptr(GArray) list = process_list(&gaps);
    g_autoptr(GArray) looked = process_look_each(pids, &look_gaps);
    const gboolean listed = others_are_listed();
    enclosed_end(first);
    g_assert_true(listed);
    assert_left_out(list, &gaps);
    assert_left_out(looked, &look_gaps);
}

static void
test_variable(void)
{
    g_autofree char *home = process_variable(getpid(), "JESCOPE_TEST_VARIABLE");
    g_assert_cmpstr(home, ==, "value=with=signs");
    g_assert_null(process_variable(getpid(), "JESCOPE_TEST_VARIABL"));
}

/* A directory that others can enter, or that a link stands for, is not trusted. */
static void
test_directory(void)
{
    g_autofree char *directory = g_dir_make_tmp("jescope-XXXXXX", NULL);
    g_autofree char *link = g_strconcat(directory, "-link", NULL);
    int fd = discovery_open_directory(directory, NULL);
    g_assert_cmpint(fd, >=, 0);
    close(fd);
    g_assert_cmpint(symlink(directory, link), ==, 0);
    g_assert_cmpint(discovery_open_directory(link, NULL), ==, -1);
    g_assert_cmpint(g_chmod(directory, 0710), ==, 0);
    g_assert_cmpint(discovery_open_directory(directory, NULL), ==, -1);
    g_remove(link);
    g_rmdir(directory);
}

/* A process that cannot be looked at for lack of descriptors has not ended. */
static void
test_without_descriptors(void)
{
    struct rlimit before, none;
    Process self;
    ProcessProgram program;
    g_assert_true(process_read(getpid(), &self));
    g_assert_cmpint(getrlimit(RLIMIT_NOFILE, &before), ==, 0);
    none = before;
    none.rlim_cur = 0;
    g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &none), ==, 0);
    const gboolean alive = process_alive(self.pid, self.start_time),
                   there = process_is_there(self.pid, self.start_time);
    const int error = process_program(self.pid, &program) ? 0 : errno;
    g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &before), ==, 0);
    g_assert_true(alive);
    g_assert_true(there);
    g_assert_cmpint(error, ==, EMFILE);
}

int
main(int argc, char **argv)
{
    /* /proc/PID/environ shows the environment of the start, so it has to be there from the start. */
    if (g_getenv("JESCOPE_TEST_VARIABLE") == NULL) {
        g_setenv("JESCOPE_TEST_VARIABLE", "value=with=signs", TRUE);
        execv("/proc/self/exe", argv);
    }
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/process/self", test_self);
    g_test_add_func("/process/name-is-cleaned", test_name_is_cleaned);
    g_test_add_func("/process/ended", test_ended);
    g_test_add_func("/process/without-descriptors", test_without_descriptors);
    g_test_add_func("/process/program", test_program);
    g_test_add_func("/process/program-refused", test_program_refused);
    g_test_add_func("/process/list", test_list);
    g_test_add_func("/process/many-cut-names", test_many_cut_names);
    g_test_add_func("/process/many-groups", test_many_groups);
    g_test_add_func("/process/variable", test_variable);
    g_test_add_func("/discovery/directory", test_directory);
    return g_test_run();
}
