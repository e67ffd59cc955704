/* SPDX-License-Identifier: Apache-2.0 */
#include "confine/input-file.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SOMEBODY = 65531, SOMEBODY_ELSE = 65532 };

static char *folder;

static char *
in(const char *name)
{
    return g_build_filename(folder, name, NULL);
}

static void
add_file(const char *name, uid_t owner)
{
    g_autofree char *path = in(name);
    g_assert_true(g_file_set_contents(path, name, -1, NULL));
    g_assert_no_errno(chown(path, owner, (gid_t)-1));
}

static void
add_link(const char *name, const char *to, uid_t owner)
{
    g_autofree char *path = in(name);
    g_assert_no_errno(symlink(to, path));
    g_assert_no_errno(lchown(path, owner, (gid_t)-1));
}

static void
add_fifo(const char *name, uid_t owner)
{
    g_autofree char *path = in(name);
    g_assert_no_errno(mkfifo(path, 0644));
    g_assert_no_errno(chown(path, owner, (gid_t)-1));
}

static void
begin(void)
{
    folder = g_dir_make_tmp("jescope-test-XXXXXX", NULL);
    g_assert_no_errno(chdir(folder));
}

static void
end(void)
{
    g_autoptr(GDir) entries = g_dir_open(folder, 0, NULL);
    for (const char *name; (name = g_dir_read_name(entries)) != NULL;) {
        g_autofree char *path = in(name);
        g_assert_no_errno(g_remove(path));
    }
    g_assert_no_errno(chdir("/"));
    g_assert_no_errno(g_rmdir(folder));
    g_clear_pointer(&folder, g_free);
}

/* Opens NAME, which is CONTENT. */
static void
opens(const char *name, const char *content)
{
    g_autoptr(GError) error = NULL;
    char text[64];
    int fd = input_file_open(name, &error);
    g_assert_no_error(error);
    const ssize_t got = read(fd, text, sizeof(text));
    g_assert_cmpmem(text, MAX(got, 0), content, strlen(content));
    close(fd);
    g_assert_cmpint(input_file_peek(name, text, 3), ==, 3);
    g_assert_cmpmem(text, 3, content, 3);
}

static void
refuses(const char *name, const char *why)
{
    g_autoptr(GError) error = NULL;
    char text[64];
    g_assert_cmpint(input_file_open(name, &error), ==, -1);
    g_assert_nonnull(error);
    g_assert_nonnull(strstr(error->message, why));
    g_assert_cmpint(input_file_peek(name, text, sizeof(text)), ==, -1);
}

/* As the kernel finds them. */
static void
test_paths(void)
{
    begin();
    g_autofree char *absolute = in("file");
    g_autofree char *longer = g_strdup_printf("%s/../%s/./file", folder, strrchr(folder, '/') + 1);
    add_file("file", geteuid());
    add_link("link", "file", geteuid());
    add_link("far", absolute, geteuid());
    add_link("twice", "./link", geteuid());
    add_link("here", ".", geteuid());
    add_link("circle", "circle", geteuid());
    add_link("broken", "none", geteuid());
    const char *const names[] = {"file", absolute, longer, "link", "far", "twice", "here//here/link"};
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
        opens(names[i], "file");
    refuses("circle", g_strerror(ELOOP));
    refuses("broken", g_strerror(ENOENT));
    refuses("", g_strerror(ENOENT));
    refuses("file/x", g_strerror(ENOTDIR));
    refuses("here", g_strerror(EISDIR));
    end();
}

static void
test_seconds(void)
{
    enum { SECONDS = 7 };
    g_autoptr(GArray) fds = g_array_new(FALSE, FALSE, sizeof(int));
    const int none = -1;
    begin();
    add_file("own", geteuid());
    const int own = open("own", O_RDONLY | O_CLOEXEC);
    g_assert_cmpuint(input_files_seconds(fds, SECONDS), ==, 0);
    g_array_append_val(fds, none);
    g_array_append_val(fds, own);
    g_assert_cmpuint(input_files_seconds(fds, SECONDS), ==, 0);
    g_assert_cmpuint(input_file_seconds(own), ==, 0);
    g_assert_cmpuint(input_seconds_of(geteuid(), SECONDS), ==, 0);
    g_assert_cmpuint(input_seconds_of(0, SECONDS), ==, 0);
    g_assert_cmpuint(input_seconds_of(SOMEBODY, SECONDS), ==, SECONDS);
    if (fchown(own, SOMEBODY, (gid_t)-1) == 0) {
        g_assert_cmpuint(input_files_seconds(fds, SECONDS), ==, SECONDS);
        g_assert_cmpuint(input_file_seconds(own), ==, INPUT_FILE_FOREIGN_SECONDS);
    } else {
        g_test_skip("giving files away needs root");
    }
    close(own);
    end();
}

/* One that was given to this process, as by a shell's <(...). */
static void
test_descriptors(void)
{
    int ends[2];
    g_autoptr(GError) error = NULL;
    char text[8];
    g_assert_no_errno(pipe(ends));
    g_assert_cmpint(write(ends[1], "pipe", 4), ==, 4);
    g_autofree char *name = g_strdup_printf("/dev/fd/%d", ends[0]);
    g_assert_cmpint(input_file_peek(name, text, sizeof(text)), ==, -1);
    int fd = input_file_open(name, &error);
    g_assert_no_error(error);
    g_assert_cmpint(read(fd, text, sizeof(text)), ==, 4);
    close(fd);
    close(ends[0]);
    close(ends[1]);
    begin();
    add_file("file", geteuid());
    fd = open("file", O_RDONLY | O_CLOEXEC);
    end();
    g_autofree char *removed = g_strdup_printf("/proc/self/fd/%d", fd);
    opens(removed, "file");
    close(fd);
}

/* They would block, or have effects. */
static void
test_no_files(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "socket"};
    begin();
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    g_assert_no_errno(bind(fd, (struct sockaddr *)&address, sizeof(address)));
    refuses("socket", "it is a socket");
    refuses("/dev/null", "it is a device");
    add_link("link", "/dev/null", geteuid());
    refuses("link", "it is a device");
    close(fd);
    end();
}

/* The writer's descriptor lets the reader's be opened at once. */
static void
test_own_fifo(void)
{
    g_autoptr(GError) error = NULL;
    char text[8];
    begin();
    add_fifo("fifo", geteuid());
    int writer = open("fifo", O_RDWR | O_CLOEXEC);
    g_assert_cmpint(write(writer, "fifo", 4), ==, 4);
    g_assert_cmpint(input_file_peek("fifo", text, sizeof(text)), ==, -1);
    int fd = input_file_open("fifo", &error);
    g_assert_no_error(error);
    g_assert_cmpint(read(fd, text, sizeof(text)), ==, 4);
    close(fd);
    close(writer);
    end();
}

static void
test_lease(void)
{
    begin();
    add_file("file", geteuid());
    int fd = open("file", O_WRONLY | O_CLOEXEC);
    signal(SIGIO, SIG_IGN);
    g_assert_no_errno(fcntl(fd, F_SETLEASE, F_WRLCK));
    refuses("file", "another process has a lease on it");
    g_assert_no_errno(fcntl(fd, F_SETLEASE, F_UNLCK));
    close(fd);
    opens("file", "file");
    end();
}

/* What another user has put where he may write. */
static void
test_another_user(void)
{
    if (geteuid() != 0) {
        g_test_skip("only root has files of other users");
        return;
    }
    begin();
    add_file("ours", 0);
    add_file("his", SOMEBODY);
    add_fifo("fifo", SOMEBODY);
    add_fifo("our-fifo", 0);
    add_link("to-his", "his", SOMEBODY);
    add_link("to-ours", "ours", SOMEBODY);
    add_link("to-fifo", "our-fifo", SOMEBODY);
    add_link("to-terminal", "/dev/tty", SOMEBODY);
    add_link("to-input", "/dev/stdin", SOMEBODY);
    add_link("folder", folder, SOMEBODY);
    add_link("of-another", "to-his", SOMEBODY_ELSE);
    opens("his", "his");
    opens("to-his", "his");
    opens("folder/to-his", "his");
    refuses("fifo", "it is a FIFO of another user");
    refuses("to-ours", "a link of another user leads there, and the file is not his");
    refuses("folder/ours", "a link of another user leads there, and the file is not his");
    refuses("of-another", "a link of another user leads there, and the file is not his");
    refuses("to-fifo", "a link of another user leads there");
    refuses("to-terminal", "a link of another user leads there");
    refuses("to-input", "a link of another user leads there");
    end();
}

/* A process of SOMEBODY, whose files in /proc are his. */
static pid_t
start_somebody(void)
{
    int ends[2];
    char byte;
    g_assert_no_errno(pipe(ends));
    const pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        if (setgid(SOMEBODY) != 0 || setuid(SOMEBODY) != 0 || prctl(PR_SET_DUMPABLE, 1) != 0 ||
            write(ends[1], "", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    close(ends[1]);
    g_assert_cmpint(read(ends[0], &byte, 1), ==, 1);
    close(ends[0]);
    return pid;
}

/* Its user may keep the memory that such a file shows from being read, without end. */
static void
test_process_of_another_user(void)
{
    if (geteuid() != 0) {
        g_test_skip("only root has files of other users");
        return;
    }
    begin();
    const pid_t pid = start_somebody();
    g_autofree char *file = g_strdup_printf("/proc/%d/cmdline", (int)pid);
    struct stat status;
    g_assert_no_errno(stat(file, &status));
    g_assert_cmpuint(status.st_uid, ==, SOMEBODY);
    add_link("to-process", file, SOMEBODY);
    refuses("to-process", "it is a file of /proc");
    kill(pid, SIGKILL);
    g_assert_cmpint(waitpid(pid, NULL, 0), ==, pid);
    end();
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/input-file/seconds", test_seconds);
    g_test_add_func("/input-file/paths", test_paths);
    g_test_add_func("/input-file/descriptors", test_descriptors);
    g_test_add_func("/input-file/no-files", test_no_files);
    g_test_add_func("/input-file/own-fifo", test_own_fifo);
    g_test_add_func("/input-file/lease", test_lease);
    g_test_add_func("/input-file/another-user", test_another_user);
    g_test_add_func("/input-file/process-of-another-user", test_process_of_another_user);
    return g_test_run();
}
