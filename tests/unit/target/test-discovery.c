/* SPDX-License-Identifier: Apache-2.0 */
#include "target/discovery.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
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

/* ---- an agent in a directory that the environment does not name ---- */

enum { DECOYS = 1000 };

/* Listens at a socket of PROCESS's agent in DIRECTORY, and does not end. */
static int
listen_in(const char *directory, const Process *process)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    g_autofree char *name = discovery_socket_name(process);
    g_snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", directory, name);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    g_assert_cmpint(bind(fd, (struct sockaddr *)&address, sizeof(address)), ==, 0);
    g_assert_cmpint(listen(fd, 1), ==, 0);
    return fd;
}

static void
map_agent(const char *directory)
{
    g_autofree char *path = g_build_filename(directory, "libjescope-agent.so", NULL);
    g_assert_true(g_file_set_contents(path, "none", -1, NULL));
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    g_assert_true(mmap(NULL, 1, PROT_READ, MAP_PRIVATE, fd, 0) != MAP_FAILED);
}

static char *
make_directory(const char *parent, guint i, mode_t mode)
{
    char *path = g_strdup_printf("%s/%u", parent, i);
    g_assert_cmpint(g_mkdir(path, mode), ==, 0);
    return path;
}

static void
remove_directory(const char *path)
{
    g_autoptr(GDir) entries = g_dir_open(path, 0, NULL);
    for (const char *name; entries != NULL && (name = g_dir_read_name(entries)) != NULL;) {
        g_autofree char *below = g_build_filename(path, name, NULL);
        remove_directory(below);
    }
    g_remove(path);
}

/* The agent of a child, once it listens in OWN, and others listen at sockets of the same name below PARENT. */
static char *
find_among_decoys(const char *parent, const char *own)
{
    Process process;
    int begin[2], ready[2];
    char byte;
    g_assert_no_errno(pipe2(begin, O_CLOEXEC));
    g_assert_no_errno(pipe2(ready, O_CLOEXEC));
    const pid_t child = fork();
    if (child == 0) {
        map_agent(own);
        if (read(begin[0], &byte, 1) == 1 && process_read(getpid(), &process) && listen_in(own, &process) >= 0 &&
            write(ready[1], "", 1) == 1)
            pause();
        _exit(1);
    }
    g_assert_true(process_read(child, &process));
    for (guint i = 0; i < DECOYS; i++) {
        g_autofree char *directory = make_directory(parent, i, 0755);
        listen_in(directory, &process);
    }
    g_assert_cmpint(write(begin[1], "", 1), ==, 1);
    g_assert_cmpint(read(ready[0], &byte, 1), ==, 1);
    char *found = discovery_socket(&process);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return found;
}

/* Anyone may listen at sockets of this name, and the kernel lists them in any order. */
static void
test_sockets_of_others(void)
{
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    if (files.rlim_max < DECOYS * 2) {
        g_test_skip("not so many descriptors here");
        return;
    }
    g_autofree char *parent = g_dir_make_tmp("jescope-test-XXXXXX", NULL);
    g_autofree char *own = make_directory(parent, DECOYS, 0700);
    g_autofree char *found = find_among_decoys(parent, own);
    g_assert_nonnull(found);
    g_assert_nonnull(strstr(found, own));
    remove_directory(parent);
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
    g_test_add_func("/discovery/sockets-of-others", test_sockets_of_others);
    return g_test_run();
}
