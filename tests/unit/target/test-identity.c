/* SPDX-License-Identifier: Apache-2.0 */
#include "target/identity.h"

#include <glib/gstdio.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* A child that is this program, of this user, in the root directory ROOT. */
static pid_t
start_in(const char *root)
{
    int ends[2];
    char byte;
    g_assert_no_errno(pipe(ends));
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        if (chroot(root) != 0 || chdir("/") != 0 || write(ends[1], "", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    close(ends[1]);
    g_assert_cmpint(read(ends[0], &byte, 1), ==, 1);
    close(ends[0]);
    return pid;
}

static Identity *
identity_in(const char *root)
{
    Process process;
    pid_t pid = start_in(root);
    g_assert_true(process_read(pid, &process));
    Identity *identity = identity_new(&process);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    return identity;
}

/* Its root may take any user and any path for its programs. */
static void
test_a_container_continues_no_service_of_ours(void)
{
    if (geteuid() != 0) {
        g_test_skip("chroot(2) needs root");
        return;
    }
    g_autofree char *directory = g_dir_make_tmp("jescope-test-XXXXXX", NULL);
    g_autoptr(Identity) service = identity_in("/");
    g_autoptr(Identity) restarted = identity_in("/");
    g_autoptr(Identity) contained = identity_in(directory);
    g_assert_cmpstr(service->program, ==, restarted->program);
    service->unit[0] = restarted->unit[0] = contained->unit[0] = '\0'; /* of this test */
    g_assert_true(identity_continues(service, restarted));
    g_assert_false(identity_continues(service, contained));
    g_assert_false(identity_continues(contained, service));
    g_rmdir(directory);
}

static void
test_a_container_continues_itself(void)
{
    g_autoptr(Identity) container = identity_of(7, "", "/usr/bin/redis-server");
    g_autoptr(Identity) restarted = identity_of(7, "", "/usr/bin/redis-server");
    container->contained = restarted->contained = TRUE;
    g_assert_true(identity_continues(container, restarted));
    restarted->contained = FALSE;
    g_assert_false(identity_continues(container, restarted));
}

static void
test_a_unit_may_change_its_root(void)
{
    g_autoptr(Identity) before = identity_of(7, "haproxy.service", "/usr/sbin/haproxy");
    g_autoptr(Identity) after = identity_of(7, "haproxy.service", "/usr/sbin/haproxy");
    after->contained = TRUE;
    g_assert_true(identity_continues(before, after));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/identity/a-container-continues-no-service-of-ours",
                    test_a_container_continues_no_service_of_ours);
    g_test_add_func("/identity/a-container-continues-itself", test_a_container_continues_itself);
    g_test_add_func("/identity/a-unit-may-change-its-root", test_a_unit_may_change_its_root);
    return g_test_run();
}
