/* SPDX-License-Identifier: Apache-2.0 */
/* Processes whose environment is as systemd makes it, and a stand-in for the service that tells them of pressure. */
#include "target/pressure.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EXIT_NO_NAMESPACES = 77 };

static void
become_set_user_id(gpointer nothing)
{
    (void)nothing;
    if (setresuid(65534, 0, 0) != 0)
        _exit(127);
}

/* A process that waits, with this environment. */
static GPid
begin_as(GSpawnChildSetupFunc setup, const char *path, const char *text, gsize length)
{
    g_autofree char *encoded = g_base64_encode((const guchar *)text, length);
    g_autofree char *watch = g_strdup_printf("MEMORY_PRESSURE_WATCH=%s", path);
    g_autofree char *write = g_strdup_printf("MEMORY_PRESSURE_WRITE=%s", encoded);
    char sleep_path[] = "/bin/sleep", seconds[] = "1000", other[] = "A=B";
    char *argv[] = {sleep_path, seconds, NULL}, *environment[] = {other, watch, write, NULL};
    GPid pid;
    g_assert_true(g_spawn_async(NULL, argv, environment, G_SPAWN_DO_NOT_REAP_CHILD, setup, NULL, &pid, NULL));
    return pid;
}

static GPid
begin(const char *path, const char *text, gsize length)
{
    return begin_as(NULL, path, text, length);
}

static void
end(GPid pid)
{
    kill(pid, SIGKILL);
    g_assert_cmpint(waitpid(pid, NULL, 0), ==, pid);
}

static int
listen_at(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int service = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    g_strlcpy(address.sun_path, path, sizeof(address.sun_path));
    g_assert_cmpint(bind(service, (struct sockaddr *)&address, sizeof(address)), ==, 0);
    g_assert_cmpint(listen(service, 1), ==, 0);
    return service;
}

static void
test_socket(void)
{
    g_autofree char *folder = g_dir_make_tmp("jescope-test-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(folder, "pressure", NULL);
    char got[16] = "";
    const int service = listen_at(path);
    const GPid pid = begin(path, "hello", 5);
    PressureWatch *watch = pressure_watch_new(pid);
    g_assert_nonnull(watch);
    const int client = accept(service, NULL, NULL);
    g_assert_cmpint(recv(client, got, sizeof(got) - 1, 0), ==, 5);
    g_assert_cmpstr(got, ==, "hello");
    g_assert_false(pressure_watch_take(watch));
    g_assert_cmpint(send(client, "x", 1, MSG_NOSIGNAL), ==, 1);
    g_assert_true(pressure_watch_take(watch));
    g_assert_false(pressure_watch_take(watch));
    close(client);
    g_assert_false(pressure_watch_take(watch));
    pressure_watch_free(watch);
    end(pid);
    close(service);
    g_unlink(path);
    g_rmdir(folder);
}

/* What a hostile process would have us open or write. */
static void
test_refused(void)
{
    g_autofree char *folder = g_dir_make_tmp("jescope-test-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(folder, "file", NULL);
    g_assert_true(g_file_set_contents(path, "kept", -1, NULL));
    const struct {
        const char *path, *text;
    } rows[] = {
        {path, "some 200000 2000000"},
        {"/dev/null", ""},
        {"relative", ""},
        {"/proc/pressure/memory", "anything"},
        {"/sys/fs/cgroup/../../../proc/pressure/memory", "some 200000 2000000"},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        const GPid pid = begin(rows[i].path, rows[i].text, strlen(rows[i].text));
        g_assert_null(pressure_watch_new(pid));
        end(pid);
    }
    g_autofree char *text = NULL;
    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    g_assert_cmpstr(text, ==, "kept");
    g_unlink(path);
    g_rmdir(folder);
}

/* A set-user-ID program runs with our rights and in the environment of the user who started it. */
static void
test_set_user_id(void)
{
    if (geteuid() != 0) {
        g_test_skip("only root can start a process with another real user");
        return;
    }
    g_autofree char *folder = g_dir_make_tmp("jescope-test-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(folder, "pressure", NULL);
    const int service = listen_at(path);
    const GPid pid = begin_as(become_set_user_id, path, "hello", 5);
    PressureWatch *watch = pressure_watch_new(pid);
    g_assert_null(watch);
    end(pid);
    close(service);
    g_unlink(path);
    g_rmdir(folder);
}

/* In the child, before the program: a container in this respect, without its own root directory. */
static void
leave_our_files(gpointer data)
{
    if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
        _exit(EXIT_NO_NAMESPACES);
}

/* Root of a container is user 0, too: it would have us write to any socket of the machine. */
static void
test_container(void)
{
    g_autofree char *folder = g_dir_make_tmp("jescope-test-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(folder, "pressure", NULL);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct stat ours, theirs;
    const int service = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    g_strlcpy(address.sun_path, path, sizeof(address.sun_path));
    g_assert_cmpint(bind(service, (struct sockaddr *)&address, sizeof(address)), ==, 0);
    g_assert_cmpint(listen(service, 1), ==, 0);
    const GPid pid = begin_as(leave_our_files, path, "hello", 5);
    g_autofree char *its = g_strdup_printf("/proc/%d/ns/mnt", (int)pid);
    if (stat(its, &theirs) != 0 || stat("/proc/self/ns/mnt", &ours) != 0 || theirs.st_ino == ours.st_ino) {
        g_test_skip("this machine gives no mount namespace");
    } else {
        g_assert_null(pressure_watch_new(pid));
        g_assert_cmpint(accept(service, NULL, NULL), ==, -1);
        g_assert_cmpint(errno, ==, EAGAIN);
    }
    end(pid);
    close(service);
    g_unlink(path);
    g_rmdir(folder);
}

static guint64
peak_memory(void)
{
    struct rusage usage;
    g_assert_cmpint(getrusage(RUSAGE_SELF, &usage), ==, 0);
    return (guint64)usage.ru_maxrss * 1024;
}

/* A process whose environment, as it says, is SIZE bytes of memory that it has never touched. */
static pid_t
begin_endless(gsize size)
{
    char done;
    int ends[2];
    g_assert_cmpint(pipe2(ends, O_CLOEXEC), ==, 0);
    const pid_t pid = fork();
    if (pid == 0) {
        char *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        const guint64 break_now = (guint64)(guintptr)sbrk(0), inside = (guint64)(guintptr)at;
        /* Other addresses only have to be in order, and those of data below the break. */
        static char datum;
        const guint64 data = (guint64)(guintptr)&datum;
        const struct prctl_mm_map map = {.start_code = data,
                                         .end_code = data + 1,
                                         .start_data = data,
                                         .end_data = data + 1,
                                         .start_brk = break_now,
                                         .brk = break_now,
                                         .start_stack = inside,
                                         .arg_start = inside,
                                         .arg_end = inside + 1,
                                         .env_start = inside,
                                         .env_end = inside + size,
                                         .exe_fd = (__u32)-1};
        const gboolean set = at != MAP_FAILED && prctl(PR_SET_MM, PR_SET_MM_MAP, &map, sizeof(map), 0) == 0;
        if (write(ends[1], set ? "y" : "n", 1) == 1)
            pause();
        _exit(0);
    }
    close(ends[1]);
    g_assert_cmpint(read(ends[0], &done, 1), ==, 1);
    close(ends[0]);
    if (done == 'y')
        return pid;
    end(pid);
    return 0;
}

static void
test_endless_environment(void)
{
    const gsize size = (gsize)1 << 30;
    const pid_t pid = begin_endless(size);
    if (pid == 0) {
        g_test_skip("this kernel lets no process say where its environment is (CONFIG_CHECKPOINT_RESTORE)");
        return;
    }
    const guint64 before = peak_memory();
    g_assert_null(pressure_watch_new(pid));
    g_assert_cmpuint(peak_memory() - before, <, size / 8);
    end(pid);
}

/* The kernel's own file, where it has one and lets us set a trigger. */
static void
test_pressure_file(void)
{
    const int own = g_open("/proc/pressure/memory", O_RDWR | O_CLOEXEC, 0);
    const gboolean usable = own >= 0 && write(own, "some 200000 2000000", 20) > 0;
    if (own >= 0)
        close(own);
    if (!usable) {
        g_test_skip("this kernel takes no trigger in /proc/pressure/memory");
        return;
    }
    const GPid pid = begin("/proc/pressure/memory", "some 2000000 2000000", 21);
    g_autoptr(PressureWatch) watch = pressure_watch_new(pid);
    g_assert_nonnull(watch);
    pressure_watch_take(watch);
    end(pid);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/pressure/socket", test_socket);
    g_test_add_func("/pressure/refused", test_refused);
    g_test_add_func("/pressure/set-user-id", test_set_user_id);
    g_test_add_func("/pressure/container", test_container);
    g_test_add_func("/pressure/endless-environment", test_endless_environment);
    g_test_add_func("/pressure/file", test_pressure_file);
    return g_test_run();
}
