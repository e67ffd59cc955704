/* SPDX-License-Identifier: Apache-2.0 */
#include "target/discovery.h"

#include <glib/gstdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOTICED = 10, NOT_NOTICED = 11 };

static const char *program;

/* Whether a file that is created in DIRECTORY is noticed where agents of ours listen in it. */
static int
watch(const char *directory)
{
    char events[4096];
    int inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    g_autofree char *path = g_build_filename(directory, "1.1.sock", NULL);
    g_assert_cmpint(inotify, >=, 0);
    discovery_watch_own(inotify);
    g_assert_true(g_file_set_contents(path, "", 0, NULL) || !g_file_test(directory, G_FILE_TEST_EXISTS));
    int noticed = read(inotify, events, sizeof(events)) > 0 ? NOTICED : NOT_NOTICED;
    g_unlink(path);
    close(inotify);
    return noticed;
}

/* The same by another process, whose environment names DIRECTORY. */
static gboolean
is_watched(const char *directory)
{
    g_autofree char *variable = g_strconcat("JESCOPE_SOCKET_DIR=", directory, NULL);
    g_autofree char *self = g_strdup(program), *operand = g_strdup(directory);
    char *words[] = {self, operand, NULL}, *variables[] = {variable, NULL};
    int status = 0;
    g_assert_true(g_spawn_sync(NULL, words, variables, G_SPAWN_DEFAULT, NULL, NULL, NULL, NULL, &status, NULL));
    g_assert_true(WIFEXITED(status));
    g_assert_cmpint(WEXITSTATUS(status), >=, NOTICED);
    return WEXITSTATUS(status) == NOTICED;
}

/* Another user could have all processes examined without end, by files that he creates there. */
static void
test_directory_of_others(void)
{
    g_autofree char *directory = g_dir_make_tmp("jescope-test-XXXXXX", NULL);
    g_assert_true(is_watched(directory));
    g_assert_cmpint(chmod(directory, 0770), ==, 0);
    g_assert_false(is_watched(directory));
    g_assert_cmpint(chmod(directory, 0700), ==, 0);
    if (geteuid() == 0) {
        g_assert_cmpint(chown(directory, 12345, 12345), ==, 0);
        g_assert_false(is_watched(directory));
    }
    g_rmdir(directory);
}

/* None is made there either: his own agents could not use it. */
static void
test_in_a_directory_of_others(void)
{
    g_autofree char *directory = g_dir_make_tmp("jescope-test-XXXXXX", NULL);
    g_autofree char *below = g_build_filename(directory, "below", NULL);
    g_assert_true(is_watched(below));
    g_assert_cmpint(g_rmdir(below), ==, 0);
    if (geteuid() == 0) {
        g_assert_cmpint(chown(directory, 12345, 12345), ==, 0);
        g_assert_false(is_watched(below));
        g_assert_false(g_file_test(below, G_FILE_TEST_EXISTS));
    }
    g_rmdir(directory);
}

/* A link there may lead to a directory where much is created. */
static void
test_link(void)
{
    g_autofree char *directory = g_dir_make_tmp("jescope-test-XXXXXX", NULL);
    g_autofree char *link = g_strconcat(directory, "-link", NULL);
    g_assert_cmpint(symlink(directory, link), ==, 0);
    g_assert_false(is_watched(link));
    g_unlink(link);
    g_rmdir(directory);
}

int
main(int argc, char **argv)
{
    if (argc == 2 && argv[1][0] == '/')
        return watch(argv[1]);
    program = argv[0];
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/discovery/directory-of-others", test_directory_of_others);
    g_test_add_func("/discovery/in-a-directory-of-others", test_in_a_directory_of_others);
    g_test_add_func("/discovery/link", test_link);
    return g_test_run();
}
