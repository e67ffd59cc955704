/* SPDX-License-Identifier: Apache-2.0 */
/* Forks and listings of the loaded objects wait for each other, and not for ever. */
#include "agent/listing.h"

#include <glib.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { INSIDE_MS = 20, OBJECT_MS = 500, OBJECTS = 4, DEADLINE_S = 60 };

static atomic_bool inside;
static atomic_bool forked;

static int
count(struct dl_phdr_info *info, size_t size, void *data)
{
    ++*(int *)data;
    return 0;
}

static int
linger(struct dl_phdr_info *info, size_t size, void *data)
{
    atomic_store(&inside, TRUE);
    g_usleep(INSIDE_MS * 1000);
    return 1;
}

/* Each object takes long, as on a machine whose processors are busy with others; all together longer than a fork waits
 * without progress. */
static int
creep(struct dl_phdr_info *info, size_t size, void *data)
{
    static int n;
    atomic_store(&inside, TRUE);
    g_usleep(OBJECT_MS * 1000);
    return ++n == OBJECTS;
}

/* As where the lister waits for the loader's lock, whose owner waits for the fork. */
static int
wait_for_fork(struct dl_phdr_info *info, size_t size, void *data)
{
    const gint64 until = g_get_monotonic_time() + (gint64)DEADLINE_S * G_USEC_PER_SEC;
    atomic_store(&inside, TRUE);
    while (!atomic_load(&forked) && g_get_monotonic_time() < until)
        sched_yield();
    g_assert_true(atomic_load(&forked));
    return 1;
}

typedef int (*Callback)(struct dl_phdr_info *info, size_t size, void *data);

static gpointer
list(gpointer data)
{
    const Callback *callback = data;
    g_assert_true(listing_iterate(*callback, NULL));
    return NULL;
}

static int
list_in_child(void)
{
    int n = 0;
    alarm(DEADLINE_S);
    dl_iterate_phdr(count, &n);
    return listing_iterate(count, &n) && n > 1 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int
status_of(pid_t pid)
{
    int status = -1;
    g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
    return status;
}

/* Forks once CALLBACK has been called in another thread; the child ends with the status of RUN. */
static void
fork_during(Callback callback, int (*run)(void))
{
    atomic_store(&inside, FALSE);
    atomic_store(&forked, FALSE);
    GThread *thread = g_thread_new("lists", list, &callback);
    while (!atomic_load(&inside))
        sched_yield();
    pid_t pid = fork();
    if (pid == 0)
        _exit(run());
    atomic_store(&forked, TRUE);
    g_assert_cmpint(status_of(pid), ==, 0);
    g_thread_join(thread);
}

static void
test_fork_waits(void)
{
    for (int i = 0; i < 10; i++)
        fork_during(linger, list_in_child);
}

static void
test_fork_waits_for_progress(void)
{
    fork_during(creep, list_in_child);
}

static int
cannot_list(void)
{
    int n = 0;
    alarm(DEADLINE_S);
    return listing_iterate(count, &n) ? EXIT_FAILURE : EXIT_SUCCESS;
}

static void
test_fork_goes_on_without_progress(void)
{
    fork_during(wait_for_fork, cannot_list);
    fork_during(linger, list_in_child);
}

static gpointer
fork_slowly(gpointer unused)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(EXIT_SUCCESS);
    g_assert_cmpint(status_of(pid), ==, 0);
    return NULL;
}

static atomic_bool lags;
static atomic_bool begun;
static atomic_bool over;

/* Registered before the guard, so that it runs later in the preparation of a fork. */
static void
lag(void)
{
    if (!atomic_load(&lags))
        return;
    atomic_store(&begun, TRUE);
    g_usleep(INSIDE_MS * 1000);
    atomic_store(&over, TRUE);
}

static int
see_over(struct dl_phdr_info *info, size_t size, void *data)
{
    g_assert_true(atomic_load(&over));
    return 1;
}

static void
test_listing_waits_for_a_fork(void)
{
    atomic_store(&lags, TRUE);
    GThread *thread = g_thread_new("forks", fork_slowly, NULL);
    while (!atomic_load(&begun))
        sched_yield();
    g_assert_true(listing_iterate(see_over, NULL));
    g_thread_join(thread);
    atomic_store(&lags, FALSE);
}

/* As a signal handler may, at the cost of a child that cannot list. */
static int
fork_inside(struct dl_phdr_info *info, size_t size, void *data)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(EXIT_SUCCESS);
    *(int *)data = status_of(pid);
    return 1;
}

static void
test_own_fork_goes_on(void)
{
    for (int i = 0; i < 2; i++) {
        int status = -1;
        g_assert_true(listing_iterate(fork_inside, &status));
        g_assert_cmpint(status, ==, 0);
    }
}

/* Without handlers: the child inherits a listing that nobody ends. */
static int
fork_without_handlers(struct dl_phdr_info *info, size_t size, void *data)
{
    pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (pid == 0)
        _exit(cannot_list());
    *(int *)data = status_of(pid);
    return 1;
}

static void
test_inherited_listing_is_refused(void)
{
    int status = -1;
    g_assert_true(listing_iterate(fork_without_handlers, &status));
    g_assert_cmpint(status, ==, 0);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    pthread_atfork(lag, NULL, NULL);
    listing_guard_forks();
    listing_guard_forks();
    g_test_add_func("/agent/listing/fork-waits", test_fork_waits);
    g_test_add_func("/agent/listing/fork-waits-for-progress", test_fork_waits_for_progress);
    g_test_add_func("/agent/listing/fork-goes-on-without-progress", test_fork_goes_on_without_progress);
    g_test_add_func("/agent/listing/listing-waits-for-a-fork", test_listing_waits_for_a_fork);
    g_test_add_func("/agent/listing/own-fork-goes-on", test_own_fork_goes_on);
    g_test_add_func("/agent/listing/inherited-listing-is-refused", test_inherited_listing_is_refused);
    return g_test_run();
}
