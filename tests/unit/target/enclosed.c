/* SPDX-License-Identifier: Apache-2.0 */
#include "enclosed.h"

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { GROUPS = 65536, ENCLOSED_USER = 65532, STACK = 4096 };

static int
wait_for_the_end(void *data)
{
    while (pause() != 0)
        continue;
    return 0;
}

static void
write_map(pid_t pid, const char *name)
{
    char path[64], map[64];
    g_snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    g_snprintf(map, sizeof(map), "0 %d 1", ENCLOSED_USER);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    g_assert_cmpint(write(fd, map, strlen(map)), ==, (gssize)strlen(map));
    close(fd);
}

/* Runs in a child, the first process of its pid namespace: with it, all end. */
static void
start_many(guint many, int mapped, int begun)
{
    static gid_t groups[GROUPS];
    char byte;
    guint n = 0;
    if (setresuid(ENCLOSED_USER, ENCLOSED_USER, ENCLOSED_USER) != 0 || unshare(CLONE_NEWUSER) != 0)
        _exit(1);
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* where an assertion of the test fails */
    prctl(PR_SET_DUMPABLE, 1);
    prctl(PR_SET_NAME, "enclosed");
    if (write(begun, "", 1) != 1 || read(mapped, &byte, 1) != 1 || setgroups(GROUPS, groups) != 0)
        _exit(1);
    for (; n < many; n++) {
        char *stack = g_malloc(STACK);
        if (clone(wait_for_the_end, stack + STACK, CLONE_VM | SIGCHLD, NULL) < 0)
            break;
    }
    if (n > many / 2 && write(begun, "", 1) != 1)
        _exit(1);
    wait_for_the_end(NULL);
}

/* Whether the namespace of FIRST has its ids, and the processes in it have begun. */
static gboolean
has_begun(pid_t first, int mapped, int begun, const char **obstacle)
{
    char byte;
    *obstacle = "no user namespaces here";
    if (first < 0 || read(begun, &byte, 1) != 1)
        return FALSE;
    write_map(first, "uid_map");
    write_map(first, "gid_map");
    g_assert_cmpint(write(mapped, "", 1), ==, 1);
    *obstacle = "not so many processes, or groups, here";
    return read(begun, &byte, 1) == 1;
}

pid_t
enclosed_start(guint n, const char **obstacle)
{
    int mapped[2], begun[2];
    *obstacle = "only root can start processes of another user";
    if (geteuid() != 0)
        return 0;
    g_assert_no_errno(pipe2(mapped, O_CLOEXEC));
    g_assert_no_errno(pipe2(begun, O_CLOEXEC));
    const pid_t first = (pid_t)syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, NULL, NULL, NULL, NULL);
    if (first == 0)
        start_many(n, mapped[0], begun[1]);
    close(begun[1]);
    const gboolean ready = has_begun(first, mapped[1], begun[0], obstacle);
    close(begun[0]);
    close(mapped[0]);
    close(mapped[1]);
    if (!ready && first > 0)
        enclosed_end(first);
    return ready ? first : 0;
}

void
enclosed_end(pid_t first)
{
    kill(first, SIGKILL);
    waitpid(first, NULL, 0);
}
