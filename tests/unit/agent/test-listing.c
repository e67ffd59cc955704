/* SPDX-License-Identifier: Apache-2.0 */
/* A child that is forked while another thread lists the loaded objects can list them, too. */
#include "agent/listing.h"

#include <glib.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { INSIDE_MS = 20, CHILD_S = 60 };

static atomic_bool inside;

static int
linger(struct dl_phdr_info *info, size_t size, void *data)
{
    atomic_store(&inside, TRUE);
    g_usleep(INSIDE_MS * 1000);
    return 1;
}

static int
count(struct dl_phdr_info *info, size_t size, void *data)
{
    ++*(int *)data;
    return 0;
}

static void *
list_slowly(void *unused)
{
    listing_iterate(linger, NULL);
    return NULL;
}

static int
list_in_child(void)
{
    int n = 0;
    alarm(CHILD_S);
    dl_iterate_phdr(count, &n);
    return listing_iterate(count, &n) == 0 && n > 1 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static void
test_fork_waits(void)
{
    for (int i = 0; i < 10; i++) {
        pthread_t thread;
        int status = -1;
        atomic_store(&inside, FALSE);
        pthread_create(&thread, NULL, list_slowly, NULL);
        while (!atomic_load(&inside))
            sched_yield();
        pid_t pid = fork();
        if (pid == 0)
            _exit(list_in_child());
        g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
        g_assert_cmpint(status, ==, 0);
        pthread_join(thread, NULL);
    }
}

/* As a signal handler may, at the cost of a child that cannot list. */
static int
fork_inside(struct dl_phdr_info *info, size_t size, void *data)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(EXIT_SUCCESS);
    g_assert_cmpint(waitpid(pid, data, 0), ==, pid);
    return 1;
}

static void
test_own_fork_goes_on(void)
{
    int status = -1;
    g_assert_cmpint(listing_iterate(fork_inside, &status), ==, 1);
    g_assert_cmpint(status, ==, 0);
    g_assert_cmpint(listing_iterate(fork_inside, &status), ==, 1);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    pthread_atfork(listing_await, listing_allow, listing_forget);
    g_test_add_func("/agent/listing/fork-waits", test_fork_waits);
    g_test_add_func("/agent/listing/own-fork-goes-on", test_own_fork_goes_on);
    return g_test_run();
}
