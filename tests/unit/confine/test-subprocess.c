/* SPDX-License-Identifier: Apache-2.0 */
#include "confine/subprocess.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

static gboolean
always(gpointer data)
{
    return TRUE;
}

static gboolean
never(gpointer data)
{
    return FALSE;
}

/* Writes as much as it may to a new file, and answers with errno and the file. */
static void
write_all(gpointer data, ChannelMessage *answer)
{
    static const char page[4096];
    int fd = memfd_create("subprocess", MFD_CLOEXEC);
    while (write(fd, page, sizeof(page)) > 0)
        continue;
    *(int *)answer->bytes = errno;
    answer->fds[0] = fd;
    answer->n_fds = 1;
}

static void
test_files_have_a_limit(void)
{
    int failure = 0;
    ChannelMessage answer = {.bytes = &failure, .size = sizeof(failure)};
    const Subprocess subprocess = {.work = write_all, .may_go_on = always, .file_max = 64 * 1024};
    g_assert_true(subprocess_run(&subprocess, &answer));
    g_assert_cmpint(failure, ==, EFBIG);
    g_assert_cmpuint(answer.n_fds, ==, 1);
    g_assert_cmpint(lseek(answer.fds[0], 0, SEEK_END), ==, 64 * 1024);
    channel_close_fds(&answer);
}

static void
wait_without_end(gpointer data, ChannelMessage *answer)
{
    for (;;)
        pause();
}

static void
end_at_once(gpointer data, ChannelMessage *answer)
{
    _exit(0);
}

static void
test_no_answer(void)
{
    int failure = 0;
    ChannelMessage answer = {.bytes = &failure, .size = sizeof(failure)};
    const Subprocess endless = {.work = wait_without_end, .may_go_on = never, .file_max = 1};
    const Subprocess ended = {.work = end_at_once, .may_go_on = always, .file_max = 1};
    g_assert_false(subprocess_run(&endless, &answer));
    g_assert_false(subprocess_run(&ended, &answer));
    g_assert_cmpuint(answer.n_fds, ==, 0);
}

/* Answers whether descriptor *DATA is open in the child. */
static void
look(gpointer data, ChannelMessage *answer)
{
    *(int *)answer->bytes = fcntl(*(const int *)data, F_GETFD) >= 0;
}

static void
test_descriptors(void)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC), error = STDERR_FILENO, is_open = -1;
    ChannelMessage answer = {.bytes = &is_open, .size = sizeof(is_open)};
    g_assert_true(subprocess_run(&(Subprocess){look, always, &fd, 1}, &answer));
    g_assert_cmpint(is_open, ==, 0);
    g_assert_true(subprocess_run(&(Subprocess){look, always, &error, 1}, &answer));
    g_assert_cmpint(is_open, ==, 1);
    close(fd);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/confine-subprocess/files-have-a-limit", test_files_have_a_limit);
    g_test_add_func("/confine-subprocess/no-answer", test_no_answer);
    g_test_add_func("/confine-subprocess/descriptors", test_descriptors);
    return g_test_run();
}
