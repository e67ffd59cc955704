/* SPDX-License-Identifier: Apache-2.0 */
#include "target/process-change.h"
#include "target/reach-open.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SOMEONE = 61000 };

static Process
found_now(pid_t pid)
{
    Process found;
    g_assert_true(process_look(pid, &found));
    return found;
}

typedef struct {
    pid_t pid;
    int said;  /* it writes a byte here when it is ready, and when it has closed itself, */
    int asked; /* as it does for a byte here */
} Closing;

static void
close_when_asked(int said, int asked)
{
    char byte = 0;
    if (geteuid() == 0 && setresuid(SOMEONE, SOMEONE, SOMEONE) != 0)
        _exit(1);
    prctl(PR_SET_DUMPABLE, 1);
    if (write(said, &byte, 1) != 1 || read(asked, &byte, 1) != 1)
        _exit(1);
    prctl(PR_SET_DUMPABLE, 0);
    if (write(said, &byte, 1) == 1)
        pause();
    _exit(0);
}

static Closing
start_closing(void)
{
    int said[2], asked[2];
    g_assert_cmpint(pipe(said), ==, 0);
    g_assert_cmpint(pipe(asked), ==, 0);
    Closing child = {.pid = fork(), .said = said[0], .asked = asked[1]};
    if (child.pid == 0) {
        close(asked[1]);
        close_when_asked(said[1], asked[0]);
    }
    close(said[1]);
    close(asked[0]);
    return child;
}

static void
end_closing(const Closing *child)
{
    kill(child->pid, SIGKILL);
    g_assert_cmpint(waitpid(child->pid, NULL, 0), ==, child->pid);
    close(child->said);
    close(child->asked);
}

static pid_t
start_child(void)
{
    pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    return child;
}

static void
test_unchanged(void)
{
    const Process found = found_now(getpid());
    g_assert_false(found.closed);
    g_assert_cmpint(process_change_check(&found), ==, 0);
}

static void
test_ended(void)
{
    siginfo_t info;
    pid_t child = start_child();
    const Process found = found_now(child);
    kill(child, SIGKILL);
    g_assert_cmpint(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), ==, 0);
    g_assert_cmpint(process_change_check(&found), ==, ESRCH);
    g_assert_cmpint(waitpid(child, NULL, 0), ==, child);
    g_assert_cmpint(process_change_check(&found), ==, ESRCH);
}

static void
test_another_with_its_pid(void)
{
    Process found = found_now(getpid());
    found.start_time--;
    g_assert_cmpint(process_change_check(&found), ==, ESRCH);
}

/* As of a process that was found before it executed a program that is set-user-ID or set-group-ID. */
static void
test_other_ids(void)
{
    for (guint i = 0; i < 2 * PROCESS_UIDS; i++) {
        Process found = found_now(getpid());
        for (guint j = 0; j < PROCESS_UIDS; j++)
            found.uids[j] = found.uids[j] != 0 ? found.uids[j] : SOMEONE;
        (i < PROCESS_UIDS ? found.uids : found.gids)[i % PROCESS_UIDS] = SOMEONE + 1;
        g_assert_cmpint(process_change_check(&found), ==, EPERM);
    }
}

/* As by a program that has capabilities, has given up its rights for good, or may not be read. */
static void
test_closes_itself(void)
{
    char byte = 0;
    const Closing child = start_closing();
    g_assert_cmpint(read(child.said, &byte, 1), ==, 1);
    const Process found = found_now(child.pid);
    g_assert_false(found.closed);
    g_assert_cmpint(process_change_check(&found), ==, 0);
    g_assert_cmpint(write(child.asked, &byte, 1), ==, 1);
    g_assert_cmpint(read(child.said, &byte, 1), ==, 1);
    const Process now = found_now(child.pid);
    g_assert_true(now.closed);
    g_assert_cmpint(process_change_check(&found), ==, EPERM);
    g_assert_cmpint(reach_open(&found, REACH_MAPS), ==, -1);
    g_assert_cmpint(process_change_check(&now), ==, 0); /* was so when it was found */
    end_closing(&child);
}

/* Root's process may take other ids, as a service does that gives up its rights. */
static void
test_was_roots(void)
{
    Process found = found_now(getpid());
    memset(found.uids, 0, sizeof(found.uids));
    found.gids[0] = SOMEONE;
    g_assert_cmpint(process_change_check(&found), ==, 0);
}

static void
test_root_of_a_namespace(void)
{
    g_assert_cmpuint(process_namespace_root("         0     100000      65536\n"), ==, 100000);
    g_assert_cmpuint(process_namespace_root("     1     2      3\n         0     7      1\n"), ==, 7);
    g_assert_cmpuint(process_namespace_root("     1     2      3\n"), ==, (uid_t)-1);
    g_assert_cmpuint(process_namespace_root(""), ==, (uid_t)-1);
    g_assert_cmpuint(process_namespace_root(NULL), ==, (uid_t)-1);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/process-change/unchanged", test_unchanged);
    g_test_add_func("/process-change/ended", test_ended);
    g_test_add_func("/process-change/another-with-its-pid", test_another_with_its_pid);
    g_test_add_func("/process-change/other-ids", test_other_ids);
    g_test_add_func("/process-change/closes-itself", test_closes_itself);
    g_test_add_func("/process-change/was-roots", test_was_roots);
    g_test_add_func("/process-change/root-of-a-namespace", test_root_of_a_namespace);
    return g_test_run();
}
