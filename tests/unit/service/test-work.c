/* SPDX-License-Identifier: Apache-2.0 */
#include "acting-agent.h"

#include "service/live.h"
#include "service/work.h"
#include "target/target.h"

#include <unistd.h>

static gpointer
say_hello(const RouteHost *host, gpointer data)
{
    Failure failure;
    WireHelloReply hello;
    Outcome *result = g_new(Outcome, 1);
    *result = host->ops->hello(host->data, &hello, &failure);
    return result;
}

static gpointer
greet(const RouteHost *host, gpointer data)
{
    g_free(say_hello(host, data));
    return NULL;
}

/* A client of several answers. */
typedef struct {
    guint answers;
    guint errors;
    gpointer last;
    guint wanted;
    gboolean all;
} Waiter;

static void
on_answer(gpointer result, const GError *error, gpointer data)
{
    Waiter *waiter = data;
    waiter->answers += result != NULL;
    waiter->errors += error != NULL;
    waiter->last = result;
    waiter->all = waiter->answers + waiter->errors >= waiter->wanted;
}

static const ServiceWork shared_hello = {.key = "hello", .func = say_hello, .free_result = g_free};
static const ServiceWork own_hello = {.func = say_hello, .free_result = g_free};

static void
wait_for_agent(Stage *stage)
{
    g_mutex_lock(&stage->acting.lock);
    while (stage->acting.waiting == 0)
        g_cond_wait(&stage->acting.changed, &stage->acting.lock);
    g_mutex_unlock(&stage->acting.lock);
}

/* While one is under way, all that come with the same key are answered by one more. */
static void
test_sharing(void)
{
    g_autoptr(Stage) stage = stage_new(NULL);
    Waiter waiter = {.wanted = 200};
    stage_do(stage, SERVICE_QUICK, greet, NULL); /* the connection's own */
    guint before = stage_get(stage, &stage->acting.hellos);
    stage_set(stage, blocked, TRUE);
    service_target_submit(stage->target, &shared_hello, on_answer, &waiter, NULL);
    wait_for_agent(stage);
    for (guint i = 1; i < waiter.wanted; i++)
        g_assert_nonnull(service_target_submit(stage->target, &shared_hello, on_answer, &waiter, NULL));
    stage_set(stage, blocked, FALSE);
    stage_wait(&waiter.all);
    g_assert_cmpuint(waiter.answers, ==, 200);
    g_assert_cmpuint(stage_get(stage, &stage->acting.hellos) - before, ==, 2);
    ServiceFigures figures;
    service_figures(stage->service, &figures);
    g_assert_cmpuint(figures.shared, ==, 198);
    g_assert_cmpuint(figures.waiting, ==, 0);
}

static void
test_busy(void)
{
    ServiceOptions options = service_options_default;
    options.limits.waiting = 3;
    g_autoptr(Stage) stage = stage_new(&options);
    g_autoptr(GError) error = NULL;
    Waiter waiter = {.wanted = 4};
    stage_set(stage, blocked, TRUE);
    service_target_submit(stage->target, &own_hello, on_answer, &waiter, NULL);
    wait_for_agent(stage);
    for (guint i = 0; i < 3; i++)
        g_assert_nonnull(service_target_submit(stage->target, &own_hello, on_answer, &waiter, NULL));
    g_assert_null(service_target_submit(stage->target, &own_hello, on_answer, &waiter, &error));
    g_assert_error(error, TARGET_ERROR, OUTCOME_CROWDED);
    stage_set(stage, blocked, FALSE);
    stage_wait(&waiter.all);
    g_assert_cmpuint(waiter.answers, ==, 4);
}

/* No callback is called, and queued work is not done; one of several clients of an answer may cancel. */
static void
test_cancel(void)
{
    g_autoptr(Stage) stage = stage_new(NULL);
    Waiter waiter = {.wanted = 2};
    stage_do(stage, SERVICE_QUICK, greet, NULL);
    guint before = stage_get(stage, &stage->acting.hellos);
    stage_set(stage, blocked, TRUE);
    service_target_submit(stage->target, &own_hello, on_answer, &waiter, NULL);
    wait_for_agent(stage);
    service_ticket_cancel(service_target_submit(stage->target, &own_hello, on_answer, &waiter, NULL));
    ServiceTicket *one = service_target_submit(stage->target, &shared_hello, on_answer, &waiter, NULL);
    service_target_submit(stage->target, &shared_hello, on_answer, &waiter, NULL);
    service_ticket_cancel(one);
    stage_set(stage, blocked, FALSE);
    stage_wait(&waiter.all);
    stage_do(stage, SERVICE_QUICK, greet, NULL);
    g_assert_cmpuint(waiter.answers, ==, 2);
    g_assert_cmpuint(stage_get(stage, &stage->acting.hellos) - before, ==, 3);
}

typedef struct {
    gint running;
    gint most;
    gint done;
} Overlap;

static gpointer
overlap(const RouteHost *host, gpointer data)
{
    Overlap *seen = data;
    gint now = g_atomic_int_add(&seen->running, 1) + 1;
    g_atomic_int_set(&seen->most, MAX(now, g_atomic_int_get(&seen->most)));
    g_usleep(200);
    g_atomic_int_add(&seen->running, -1);
    g_atomic_int_inc(&seen->done);
    return NULL;
}

static void
count_done(gpointer result, const GError *error, gpointer data)
{
    Waiter *waiter = data;
    waiter->answers++;
    waiter->all = waiter->answers == waiter->wanted;
}

/* Of one target one thing at a time, quick or slow, and neither kind waits until the other has run out. */
static void
test_one_at_a_time(void)
{
    g_autoptr(Stage) stage = stage_new(NULL);
    Overlap seen = {0};
    Waiter waiter = {.wanted = 40};
    for (guint i = 0; i < waiter.wanted; i++) {
        ServiceWork work = {.pace = i % 2 == 0 ? SERVICE_SLOW : SERVICE_QUICK, .func = overlap, .data = &seen};
        g_assert_nonnull(service_target_submit(stage->target, &work, count_done, &waiter, NULL));
    }
    stage_wait(&waiter.all);
    g_assert_cmpint(seen.done, ==, 40);
    g_assert_cmpint(seen.most, ==, 1);
}

/* An agent that cannot be reached is contacted once; requests within the next second fail immediately. */
static void
test_unreachable(void)
{
    g_autoptr(Stage) stage = stage_new(NULL);
    stage_do(stage, SERVICE_QUICK, greet, NULL);
    stage_set(stage, silent, TRUE);
    Waiter waiter = {.wanted = 1};
    service_target_submit(stage->target, &own_hello, on_answer, &waiter, NULL);
    stage_wait(&waiter.all);
    g_autofree char *trouble = service_target_trouble(stage->target);
    g_assert_nonnull(trouble);
    stage_set(stage, silent, FALSE);
    for (gboolean well = FALSE; !well;) {
        stage_do(stage, SERVICE_QUICK, greet, NULL);
        g_autofree char *still = service_target_trouble(stage->target);
        well = still == NULL;
    }
    RouteStatus status;
    service_target_status(stage->target, &status);
    g_assert_cmpstr(status.reach, ==, "agent");
}

static void
set_flag(gpointer data)
{
    *(gboolean *)data = TRUE;
}

/* Work in progress is completed, new work is refused. */
static void
test_stop(void)
{
    g_autoptr(Stage) stage = stage_new(NULL);
    g_autoptr(GError) error = NULL;
    Waiter waiter = {.wanted = 2};
    gboolean stopped = FALSE;
    stage_set(stage, blocked, TRUE);
    service_target_submit(stage->target, &own_hello, on_answer, &waiter, NULL);
    service_target_submit(stage->target, &own_hello, on_answer, &waiter, NULL);
    service_stop(stage->service, set_flag, &stopped);
    g_assert_null(service_target_submit(stage->target, &own_hello, on_answer, &waiter, &error));
    g_assert_error(error, TARGET_ERROR, OUTCOME_STOPPING);
    stage_set(stage, blocked, FALSE);
    stage_wait(&stopped);
    g_assert_cmpuint(waiter.answers, ==, 2);
}

/* Freed during work: no callback is called any more, and nothing leaks. */
static void
test_free_at_work(void)
{
    g_autoptr(Stage) stage = stage_new(NULL);
    Waiter waiter = {.wanted = 1};
    stage_set(stage, blocked, TRUE);
    for (guint i = 0; i < 10; i++)
        service_target_submit(stage->target, &own_hello, on_answer, &waiter, NULL);
    wait_for_agent(stage);
    service_free(g_steal_pointer(&stage->service));
    stage_set(stage, blocked, FALSE);
    while (g_main_context_iteration(NULL, FALSE))
        ;
    g_assert_cmpuint(waiter.answers + waiter.errors, ==, 0);
}

/* The end comes while a thread is held up and others wait: each piece of work is delivered or freed once, though its
 * tickets are cancelled between the end and the delivery, as a server does. */
static void
test_stop_over_time(void)
{
    ServiceOptions options = service_options_default;
    options.limits.stop_seconds = 1;
    options.every_us = 0;
    g_autoptr(Stage) stage = stage_new(&options);
    gboolean stopped = FALSE;
    Waiter waiter = {.wanted = 4};
    ServiceTicket *tickets[4];
    stage_set(stage, blocked, TRUE);
    for (guint i = 0; i < G_N_ELEMENTS(tickets); i++)
        tickets[i] = service_target_submit(stage->target, &own_hello, on_answer, &waiter, NULL);
    wait_for_agent(stage);
    service_stop(stage->service, set_flag, &stopped);
    stage_wait(&stopped);
    g_assert_cmpuint(waiter.answers + waiter.errors, ==, 0);
    for (guint i = 0; i < G_N_ELEMENTS(tickets); i++)
        service_ticket_cancel(tickets[i]);
    service_free(g_steal_pointer(&stage->service));
    stage_set(stage, blocked, FALSE);
    g_assert_cmpuint(waiter.answers + waiter.errors, ==, 0);
}

static gpointer
wait_while_wanted(const RouteHost *host, gpointer data)
{
    g_atomic_int_set((gint *)data, 1);
    while (service_work_is_wanted(host))
        g_usleep(1000);
    g_atomic_int_set((gint *)data, 2);
    return NULL;
}

/* Work in progress can detect that no client waits for it any more. */
static void
test_unwanted(void)
{
    g_autoptr(Stage) stage = stage_new(NULL);
    gint step = 0;
    ServiceWork work = {.func = wait_while_wanted, .data = &step};
    ServiceTicket *ticket = service_target_submit(stage->target, &work, on_answer, NULL, NULL);
    while (g_atomic_int_get(&step) == 0)
        g_usleep(1000);
    service_ticket_cancel(ticket);
    stage_do(stage, SERVICE_QUICK, greet, NULL); /* its turn comes when that has ended */
    g_assert_cmpint(g_atomic_int_get(&step), ==, 2);
}

/* Work that has waited for too long fails and is not done. */
static void
test_late(void)
{
    ServiceOptions options = service_options_default;
    options.limits.waiting_seconds = 1;
    g_autoptr(Stage) stage = stage_new(&options);
    Waiter waiter = {.wanted = 1};
    Waiter first = {.wanted = 1};
    stage_set(stage, blocked, TRUE);
    service_target_submit(stage->target, &own_hello, on_answer, &first, NULL);
    wait_for_agent(stage);
    service_target_submit(stage->target, &own_hello, on_answer, &waiter, NULL);
    stage_wait(&waiter.all);
    g_assert_cmpuint(waiter.errors, ==, 1);
    stage_set(stage, blocked, FALSE);
    stage_wait(&first.all);
    g_assert_cmpuint(first.answers, ==, 1);
}

typedef struct {
    GMutex lock;
    GCond changed;
    guint running[2]; /* of the peer that asks for many, and of the other one */
    gboolean may_end;
} Reports;

typedef struct {
    Reports *reports;
    guint whose;
} Report;

/* Like a report, it needs its target only at first. */
static gpointer
report(const RouteHost *host, gpointer data)
{
    const Report *own = data;
    Reports *reports = own->reports;
    work_release(host->data);
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&reports->lock);
    reports->running[own->whose]++;
    g_cond_broadcast(&reports->changed);
    while (!reports->may_end)
        g_cond_wait(&reports->changed, &reports->lock);
    reports->running[own->whose]--;
    return NULL;
}

/* However much slow work one peer asks for, that of another begins, on the same target as well. */
static void
test_peers(void)
{
    enum { MANY = 16 };
    g_autoptr(Stage) stage = stage_new(NULL);
    Reports reports = {0};
    const Report many = {&reports, 0}, one = {&reports, 1};
    Waiter waiter = {.wanted = MANY + 1};
    g_mutex_init(&reports.lock);
    g_cond_init(&reports.changed);
    for (guint i = 0; i <= MANY; i++) {
        const ServiceWork work = {.pace = SERVICE_SLOW,
                                  .peer = i < MANY ? 1000 : 1001,
                                  .func = report,
                                  .data = (gpointer)(guintptr)(i < MANY ? &many : &one)};
        g_assert_nonnull(service_target_submit(stage->target, &work, count_done, &waiter, NULL));
    }
    g_mutex_lock(&reports.lock);
    while (reports.running[0] < 2 || reports.running[1] < 1)
        g_cond_wait(&reports.changed, &reports.lock);
    g_assert_cmpuint(reports.running[0], ==, 2);
    reports.may_end = TRUE;
    g_cond_broadcast(&reports.changed);
    g_mutex_unlock(&reports.lock);
    stage_wait(&waiter.all);
    g_mutex_clear(&reports.lock);
    g_cond_clear(&reports.changed);
}

static gpointer
sleep_as_asked(const RouteHost *host, gpointer data)
{
    g_usleep(G_USEC_PER_SEC / 2);
    return NULL;
}

/* A request that has waited as it was asked to does not make its user come after others. */
static void
test_asked_delay(void)
{
    g_autoptr(Stage) stage = stage_new(NULL);
    Turns *turns = &stage->service->turns[SERVICE_WAITS];
    const guint64 user = live_account(stage->target), other = user + 1;
    GList ready = {0}, of_other = {0};
    g_assert_cmpuint(turns->firsts, ==, 32);
    stage_do(stage, SERVICE_WAITS, sleep_as_asked, NULL);
    g_autoptr(GMutexLocker) locker = g_mutex_locker_new(&stage->service->lock);
    const gint64 now_us = g_get_monotonic_time();
    turns_enter(turns, other, &of_other, now_us);
    turns_enter(turns, user, &ready, now_us);
    g_assert_true(turns_next(turns, now_us) == &ready);
    turns_done(turns, user, 0, now_us);
    turns_withdraw(turns, other, &of_other);
    g_clear_pointer(&locker, g_mutex_locker_free);
}

static void
take_scraped(const GPtrArray *scraped, gint64 duration_us, gpointer data)
{
    const ServiceScraped *only = scraped->pdata[0];
    g_assert_cmpuint(scraped->len, ==, 1);
    /* The acting agent has no statistics: that is an error of its own, with the target named. */
    g_assert_null(only->sample);
    g_assert_nonnull(only->error);
    *(gboolean *)data = TRUE;
}

static void
test_scrape(void)
{
    g_autoptr(Stage) stage = stage_new(NULL);
    gboolean scraped = FALSE;
    service_scrape(stage->service, &(ServiceScrapeOf){.viewer = VIEWER_ALL}, take_scraped, &scraped);
    g_assert_false(scraped);
    stage_wait(&scraped);
}

static gpointer
read_names(History *history, gpointer data, GError **error)
{
    return history_targets(history, error);
}

static gpointer
find_names(const RouteHost *host, gpointer data)
{
    return service_work_read_history(host, read_names, NULL, NULL);
}

static void
take_names(gpointer result, const GError *error, gpointer data)
{
    g_assert_no_error(error);
    g_assert_nonnull(result);
    *(gboolean *)data = TRUE;
}

static void
test_read_history(void)
{
    g_autoptr(Stage) stage = stage_new(NULL);
    gboolean read = FALSE;
    ServiceWork names = {.pace = SERVICE_SLOW, .func = find_names, .free_result = (GDestroyNotify)g_ptr_array_unref};
    service_target_submit(stage->target, &names, take_names, &read, NULL);
    stage_wait(&read);
}

static gboolean
set_turned(gpointer data)
{
    *(gboolean *)data = TRUE;
    return G_SOURCE_REMOVE;
}

typedef struct {
    GMutex lock;
    GCond changed;
    gboolean begun;
    gboolean may_end;
} Reader;

static gpointer
hold_history(History *history, gpointer data, GError **error)
{
    Reader *reader = data;
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&reader->lock);
    reader->begun = TRUE;
    g_cond_broadcast(&reader->changed);
    while (!reader->may_end)
        g_cond_wait(&reader->changed, &reader->lock);
    return NULL;
}

static gpointer
read_for_long(const RouteHost *host, gpointer data)
{
    return service_work_read_history(host, hold_history, data, NULL);
}

static void
note_target(const ServiceEvent *event, gpointer data)
{
    ((guint *)data)[event->type]++;
}

/* Targets come and are named in the history, and the main context goes on meanwhile, however long the history is read:
 * what is in memory is one thread's at a time. */
static void
test_history_is_busy(void)
{
    g_autoptr(Stage) stage = stage_new(NULL);
    Reader reader = {0};
    gboolean turned = FALSE;
    guint events[SERVICE_EVENT_COUNT] = {0};
    ServiceWork work = {.pace = SERVICE_SLOW, .func = read_for_long, .data = &reader};
    g_mutex_init(&reader.lock);
    g_cond_init(&reader.changed);
    Waiter waiter = {.wanted = 1};
    service_target_submit(stage->target, &work, on_answer, &waiter, NULL);
    g_mutex_lock(&reader.lock);
    while (!reader.begun)
        g_cond_wait(&reader.changed, &reader.lock);
    g_mutex_unlock(&reader.lock);
    g_autofree char *name = g_strconcat("unix:", stage->agent->path, NULL);
    const char *const targets[] = {name, "no-such-service", NULL};
    ServiceOptions options = service_options_default;
    options.targets = targets;
    service_subscribe(stage->service, service_last_event(stage->service), note_target, events);
    g_assert_true(service_reconfigure(stage->service, &options, NULL));
    g_timeout_add(500, set_turned, &turned);
    stage_wait(&turned);
    g_assert_cmpuint(events[SERVICE_EVENT_TARGET_GONE], ==, 1);
    g_assert_cmpuint(events[SERVICE_EVENT_TARGET_CAME], ==, 0);
    g_mutex_lock(&reader.lock);
    reader.may_end = TRUE;
    g_cond_broadcast(&reader.changed);
    g_mutex_unlock(&reader.lock);
    while (events[SERVICE_EVENT_TARGET_CAME] == 0)
        g_main_context_iteration(NULL, TRUE);
    g_clear_pointer(&stage->service, service_free);
    g_mutex_clear(&reader.lock);
    g_cond_clear(&reader.changed);
}

static void
test_lookup(void)
{
    g_autoptr(Stage) stage = stage_new(NULL);
    g_autoptr(GError) error = NULL;
    RouteStatus status;
    service_target_status(stage->target, &status);
    const char *const texts[] = {service_target_id(stage->target), status.unique, service_target_name(stage->target)};
    for (gsize i = 0; i < G_N_ELEMENTS(texts); i++)
        g_assert_true(service_lookup(stage->service, VIEWER_ALL, texts[i], NULL) == stage->target);
    g_assert_null(service_lookup(stage->service, VIEWER_ALL, "no-such-\xff-thing", &error));
    g_assert_error(error, TARGET_ERROR, OUTCOME_UNKNOWN_TARGET);
    g_assert_true(g_utf8_validate(error->message, -1, NULL));
    g_assert_cmpint(status.pid, ==, getpid());
    g_assert_cmpint(ABS(service_target_started_us(stage->target) - g_get_real_time()), <, 600 * G_USEC_PER_SEC);
}

static void
test_bad_pid(void)
{
    static const char *const targets[] = {"4194305", NULL};
    ServiceOptions options = service_options_default;
    g_autoptr(GError) error = NULL;
    options.targets = targets;
    g_assert_null(service_new(&options, &error));
    g_assert_error(error, TARGET_ERROR, OUTCOME_NO_PROCESS);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/service/queue/sharing", test_sharing);
    g_test_add_func("/service/queue/busy", test_busy);
    g_test_add_func("/service/queue/cancel", test_cancel);
    g_test_add_func("/service/queue/one-at-a-time", test_one_at_a_time);
    g_test_add_func("/service/queue/unreachable", test_unreachable);
    g_test_add_func("/service/queue/stop", test_stop);
    g_test_add_func("/service/queue/free-at-work", test_free_at_work);
    g_test_add_func("/service/queue/stop-over-time", test_stop_over_time);
    g_test_add_func("/service/queue/unwanted", test_unwanted);
    g_test_add_func("/service/queue/late", test_late);
    g_test_add_func("/service/queue/peers", test_peers);
    g_test_add_func("/service/queue/asked-delay", test_asked_delay);
    g_test_add_func("/service/queue/scrape", test_scrape);
    g_test_add_func("/service/queue/read-history", test_read_history);
    g_test_add_func("/service/queue/history-is-busy", test_history_is_busy);
    g_test_add_func("/service/queue/lookup", test_lookup);
    g_test_add_func("/service/queue/bad-pid", test_bad_pid);
    return g_test_run();
}
