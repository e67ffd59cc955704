/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions that never end, since the file systems of their processes do not answer. */
#include "broker/crowd.h"

#include "etc-file.h"

#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static const gint64 second = G_USEC_PER_SEC;

static pid_t last_pid;
static guint given_up;

static CrowdState
never(pid_t pid)
{
    return CROWD_RUNS;
}

static CrowdState
always(pid_t pid)
{
    return CROWD_ENDED;
}

static CrowdState
linger(pid_t pid)
{
    return CROWD_LINGERS;
}

static void
count_given_up(pid_t pid)
{
    given_up++;
}

static void
look(Crowd *crowd, CrowdState (*state_of)(pid_t pid), gint64 now_us)
{
    given_up = 0;
    crowd_look(crowd, state_of, count_given_up, now_us);
}

static gboolean
begin(Crowd *crowd, guint64 account, BrokerKind kind, gint64 now_us)
{
    const CrowdSession session = {++last_pid, account, kind, now_us};
    const gboolean has_room = crowd_has_room(crowd, &session);
    if (has_room)
        crowd_add(crowd, &session);
    return has_room;
}

/* Those of one user do not use up what there is for all, and no more begin until some have ended. */
static void
test_own_dumps(void)
{
    Crowd *crowd = crowd_new();
    guint n = 0;
    while (begin(crowd, 1000, BROKER_OWN_DUMP, 0))
        n++;
    g_assert_cmpuint(n, ==, CROWD_OF_USER);
    look(crowd, never, 60 * second);
    g_assert_cmpuint(given_up, ==, 0);
    look(crowd, never, 91 * second);
    g_assert_cmpuint(given_up, ==, n);
    look(crowd, never, 92 * second);
    g_assert_cmpuint(given_up, ==, 0);
    g_assert_false(begin(crowd, 1000, BROKER_OPEN, 92 * second));
    look(crowd, always, 93 * second);
    g_assert_true(begin(crowd, 1000, BROKER_OPEN, 93 * second));
    crowd_free(crowd);
}

/* What a report has started may wait for a file that is never read, and keeps its memory. */
static void
test_left_by_reports(void)
{
    Crowd *crowd = crowd_new();
    guint n = 0;
    for (; begin(crowd, 1000, BROKER_RENDER, 0); n++)
        look(crowd, linger, 0);
    g_assert_cmpuint(n, ==, CROWD_STUCK);
    g_assert_cmpuint(given_up, ==, 0);
    g_assert_true(begin(crowd, 1001, BROKER_RENDER, 0));
    look(crowd, always, second);
    g_assert_true(begin(crowd, 1000, BROKER_RENDER, second));
    crowd_free(crowd);
}

/* As one has who is root of a container: there is room for others for any number of them, and an end to it. */
static void
test_many_users(void)
{
    static const BrokerKind kinds[] = {BROKER_OWN_DUMP, BROKER_OPEN};
    for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++) {
        Crowd *crowd = crowd_new();
        guint n = 0;
        g_assert_true(begin(crowd, 5, BROKER_OPEN, 0));
        look(crowd, always, 1 * second);
        /* Each begins one every minute, as a server does. */
        for (gint64 minute = 0; minute < 100; minute++) {
            for (guint64 user = 0; user < 20; user++)
                n += begin(crowd, 100000 + (guint64)minute * 20 + user, kinds[i], minute * 60 * second);
            look(crowd, never, (minute + 1) * 60 * second);
        }
        g_assert_cmpuint(n, >=, CROWD_STUCK_MAX);
        g_assert_cmpuint(n, <=, CROWD_STUCK_MAX + 40);
        look(crowd, never, 6100 * second);
        g_assert_false(begin(crowd, 200000, BROKER_OPEN, 6100 * second));
        g_assert_true(begin(crowd, 5, BROKER_OPEN, 6100 * second));
        g_assert_true(begin(crowd, 0, BROKER_OPEN, 6100 * second));
        g_assert_true(begin(crowd, 0, BROKER_SCAN, 6100 * second));
        crowd_free(crowd);
    }
}

/* Who was prompt has no more of them than others once a session is stuck. */
static void
test_no_longer_prompt(void)
{
    Crowd *crowd = crowd_new();
    g_assert_true(begin(crowd, 5, BROKER_VARIABLE, 0));
    look(crowd, always, 1 * second);
    for (guint64 user = 0; user < CROWD_STUCK_MAX; user++)
        g_assert_true(begin(crowd, 1000 + user, BROKER_OPEN, 1 * second));
    look(crowd, never, 40 * second);
    g_assert_false(begin(crowd, 6, BROKER_OPEN, 40 * second));
    g_assert_true(begin(crowd, 5, BROKER_OPEN, 40 * second));
    look(crowd, never, 80 * second);
    g_assert_false(begin(crowd, 5, BROKER_OPEN, 80 * second));
    crowd_free(crowd);
}

/* The account of a process with the id INNER, in a user namespace that MAKER has made. 0: that is not permitted. */
static guint64
account_in_namespace_of(uid_t maker, uid_t inner)
{
    int ready[2];
    char made = 'n';
    g_assert_no_errno(pipe(ready));
    const pid_t pid = fork();
    if (pid == 0) {
        made = setresuid(maker, maker, maker) == 0 && unshare(CLONE_NEWUSER) == 0 ? 'y' : 'n';
        if (write(ready[1], &made, 1) == 1)
            pause();
        _exit(0);
    }
    g_assert_cmpint(read(ready[0], &made, 1), ==, 1);
    const Process inside = {.pid = pid, .uids = {inner, inner, inner}};
    const guint64 account = crowd_account(&inside);
    kill(pid, SIGKILL);
    g_assert_cmpint(waitpid(pid, NULL, 0), ==, pid);
    close(ready[0]);
    close(ready[1]);
    return made == 'y' ? account : 0;
}

/* A process in a namespace of another's making, whatever its own user id. */
static void
test_namespaces(void)
{
    enum { MAKER = 65531, INNER = 77 };
    const Process self = {.pid = getpid(), .uids = {INNER, INNER, INNER}};
    g_assert_cmpuint(crowd_account(&self), ==, INNER);
    const guint64 account = account_in_namespace_of(MAKER, INNER);
    if (account == 0)
        g_test_skip("user namespaces, or another user id, are not permitted here");
    else
        g_assert_cmpuint(account, ==, MAKER);
}

/* A program with the set-user-ID bit of a subordinate id brings this id out of its namespace. */
static void
test_subordinate_ids(void)
{
    const Process self = {.pid = getpid(), .uids = {200003, 200003, 200003}};
    if (!etc_file_replace("/etc/subuid", "65531:200000:10\n")) {
        g_test_skip("needs mounts of its own, and /etc/subuid");
        return;
    }
    g_assert_cmpuint(crowd_account(&self), ==, 65531);
    const guint64 account = account_in_namespace_of(200005, 77);
    g_assert_true(account == 0 || account == 65531);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/broker/crowd/own-dumps", test_own_dumps);
    g_test_add_func("/broker/crowd/left-by-reports", test_left_by_reports);
    g_test_add_func("/broker/crowd/many-users", test_many_users);
    g_test_add_func("/broker/crowd/no-longer-prompt", test_no_longer_prompt);
    g_test_add_func("/broker/crowd/subordinate-ids", test_subordinate_ids); /* before the file is read */
    g_test_add_func("/broker/crowd/namespaces", test_namespaces);
    return g_test_run();
}
