/* SPDX-License-Identifier: Apache-2.0 */
#include "service/fleet.h"

#include "service/series-name.h"

#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TOO_MANY = 3, ALL = SERIES_NUMBERS_OF_USER + TOO_MANY };

/* Processes of one name, each with the socket of an agent. */
typedef struct {
    char *name;
    char *directory;
    Process processes[ALL];
} Crowd;

static char *
socket_of(const Crowd *crowd, const Process *process)
{
    return g_strdup_printf("%s/%d.%" G_GUINT64_FORMAT ".sock", crowd->directory, (int)process->pid,
                           process->start_time);
}

static void
begin_process(const Crowd *crowd, Process *process)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *variable = g_strconcat("JESCOPE_SOCKET_DIR=", crowd->directory, NULL);
    const char *const argv[] = {"/bin/sleep", crowd->name, "600", NULL};
    const char *const envp[] = {variable, NULL};
    GPid pid;
    g_spawn_async(NULL, (char **)(guintptr)argv, (char **)(guintptr)envp,
                  G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_FILE_AND_ARGV_ZERO, NULL, NULL, &pid, &error);
    g_assert_no_error(error);
    g_assert_true(process_read(pid, process));
    g_autofree char *path = socket_of(crowd, process);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    g_strlcpy(address.sun_path, path, sizeof(address.sun_path));
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    g_assert_cmpint(bind(fd, (struct sockaddr *)&address, sizeof(address)), ==, 0);
    close(fd); /* the name stays */
}

static void
end_process(const Process *process)
{
    kill(process->pid, SIGKILL);
    waitpid(process->pid, NULL, 0);
}

static Crowd *
crowd_new(void)
{
    Crowd *crowd = g_new0(Crowd, 1);
    crowd->name = g_strdup_printf("crowd-%d", (int)getpid());
    crowd->directory = g_dir_make_tmp("jescope-XXXXXX", NULL);
    for (guint i = 0; i < ALL; i++)
        begin_process(crowd, &crowd->processes[i]);
    return crowd;
}

static void
crowd_free(Crowd *crowd)
{
    for (guint i = 0; i < ALL; i++) {
        g_autofree char *path = socket_of(crowd, &crowd->processes[i]);
        end_process(&crowd->processes[i]);
        g_remove(path);
    }
    g_assert_cmpint(g_rmdir(crowd->directory), ==, 0);
    g_free(crowd->directory);
    g_free(crowd->name);
    g_free(crowd);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Crowd, crowd_free)

static void
assert_look(Fleet *fleet, guint found, guint lost, guint remarks, guint left_out)
{
    g_autoptr(ScanResult) result = scan_result_new();
    fleet_look(fleet, result);
    g_assert_cmpuint(result->found->len, ==, found);
    g_assert_cmpuint(result->lost->len, ==, lost);
    g_assert_cmpuint(result->remarks->len, ==, remarks);
    g_assert_cmpuint(fleet_count_left_out(fleet), ==, left_out);
    for (guint i = 0; i < remarks; i++)
        g_assert_nonnull(strstr(g_array_index(result->remarks, ScanRemark, i).text, "as many processes of its user"));
}

/* Else one user's would take all numbers of the series, and remarks about them all memory. The oldest are followed. */
static void
test_namesakes(void)
{
    g_autoptr(Crowd) crowd = crowd_new();
    g_autoptr(Fleet) fleet = fleet_new(crowd->name, "series");
    assert_look(fleet, SERIES_NUMBERS_OF_USER, 0, TOO_MANY, TOO_MANY);
    assert_look(fleet, 0, 0, 0, TOO_MANY);
    end_process(&crowd->processes[ALL - 1]); /* one that was left out */
    assert_look(fleet, 0, 0, 0, TOO_MANY - 1);
    end_process(&crowd->processes[0]); /* its place is the next one's */
    assert_look(fleet, 1, 1, 0, TOO_MANY - 1);
    assert_look(fleet, 0, 0, 0, TOO_MANY - 1);
}

/* Else remarks about one user's processes would displace those about the service of another. */
static void
test_remarks(void)
{
    enum { MANY = 1000, SOME = 8 };
    g_autoptr(Fleet) fleet = fleet_new("none", "series");
    g_autoptr(ScanResult) result = scan_result_new();
    for (guint i = 0; i < MANY; i++) {
        const Process process = {.pid = (pid_t)(i + 1), .start_time = 1, .name = "none"};
        fleet_leave_out(fleet, &process, "it does not use jemalloc", result);
    }
    g_assert_cmpuint(fleet_count_left_out(fleet), ==, MANY);
    g_assert_cmpuint(result->remarks->len, ==, SOME);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/fleet/namesakes", test_namesakes);
    g_test_add_func("/fleet/remarks", test_remarks);
    return g_test_run();
}
