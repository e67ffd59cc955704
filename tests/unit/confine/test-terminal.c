/* SPDX-License-Identifier: Apache-2.0 */
#include "confine/terminal.h"

#include <fcntl.h>
#include <glib.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

static gboolean
has_terminal(void)
{
    const int terminal = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (terminal >= 0)
        close(terminal);
    return terminal >= 0;
}

/* The exit status of a child that runs FUNC. */
static int
status_of(gboolean (*func)(void))
{
    int status = -1;
    const pid_t child = fork();
    if (child == 0)
        _exit(func() ? 0 : 1);
    g_assert_cmpint(waitpid(child, &status, 0), ==, child);
    return status;
}

static gboolean
member_leaves(void)
{
    if (!has_terminal())
        return FALSE;
    terminal_leave();
    terminal_leave(); /* no effect without one */
    return !has_terminal();
}

static int slave;

static gboolean
lead_session(void)
{
    if (setsid() < 0 || ioctl(slave, TIOCSCTTY, 0) != 0 || !has_terminal())
        return FALSE;
    const gboolean left = status_of(member_leaves) == 0;
    terminal_leave();
    return left && has_terminal();
}

static void
test_members_of_a_session_leave(void)
{
    const int master = posix_openpt(O_RDWR | O_NOCTTY);
    g_assert_cmpint(master, >=, 0);
    g_assert_cmpint(grantpt(master), ==, 0);
    g_assert_cmpint(unlockpt(master), ==, 0);
    slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    g_assert_cmpint(slave, >=, 0);
    g_assert_cmpint(status_of(lead_session), ==, 0);
    close(slave);
    close(master);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/confine/terminal/members-of-a-session-leave", test_members_of_a_session_leave);
    return g_test_run();
}
