/* SPDX-License-Identifier: Apache-2.0 */
/* Processes whose environment is as systemd makes it, and a stand-in for the service that tells them of pressure. */
#include "target/pressure.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

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
    g_test_add_func("/pressure/file", test_pressure_file);
    return g_test_run();
}
