/* SPDX-License-Identifier: Apache-2.0 */
#include "confine/rights.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OTHER_USER = 65533 };

typedef struct {
    char *directory;
} Fixture;

static void
set_up(Fixture *fixture, gconstpointer data)
{
    fixture->directory = g_dir_make_tmp("jescope-rights-XXXXXX", NULL);
    g_assert_nonnull(fixture->directory);
}

static void
tear_down(Fixture *fixture, gconstpointer data)
{
    static const char *const names[] = {"of-other/link", "of-other/ours", "of-other", "link", "shared", "ours"};
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autofree char *path = g_build_filename(fixture->directory, names[i], NULL);
        g_remove(path);
    }
    g_assert_no_errno(g_rmdir(fixture->directory));
    g_free(fixture->directory);
}

static gboolean
alone(const Fixture *fixture, const char *name)
{
    g_autofree char *path = g_build_filename(fixture->directory, name, NULL);
    return rights_decide_alone(path);
}

static char *
make(const Fixture *fixture, const char *name, mode_t mode)
{
    char *path = g_build_filename(fixture->directory, name, NULL);
    g_assert_no_errno(g_mkdir(path, 0700));
    g_assert_no_errno(g_chmod(path, mode));
    return path;
}

static void
test_ours(Fixture *fixture, gconstpointer data)
{
    g_free(make(fixture, "ours", 0755));
    g_assert_true(alone(fixture, "ours"));
    g_assert_true(alone(fixture, "ours/"));
    g_assert_true(alone(fixture, "absent/and/below"));
    g_assert_true(alone(fixture, "ours/../ours"));
    g_assert_true(rights_decide_alone("/"));
    g_assert_false(rights_decide_alone("ours"));
    g_assert_false(rights_decide_alone(""));
}

/* Anyone could make, or exchange, what is in such a directory. */
static void
test_shared(Fixture *fixture, gconstpointer data)
{
    g_autofree char *shared = make(fixture, "shared", 0777);
    g_assert_false(alone(fixture, "shared"));
    g_assert_no_errno(g_chmod(shared, 01777));
    g_assert_true(alone(fixture, "shared"));
    g_assert_false(alone(fixture, "shared/absent"));
}

/* A link of another user leads to a directory of ours, and a directory of ours is in one of his. */
static void
test_another_user(Fixture *fixture, gconstpointer data)
{
    if (geteuid() != 0) {
        g_test_skip("needs root");
        return;
    }
    g_autofree char *other = make(fixture, "of-other", 0755);
    g_free(make(fixture, "of-other/ours", 0700));
    g_autofree char *link = g_build_filename(fixture->directory, "link", NULL);
    g_assert_no_errno(symlink("/", link));
    g_assert_true(alone(fixture, "link"));
    g_assert_no_errno(lchown(link, OTHER_USER, OTHER_USER));
    g_assert_no_errno(chown(other, OTHER_USER, OTHER_USER));
    g_assert_false(alone(fixture, "link"));
    g_assert_false(alone(fixture, "of-other"));
    g_assert_false(alone(fixture, "of-other/ours"));
    g_assert_false(alone(fixture, "of-other/../absent"));
}

enum { READY = 'r', SIGNAL_MS = 60000 };

/* A child of a child of this process: ready for its parent's end after it has opened a file with a user's rights. */
static void G_GNUC_NORETURN
act_for_another(pid_t parent, int end)
{
    const Rights rights = {.limited = TRUE, .uid = OTHER_USER, .gid = OTHER_USER};
    RightsBefore before;
    death_signal_bind(parent);
    rights_enter(&rights, &before);
    rights_leave(&before);
    (void)!write(end, &(char){READY}, 1);
    for (;;)
        pause();
}

/* The kernel clears the signal for it with each change of the user. */
static void
test_ends_with_its_parent(Fixture *fixture, gconstpointer data)
{
    int ends[2];
    char byte = 0;
    g_assert_no_errno(pipe2(ends, O_CLOEXEC));
    const pid_t parent = fork();
    if (parent == 0) {
        const pid_t self = getpid();
        if (fork() == 0)
            act_for_another(self, ends[1]);
        for (;;)
            pause();
    }
    close(ends[1]);
    g_assert_cmpint(read(ends[0], &byte, 1), ==, 1);
    g_assert_cmpint(byte, ==, READY);
    g_assert_no_errno(kill(parent, SIGKILL));
    g_assert_cmpint(waitpid(parent, NULL, 0), ==, parent);
    struct pollfd closed = {.fd = ends[0]}; /* by the end of both */
    g_assert_cmpint(poll(&closed, 1, SIGNAL_MS), ==, 1);
    close(ends[0]);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/rights/ours", Fixture, NULL, set_up, test_ours, tear_down);
    g_test_add("/rights/shared", Fixture, NULL, set_up, test_shared, tear_down);
    g_test_add("/rights/another-user", Fixture, NULL, set_up, test_another_user, tear_down);
    g_test_add("/rights/ends-with-its-parent", Fixture, NULL, set_up, test_ends_with_its_parent, tear_down);
    return g_test_run();
}
