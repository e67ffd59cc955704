/* SPDX-License-Identifier: Apache-2.0 */
#include "acting-agent.h"

#include "target/target.h"

#include <unistd.h>

static gpointer
say_hello(const RouteHost *host, gpointer data)
{
    RouteFailure failure;
    WireHelloReply hello;
    RouteResult *result = g_new(RouteResult, 1);
    *result = host->ops->hello(host->data, &hello, &failure);
    return result;
}

static gpointer
greet(const RouteHost *host, gpointer data)
{
    g_free(say_hello(host, data));
    return NULL;
}

/* Who waits for several answers. */
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
    g_assert_error(error, SERVICE_ERROR, SERVICE_ERROR_BUSY);
    stage_set(stage, blocked, FALSE);
    stage_wait(&waiter.all);
    g_assert_cmpuint(waiter.answers, ==, 4);
}

/* Nobody is told, and what has not begun is not done; one of several who share an answer may leave. */
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

/* An agent that cannot be reached is asked once; who comes within the next second is told at once. */
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
    g_assert_cmpint(service_target_reach(stage->target), ==, SERVICE_REACH_AGENT);
}

static void
set_flag(gpointer data)
{
    *(gboolean *)data = TRUE;
}

/* What is under way is finished, what comes is refused. */
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
    g_assert_error(error, SERVICE_ERROR, SERVICE_ERROR_STOPPING);
    stage_set(stage, blocked, FALSE);
    stage_wait(&stopped);
    g_assert_cmpuint(waiter.answers, ==, 2);
}

/* Freed in the middle of everything: nobody is called any more, and nothing leaks. */
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
    service_scrape(stage->service, NULL, take_scraped, &scraped);
    g_assert_false(scraped);
    stage_wait(&scraped);
}

static gpointer
read_names(History *history, gpointer data, GError **error)
{
    return history_targets(history, error);
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
    ServiceRead names = {.func = read_names, .free_result = (GDestroyNotify)g_ptr_array_unref};
    service_read_history(stage->service, &names, take_names, &read);
    stage_wait(&read);
}

static void
test_lookup(void)
{
    g_autoptr(Stage) stage = stage_new(NULL);
    g_autoptr(GError) error = NULL;
    const char *const texts[] = {service_target_id(stage->target), service_target_unique(stage->target),
                                 service_target_name(stage->target)};
    for (gsize i = 0; i < G_N_ELEMENTS(texts); i++)
        g_assert_true(service_lookup(stage->service, texts[i], NULL) == stage->target);
    g_assert_null(service_lookup(stage->service, "no-such-\xff-thing", &error));
    g_assert_error(error, SERVICE_ERROR, SERVICE_ERROR_UNKNOWN);
    g_assert_true(g_utf8_validate(error->message, -1, NULL));
    g_assert_cmpint(service_target_pid(stage->target), ==, getpid());
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
    g_assert_error(error, TARGET_ERROR, TARGET_ERROR_NO_PROCESS);
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
    g_test_add_func("/service/queue/scrape", test_scrape);
    g_test_add_func("/service/queue/read-history", test_read_history);
    g_test_add_func("/service/queue/lookup", test_lookup);
    g_test_add_func("/service/queue/bad-pid", test_bad_pid);
    return g_test_run();
}
