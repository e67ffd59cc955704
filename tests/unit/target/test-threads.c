/* SPDX-License-Identifier: Apache-2.0 */
/* A process whose threads all wait alike. */
#include "target/threads.h"

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 20, SOON = 5 };

static void *
wait_for_ever(void *nothing)
{
    (void)nothing;
    for (;;)
        pause();
    return NULL;
}

static pid_t
begin_threads(void)
{
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (guint i = 0; i < THREADS; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, wait_for_ever, NULL) != 0)
            _exit(1);
    }
    wait_for_ever(NULL);
    return 0;
}

/* Their number once all of them wait. */
static GArray *
threads_that_wait(pid_t pid)
{
    GArray *threads = threads_by_promise(pid);

    while (threads->len < THREADS + 1 || g_array_index(threads, pid_t, 0) == pid) {
        g_array_unref(threads);
        g_usleep(1000);
        threads = threads_by_promise(pid);
    }
    return threads;
}

/* The stacks of the others may all be too small. */
static void
test_main_is_tried_soon(void)
{
    pid_t pid = begin_threads();
    gint64 until = g_get_monotonic_time() + 10 * G_USEC_PER_SEC;
    guint at;

    do {
        g_autoptr(GArray) threads = threads_that_wait(pid);
        for (at = 0; at < threads->len && g_array_index(threads, pid_t, at) != pid; at++)
            ;
    } while (at >= SOON && g_get_monotonic_time() < until);
    g_assert_cmpuint(at, >, 0);
    g_assert_cmpuint(at, <, SOON);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/threads/main-is-tried-soon", test_main_is_tried_soon);
    return g_test_run();
}
