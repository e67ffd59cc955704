/* SPDX-License-Identifier: Apache-2.0 */
#include "confine/child.h"
#include "confine/closing.h"
#include "confine/forking.h"
#include "confine/last-close.h"
#include "confine/passing.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    PATIENCE_MS = 60000,
    LATE_US = 200000, /* of a child that begins */
    SLOW = 20,        /* packet sockets, each of which takes the kernel milliseconds to close */
    MANY = 64,        /* sockets of a user who must not connect then */
    ONE_USER = 70001,
    OTHER_USER = 70002,
};

/* When the caller goes on, the child has none of the caller's descriptors any more, however late it begins. */
static void
test_beginning(void)
{
    int ends[2];
    g_assert_no_errno(pipe2(ends, O_CLOEXEC));
    const pid_t child = forking_fork();
    if (child == 0) {
        g_usleep(LATE_US);
        child_keep_only(NULL, 0);
        for (;;)
            pause();
    }
    g_assert_cmpint(child, >, 0);
    close(ends[1]);
    struct pollfd end = {.fd = ends[0]};
    g_assert_cmpint(poll(&end, 1, 0), ==, 1);
    kill(child, SIGKILL);
    child_wait(child);
    close(ends[0]);
}

static gpointer
begin_late(gpointer began)
{
    const pid_t child = forking_fork();
    if (child == 0) {
        (void)!write(GPOINTER_TO_INT(began), "", 1);
        g_usleep(LATE_US);
        child_keep_only(NULL, 0);
        for (;;)
            pause();
    }
    return GINT_TO_POINTER(child);
}

/* The last reference is not that of a child which began before. */
static void
test_last_close(void)
{
    int ends[2], began[2];
    char byte;
    g_assert_no_errno(pipe2(ends, O_CLOEXEC));
    g_assert_no_errno(pipe2(began, O_CLOEXEC));
    GThread *thread = g_thread_new("late", begin_late, GINT_TO_POINTER(began[1]));
    g_assert_cmpint(read(began[0], &byte, 1), ==, 1);
    const pid_t child = last_close_start(&ends[1], 1);
    g_assert_cmpint(child, >, 0);
    child_wait(child);
    struct pollfd end = {.fd = ends[0]};
    g_assert_cmpint(poll(&end, 1, 0), ==, 1);
    const pid_t late = GPOINTER_TO_INT(g_thread_join(thread));
    kill(late, SIGKILL);
    child_wait(late);
    close(ends[0]);
    close(began[0]);
    close(began[1]);
}

/* A child of an ordinary fork() has children, even if another thread was about to have one. */
static void
test_ordinary_child(void)
{
    int began[2];
    char byte;
    g_assert_no_errno(pipe2(began, O_CLOEXEC));
    GThread *thread = g_thread_new("late", begin_late, GINT_TO_POINTER(began[1]));
    g_assert_cmpint(read(began[0], &byte, 1), ==, 1);
    const pid_t child = fork();
    if (child == 0) {
        alarm(PATIENCE_MS / 1000); /* otherwise without end */
        const pid_t own = forking_fork();
        if (own == 0)
            raise(SIGKILL);
        child_wait(own);
        for (;;)
            raise(SIGKILL);
    }
    const int status = child_wait(child);
    g_assert_cmpint(WIFSIGNALED(status) ? WTERMSIG(status) : 0, ==, SIGKILL);
    const pid_t late = GPOINTER_TO_INT(g_thread_join(thread));
    kill(late, SIGKILL);
    child_wait(late);
    close(began[0]);
    close(began[1]);
}

static void
send_descriptor(int socket, int fd)
{
    char text[] = "x";
    const Parcel parcel = {.head = text, .head_length = 1, .fd = fd};
    g_assert_true(parcel_send(socket, &parcel));
    close(fd);
}

/* A socket with N packet sockets unread. -1: this process must not have any. */
static int
open_slow(guint n)
{
    int pair[2];
    g_assert_no_errno(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
    for (guint i = 0; i < n; i++) {
        const int slow = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
        if (slow < 0) {
            close(pair[0]);
            close(pair[1]);
            return -1;
        }
        send_descriptor(pair[1], slow);
    }
    close(pair[1]);
    return pair[0];
}

static guint
count_children(void)
{
    guint n = 0;
    g_autoptr(GDir) tasks = g_dir_open("/proc/self/task", 0, NULL);
    for (const char *task; (task = g_dir_read_name(tasks)) != NULL;) {
        g_autofree char *path = g_strdup_printf("/proc/self/task/%s/children", task), *list = NULL;
        if (!g_file_get_contents(path, &list, NULL, NULL))
            continue;
        g_auto(GStrv) words = g_strsplit(list, " ", -1);
        n += MAX(g_strv_length(words), 1) - 1; /* each ends with a space */
    }
    return n;
}

static void
wait_for_children(guint least, guint most)
{
    const gint64 deadline = g_get_monotonic_time() + PATIENCE_MS * G_TIME_SPAN_MILLISECOND;
    for (guint n = count_children(); n < least || n > most; n = count_children()) {
        g_assert_cmpint(g_get_monotonic_time(), <, deadline);
        g_usleep(1000);
    }
}

/* What one user has sent is closed while that of another is. */
static void
test_users_side_by_side(void)
{
    const int one = open_slow(SLOW), other = open_slow(SLOW);
    if (one < 0 || other < 0) {
        g_test_skip("packet sockets are for root");
        return;
    }
    closing_add(one, ONE_USER);
    closing_add(other, OTHER_USER);
    wait_for_children(2, G_MAXUINT);
    wait_for_children(0, 0);
}

/* A user who has many that are not closed yet must not connect; others may. */
static void
test_busy(void)
{
    const gint64 deadline = g_get_monotonic_time() + PATIENCE_MS * G_TIME_SPAN_MILLISECOND;
    for (guint i = 0; i < MANY; i++) {
        const int slow = open_slow(1);
        if (slow < 0) {
            g_test_skip("packet sockets are for root");
            return;
        }
        closing_add(slow, ONE_USER);
    }
    g_assert_true(closing_is_busy_for(ONE_USER));
    g_assert_false(closing_is_busy_for(OTHER_USER));
    g_assert_true(closing_has_room());
    while (closing_is_busy_for(ONE_USER)) {
        g_assert_cmpint(g_get_monotonic_time(), <, deadline);
        g_usleep(1000);
    }
    wait_for_children(0, 0);
}

int
main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/closing/beginning", test_beginning);
    g_test_add_func("/closing/last-close", test_last_close);
    g_test_add_func("/closing/ordinary-child", test_ordinary_child);
    g_test_add_func("/closing/users-side-by-side", test_users_side_by_side);
    g_test_add_func("/closing/busy", test_busy);
    return g_test_run();
}
