/* SPDX-License-Identifier: Apache-2.0 */
/* How processes end whose parent is another one and waits for them at once, with and without a kernel that says so by a
 * pidfd. */
#include "target/exit-events.h"
#include "target/process-end.h"

#include "etc-file.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* A process, and its parent, which waits for it if told so; that is a child of the test. */
typedef struct {
    pid_t parent, process;
    int go; /* the process ends when this end of its pipe is closed */
} Scene;

typedef void Ending(void);

static void
run_process(int go, Ending *ending)
{
    char byte;
    while (read(go, &byte, 1) < 0)
        continue;
    ending();
    _exit(0);
}

static void
run_parent(int pids, int go, Ending *ending, gboolean reaps)
{
    pid_t pid = fork();
    if (pid == 0)
        run_process(go, ending);
    close(go);
    while (write(pids, &pid, sizeof(pid)) != sizeof(pid) || (reaps && waitpid(pid, NULL, 0) < 0))
        continue;
    for (;;)
        pause();
}

static Scene
start(Ending *ending, gboolean reaps)
{
    int pids[2], go[2];
    Scene scene;
    g_assert_true(pipe(pids) == 0 && pipe(go) == 0);
    scene.parent = fork();
    if (scene.parent == 0) {
        close(go[1]);
        run_parent(pids[1], go[0], ending, reaps);
    }
    g_assert_cmpint(read(pids[0], &scene.process, sizeof(scene.process)), ==, sizeof(scene.process));
    close(pids[0]);
    close(pids[1]);
    close(go[0]);
    scene.go = go[1];
    return scene;
}

static void
stop(const Scene *scene)
{
    kill(scene->parent, SIGKILL);
    g_assert_cmpint(waitpid(scene->parent, NULL, 0), ==, scene->parent);
}

static void
end_and_wait(const Scene *scene, const ProcessEnd *end)
{
    struct pollfd ended = {.fd = process_end_pidfd(end), .events = POLLIN};
    close(scene->go);
    g_assert_cmpint(poll(&ended, 1, -1), ==, 1);
}

static void
by_exit(void)
{
    _exit(3);
}

static void
by_success(void)
{
    _exit(0);
}

static void
by_signal(void)
{
    raise(SIGKILL);
}

static void *
exit_later(void *nothing)
{
    g_usleep(100000);
    _exit(5);
    return NULL;
}

/* The first thread ends before the process. */
static void
by_another_thread(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, exit_later, NULL);
    pthread_exit(NULL);
}

static int
end_thread(void *status)
{
    syscall(SYS_exit, GPOINTER_TO_INT(status));
    return 0;
}

/* As many threads as wished, one after the other, each of which ends with that status. They are not of the C library,
 * which has AddressSanitizer account for each and fail now and then. */
static void
run_threads(int count, int status)
{
    enum { FLAGS = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_VFORK };
    static _Alignas(16) char stack[64 * 1024];
    for (int i = 0; i < count; i++)
        if (clone(end_thread, stack + sizeof(stack), FLAGS, GINT_TO_POINTER(status)) < 0)
            _exit(1);
}

/* After as many threads as the queue of a subscription could not hold. */
static void
after_many_threads(void)
{
    run_threads(20000, 0);
    _exit(7);
}

static const struct {
    const char *name;
    Ending *ending;
    int status;
} ways[] = {{"exit", by_exit, 3 << 8},
            {"success", by_success, 0},
            {"signal", by_signal, SIGKILL},
            {"another-thread", by_another_thread, 5 << 8},
            {"many-threads", after_many_threads, 7 << 8}};

/* As a kernel that knows pidfds but not their exit status: what /proc shows of a zombie. */
static void
test_zombie(gconstpointer data)
{
    const guint way = GPOINTER_TO_UINT(data);
    const Scene scene = start(ways[way].ending, FALSE);
    ProcessEnd *end = process_end_new(scene.process);
    int status = -1;
    end_and_wait(&scene, end);
    g_assert_true(process_end_read(end, &status));
    g_assert_cmpint(status, ==, ways[way].status);
    process_end_free(end);
    stop(&scene);
}

static gboolean
skip_without_events(void)
{
    const int subscription = exit_events_subscribe();
    if (subscription >= 0)
        exit_events_unsubscribe(subscription);
    else
        g_test_skip("the process connector answers root of the initial namespaces alone");
    return subscription < 0;
}

/* The status of a followed process that ends; -1 if none is received within two seconds. */
static int
received_status(pid_t pid)
{
    int status = -1;
    for (int i = 0; i < 200 && !exit_events_read(pid, &status); i++)
        g_usleep(10000);
    return status;
}

/* The parent waits for it at once. */
static void
test_event(gconstpointer data)
{
    const guint way = GPOINTER_TO_UINT(data);
    const Scene scene = start(ways[way].ending, TRUE);
    ProcessEnd *end = process_end_new(scene.process);
    if (!skip_without_events()) {
        exit_events_follow(scene.process);
        end_and_wait(&scene, end);
        g_assert_cmpint(received_status(scene.process), ==, ways[way].status);
        exit_events_forget(scene.process);
    }
    process_end_free(end);
    stop(&scene);
}

/* With more processes than can be followed at a time, those that are followed are reported while thousands of others
 * end. */
static void
test_many(void)
{
    if (skip_without_events())
        return;
    const Scene scene = start(by_exit, TRUE);
    for (int i = 0; i < EXIT_EVENTS_MOST - 1; i++)
        exit_events_follow(G_MAXINT - i);
    exit_events_follow(scene.process);
    for (int i = 0; i < 3000; i++) {
        pid_t other = fork();
        if (other == 0)
            _exit(1);
        g_assert_cmpint(waitpid(other, NULL, 0), ==, other);
    }
    close(scene.go);
    g_assert_cmpint(received_status(scene.process), ==, 3 << 8);
    g_assert_false(exit_events_read(G_MAXINT, &(int){0}));
    exit_events_follow(1); /* one too many */
    exit_events_forget(1);
    for (int i = 0; i < EXIT_EVENTS_MOST - 1; i++)
        exit_events_forget(G_MAXINT - i);
    exit_events_forget(scene.process);
    stop(&scene);
}

/* More events than the kernel would keep. */
static void
by_flood(void)
{
    run_threads(8000, 1);
}

/* The threads of a followed process, each of which ends with a status, displace no event of another process. */
static void
test_flood(void)
{
    if (skip_without_events())
        return;
    const Scene honest = start(by_exit, TRUE), greedy = start(by_flood, FALSE);
    ProcessEnd *end = process_end_new(greedy.process);
    exit_events_follow(greedy.process);
    exit_events_follow(honest.process);
    end_and_wait(&greedy, end);
    stop(&greedy); /* it has the other's pipe */
    close(honest.go);
    g_assert_cmpint(received_status(honest.process), ==, 3 << 8);
    exit_events_forget(honest.process);
    exit_events_forget(greedy.process);
    process_end_free(end);
    stop(&honest);
}

/* Any number of processes of another user leave a process its place. */
static void
test_many_of_another_user(void)
{
    enum { MANY = 8 * EXIT_EVENTS_MOST };
    if (skip_without_events())
        return;
    const Scene scene = start(by_exit, TRUE);
    for (int i = 0; i < MANY; i++)
        exit_events_follow(G_MAXINT - i); /* no such processes */
    exit_events_follow(scene.process);
    close(scene.go);
    g_assert_cmpint(received_status(scene.process), ==, 3 << 8);
    for (int i = 0; i < MANY; i++)
        exit_events_forget(G_MAXINT - i);
    exit_events_forget(scene.process);
    stop(&scene);
}

/* A process with a user id of its own, which ends with the test. */
static pid_t
start_as(uid_t user)
{
    char byte;
    int ready[2];
    g_assert_no_errno(pipe(ready));
    const pid_t pid = fork();
    if (pid == 0) {
        /* After the user is set, which undoes it. */
        if (setresuid(user, user, user) == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && write(ready[1], "y", 1) == 1)
            pause();
        _exit(1);
    }
    close(ready[1]);
    g_assert_cmpint(read(ready[0], &byte, 1), ==, 1);
    close(ready[0]);
    return pid;
}

/* As many processes as can be followed, each with another id that is subordinate to one user, beside one of another. */
static void
test_many_subordinate_ids(void)
{
    pid_t pids[EXIT_EVENTS_MOST];
    if (skip_without_events())
        return;
    if (!etc_file_replace("/etc/subuid", "65531:200000:65536\n")) {
        g_test_skip("needs mounts of its own, and /etc/subuid");
        return;
    }
    for (guint i = 0; i < EXIT_EVENTS_MOST; i++) {
        pids[i] = start_as(200000 + i);
        exit_events_follow(pids[i]);
    }
    g_assert_no_errno(setresuid(300000, 0, 0));
    const Scene scene = start(by_exit, TRUE);
    g_assert_no_errno(setresuid(0, 0, 0));
    exit_events_follow(scene.process);
    close(scene.go);
    g_assert_cmpint(received_status(scene.process), ==, 3 << 8);
    for (guint i = 0; i < EXIT_EVENTS_MOST; i++) {
        exit_events_forget(pids[i]);
        kill(pids[i], SIGKILL);
        g_assert_cmpint(waitpid(pids[i], NULL, 0), ==, pids[i]);
    }
    exit_events_forget(scene.process);
    stop(&scene);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/process-end/many-subordinate-ids", test_many_subordinate_ids); /* before the file is read */
    for (guint i = 0; i < G_N_ELEMENTS(ways); i++) {
        g_autofree char *zombie = g_strdup_printf("/process-end/zombie/%s", ways[i].name);
        g_autofree char *event = g_strdup_printf("/process-end/event/%s", ways[i].name);
        g_test_add_data_func(zombie, GUINT_TO_POINTER(i), test_zombie);
        g_test_add_data_func(event, GUINT_TO_POINTER(i), test_event);
    }
    g_test_add_func("/process-end/many", test_many);
    g_test_add_func("/process-end/flood", test_flood);
    g_test_add_func("/process-end/many-of-another-user", test_many_of_another_user);
    return g_test_run();
}
