/* SPDX-License-Identifier: Apache-2.0 */
/* Reports that take as long as they may, of a user with several user ids, and those of others. */
#include "service/core.h"
#include "service/scan-result.h"

enum { FIRST, SECOND, THIRD, FOURTH, SLOW, PROMPT, USERS };
enum { FIRSTS = 1 }; /* more reports, of users with none in progress */

static struct {
    GMutex lock;
    GCond changed;
    guint running[USERS];
    gboolean may_end[USERS];
} scene;

/* The pid is the user, or the client if a peer asks. */
static Outcome
render(const RenderSetup *setup, const RouteRendering *rendering, int *descriptor, Failure *failure)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&scene.lock);
    scene.running[setup->pid]++;
    g_cond_broadcast(&scene.changed);
    while (!scene.may_end[setup->pid])
        g_cond_wait(&scene.changed, &scene.lock);
    scene.running[setup->pid]--;
    return OUTCOME_DONE;
}

static gpointer
scanner_open(guint per_user)
{
    return &scene;
}

static void
scanner_close(gpointer scanner)
{
}

static ScanResult *
scan(gpointer scanner, const GArray *hints)
{
    return scan_result_new();
}

static const ServiceRoot root = {
    .scanner_new = scanner_open, .scanner_free = scanner_close, .scan = scan, .render = render};

static Service *
service_with(guint renderings)
{
    ServiceOptions options = service_options_default;
    options.root = &root;
    options.every_us = 0;
    options.limits.renderings = renderings;
    options.limits.first_renderings = FIRSTS;
    Service *service = service_new(&options, NULL);
    for (guint user = 0; user < USERS; user++)
        scene.may_end[user] = FALSE;
    return service;
}

typedef struct {
    Service *service;
    uid_t user;
    guint64 peer; /* not 0: it asks for reports of the targets of FIRST */
} Client;

static gpointer
ask(gpointer data)
{
    const Client *client = data;
    const RouteRendering rendering = {.dump = -1, .base = -1};
    const ServiceRender wanted = {.account = client->peer != 0 ? FIRST : client->user,
                                  .peer = client->peer,
                                  .title = "report",
                                  .pid = (pid_t)client->user,
                                  .rendering = &rendering};
    int descriptor = -1;
    Failure failure = {0};
    return GINT_TO_POINTER(service_render(client->service, &wanted, &descriptor, &failure));
}

static void
end_all(GThread **threads, guint n)
{
    g_mutex_lock(&scene.lock);
    for (guint user = 0; user < USERS; user++)
        scene.may_end[user] = TRUE;
    g_cond_broadcast(&scene.changed);
    g_mutex_unlock(&scene.lock);
    for (guint i = 0; i < n; i++)
        g_assert_cmpint(GPOINTER_TO_INT(g_thread_join(threads[i])), ==, OUTCOME_DONE);
}

static void
wait_for_running(uid_t user)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&scene.lock);
    while (scene.running[user] == 0)
        g_cond_wait(&scene.changed, &scene.lock);
}

static guint
count_running(uid_t user)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&scene.lock);
    return scene.running[user];
}

static void
wait_for_waiting(Service *service, guint users)
{
    gboolean there = FALSE;
    while (!there) {
        g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&service->lock);
        there = g_sequence_get_length(service->renderings.ring) == (gint)users;
        g_thread_yield();
    }
}

/* As if a report for USER had taken TOOK_S, AGO_S ago. */
static void
note_took(Service *service, uid_t user, guint took_s, guint ago_s)
{
    const gint64 then_us = g_get_monotonic_time() - (gint64)ago_s * G_USEC_PER_SEC;
    GList link = {0};
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&service->lock);
    turns_enter(&service->renderings, user, &link, then_us);
    g_assert_true(turns_next(&service->renderings, then_us) == &link);
    turns_done(&service->renderings, user, (gint64)took_s * G_USEC_PER_SEC, then_us);
}

/* Who has delayed others comes after who has not, even if he waits already. */
static void
test_order(void)
{
    Service *service = service_with(1);
    Client clients[] = {
        {service, FIRST, 0}, {service, SECOND, 0}, {service, THIRD, 0}, {service, SLOW, 0}, {service, PROMPT, 0}};
    GThread *threads[G_N_ELEMENTS(clients)];
    note_took(service, SLOW, 30, 0);
    for (guint i = 0; i < G_N_ELEMENTS(clients); i++) {
        threads[i] = g_thread_new("client", ask, &clients[i]);
        if (i < 3)
            wait_for_running(clients[i].user);
        else
            wait_for_waiting(service, i - 2);
    }
    g_mutex_lock(&scene.lock);
    scene.may_end[FIRST] = TRUE;
    g_cond_broadcast(&scene.changed);
    g_mutex_unlock(&scene.lock);
    wait_for_running(PROMPT);
    g_assert_cmpuint(count_running(SLOW), ==, 0);
    end_all(threads, G_N_ELEMENTS(clients));
    service_free(service);
}

/* Users with slow reports, however many, leave room for one of a user who has had none. */
static void
test_room(void)
{
    Service *service = service_with(2);
    Client clients[] = {{service, FIRST, 0},  {service, SECOND, 0}, {service, THIRD, 0},
                        {service, FOURTH, 0}, {service, SLOW, 0},   {service, PROMPT, 0}};
    GThread *threads[G_N_ELEMENTS(clients)];
    for (guint i = 0; i < G_N_ELEMENTS(clients); i++)
        note_took(service, clients[i].user, clients[i].user == PROMPT ? 0 : 30, clients[i].user == PROMPT ? 300 : 0);
    for (guint i = 0; i < G_N_ELEMENTS(clients); i++) {
        threads[i] = g_thread_new("client", ask, &clients[i]);
        if (clients[i].user == SLOW)
            wait_for_waiting(service, 1);
        else
            wait_for_running(clients[i].user);
    }
    g_assert_cmpuint(count_running(SLOW), ==, 0);
    end_all(threads, G_N_ELEMENTS(clients));
    service_free(service);
}

/* Two users with as many as they may have leave room for one who has none. */
static void
test_firsts(void)
{
    Service *service = service_with(1);
    Client clients[] = {{service, FIRST, 0}, {service, SECOND, 0}, {service, FIRST, 0}, {service, THIRD, 0}};
    GThread *threads[G_N_ELEMENTS(clients)];
    for (guint i = 0; i < G_N_ELEMENTS(clients); i++) {
        threads[i] = g_thread_new("client", ask, &clients[i]);
        if (i == 2)
            wait_for_waiting(service, 1);
        else
            wait_for_running(clients[i].user);
    }
    g_assert_cmpuint(count_running(FIRST), ==, 1);
    end_all(threads, G_N_ELEMENTS(clients));
    service_free(service);
}

/* One peer leaves room for another's report of the same user's targets. */
static void
test_peers(void)
{
    Service *service = service_with(2);
    Client clients[] = {{service, FIRST, 7}, {service, SECOND, 7}, {service, THIRD, 7}, {service, PROMPT, 8}};
    GThread *threads[G_N_ELEMENTS(clients)];
    threads[0] = g_thread_new("client", ask, &clients[0]);
    wait_for_running(FIRST);
    for (guint i = 1; i < G_N_ELEMENTS(clients); i++) {
        g_usleep(G_USEC_PER_SEC / 10);
        threads[i] = g_thread_new("client", ask, &clients[i]);
    }
    wait_for_running(PROMPT);
    g_assert_cmpuint(count_running(SECOND) + count_running(THIRD), ==, 0);
    end_all(threads, G_N_ELEMENTS(clients));
    service_free(service);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/service/renderings/order", test_order);
    g_test_add_func("/service/renderings/room", test_room);
    g_test_add_func("/service/renderings/firsts", test_firsts);
    g_test_add_func("/service/renderings/peers", test_peers);
    return g_test_run();
}
