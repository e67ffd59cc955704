/* SPDX-License-Identifier: Apache-2.0 */
#include "acting-agent.h"

#include <errno.h>
#include <unistd.h>

typedef struct {
    guint64 duration_ms;
    guint64 id;
    Outcome result;
    RouteRecording recording;
    Failure failure;
    RouteRecording rows[ROUTE_RECORDINGS_MAX];
    gsize n;
    RouteDump dumps[ROUTE_DUMPS_MAX];
    gsize n_dumps;
} Talk;

static gpointer
start(const RouteHost *host, gpointer data)
{
    Talk *talk = data;
    const RouteRecordingRequest request = {.duration_ms = talk->duration_ms};
    talk->result = host->ops->recording_start(host->data, &request, &talk->recording, &talk->failure);
    return NULL;
}

static gpointer
stop(const RouteHost *host, gpointer data)
{
    Talk *talk = data;
    talk->result = host->ops->recording_stop(host->data, talk->id, &talk->recording, &talk->failure);
    return NULL;
}

static gpointer
list(const RouteHost *host, gpointer data)
{
    Talk *talk = data;
    talk->n = host->ops->recordings(host->data, talk->rows, ROUTE_RECORDINGS_MAX);
    talk->n_dumps = host->ops->dumps(host->data, talk->dumps, ROUTE_DUMPS_MAX);
    return NULL;
}

static gpointer
open_dump(const RouteHost *host, gpointer data)
{
    Talk *talk = data;
    int fd = -1;
    char text[64] = "";
    talk->result = host->ops->dump_open(host->data, talk->id, &fd, &talk->failure);
    if (talk->result == OUTCOME_DONE) {
        g_assert_cmpint(read(fd, text, sizeof(text) - 1), >, 0);
        g_assert_true(g_str_has_prefix(text, "heap_v2/"));
        close(fd);
    }
    return NULL;
}

static void
begin(Stage *stage, Talk *talk, guint64 duration_ms)
{
    *talk = (Talk){.duration_ms = duration_ms};
    stage_do(stage, SERVICE_QUICK, start, talk);
    g_assert_cmpint(talk->result, ==, OUTCOME_DONE);
    g_assert_cmpint(talk->recording.state, ==, ROUTE_RECORDING_RUNNING);
    talk->id = talk->recording.id;
}

static void
note_ended(const ServiceEvent *event, gpointer data)
{
    if (event->type == SERVICE_EVENT_RECORDING_ENDED)
        *(gboolean *)data = TRUE;
}

static void
wait_for_end(Stage *stage)
{
    gboolean ended = FALSE;
    guint subscription = service_subscribe(stage->service, 0, note_ended, &ended);
    stage_wait(&ended);
    service_unsubscribe(stage->service, subscription);
}

static gboolean
is_active(Stage *stage)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&stage->acting.lock);
    return stage->acting.active || stage->acting.lease != 0;
}

static void
test_expiry(void)
{
    g_autoptr(Stage) stage = stage_new(NULL);
    Talk talk;
    begin(stage, &talk, 50);
    g_assert_true(is_active(stage));
    guint64 id = talk.id;
    wait_for_end(stage);
    g_assert_false(is_active(stage));
    stage_do(stage, SERVICE_QUICK, list, &talk);
    g_assert_cmpuint(talk.n, ==, 1);
    g_assert_cmpuint(talk.rows[0].id, ==, id);
    g_assert_cmpint(talk.rows[0].state, ==, ROUTE_RECORDING_DONE);
    g_assert_cmpuint(talk.rows[0].remaining_ms, ==, 0);
    g_assert_cmpuint(talk.n_dumps, ==, 1);
    g_assert_cmpuint(talk.dumps[0].recording, ==, id);
    g_assert_cmpuint(talk.rows[0].dump, ==, talk.dumps[0].id);
    talk.id = talk.rows[0].dump;
    stage_do(stage, SERVICE_SLOW, open_dump, &talk);
    g_assert_cmpint(talk.result, ==, OUTCOME_DONE);
}

static void
test_stop_early(void)
{
    g_autoptr(Stage) stage = stage_new(NULL);
    Talk talk, other = {.duration_ms = 1000};
    begin(stage, &talk, 3600000);
    stage_do(stage, SERVICE_QUICK, start, &other);
    g_assert_cmpint(other.result, ==, OUTCOME_BUSY);
    stage_do(stage, SERVICE_SLOW, stop, &talk);
    g_assert_cmpint(talk.result, ==, OUTCOME_DONE);
    g_assert_cmpint(talk.recording.state, ==, ROUTE_RECORDING_DONE);
    g_assert_cmpuint(talk.recording.duration_ms, <, 3600000);
    g_assert_false(is_active(stage));
    guint64 first = talk.id;
    /* Ended already: as it is. */
    stage_do(stage, SERVICE_SLOW, stop, &talk);
    g_assert_cmpint(talk.recording.state, ==, ROUTE_RECORDING_DONE);
    g_assert_cmpuint(stage->acting.dumps, ==, 1);
    begin(stage, &talk, 3600000);
    g_assert_cmpuint(talk.id, >, first);
}

/* Another client's change takes precedence, and there is no dump without a recording. */
static void
test_dropped(void)
{
    g_autoptr(Stage) stage = stage_new(NULL);
    Talk talk;
    begin(stage, &talk, 3600000);
    g_mutex_lock(&stage->acting.lock);
    stage->acting.active = FALSE;
    stage->acting.lease = 0;
    g_mutex_unlock(&stage->acting.lock);
    stage_do(stage, SERVICE_SLOW, stop, &talk);
    g_assert_cmpint(talk.result, ==, OUTCOME_DONE);
    g_assert_cmpint(talk.recording.state, ==, ROUTE_RECORDING_DROPPED);
    g_assert_cmpuint(stage->acting.dumps, ==, 0);
}

/* The lease was ended by another client and profiling stayed on: the end of the recording switches it off. */
static void
test_lease_ended(void)
{
    g_autoptr(Stage) stage = stage_new(NULL);
    Talk talk;
    begin(stage, &talk, 3600000);
    stage_set(stage, lease, 0);
    stage_do(stage, SERVICE_SLOW, stop, &talk);
    g_assert_cmpint(talk.recording.state, ==, ROUTE_RECORDING_DONE);
    g_assert_false(is_active(stage));
}

/* Another client has taken a lease since: the recording is dumped, and profiling stays on until that lease ends. */
static void
test_taken_over(void)
{
    g_autoptr(Stage) stage = stage_new(NULL);
    Talk talk;
    begin(stage, &talk, 3600000);
    stage_set(stage, lease, 99);
    stage_do(stage, SERVICE_SLOW, stop, &talk);
    g_assert_cmpint(talk.recording.state, ==, ROUTE_RECORDING_DONE);
    g_assert_true(is_active(stage));
    g_assert_cmpuint(stage->acting.lease, ==, 99);
}

static void
test_dump_fails(void)
{
    g_autoptr(Stage) stage = stage_new(NULL);
    Talk talk;
    stage_set(stage, dump_error, EFAULT);
    begin(stage, &talk, 50);
    wait_for_end(stage);
    stage_do(stage, SERVICE_QUICK, list, &talk);
    g_assert_cmpint(talk.rows[0].state, ==, ROUTE_RECORDING_FAILED);
    g_assert_cmpint(talk.rows[0].failure.error, ==, EFAULT);
    g_assert_cmpuint(talk.n_dumps, ==, 0);
    g_assert_false(is_active(stage));
}

static void
test_active_from_outside(void)
{
    g_autoptr(Stage) stage = stage_new(NULL);
    Talk talk = {.duration_ms = 1000};
    stage_set(stage, active, TRUE);
    stage_do(stage, SERVICE_QUICK, start, &talk);
    g_assert_cmpint(talk.result, ==, OUTCOME_BUSY);
    stage_do(stage, SERVICE_QUICK, list, &talk);
    g_assert_cmpuint(talk.n, ==, 0);
}

static void
test_bad_duration(void)
{
    static const guint64 durations[] = {0, G_GUINT64_CONSTANT(31) * 24 * 3600 * 1000, G_MAXUINT64};
    g_autoptr(Stage) stage = stage_new(NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(durations); i++) {
        Talk talk = {.duration_ms = durations[i]};
        stage_do(stage, SERVICE_QUICK, start, &talk);
        g_assert_cmpint(talk.result, ==, OUTCOME_INVALID);
    }
}

static void
test_unknown(void)
{
    g_autoptr(Stage) stage = stage_new(NULL);
    Talk talk = {.id = 77};
    stage_do(stage, SERVICE_SLOW, stop, &talk);
    g_assert_cmpint(talk.result, ==, OUTCOME_NOT_FOUND);
    stage_do(stage, SERVICE_SLOW, open_dump, &talk);
    g_assert_cmpint(talk.result, ==, OUTCOME_NOT_FOUND);
}

static void
set_flag(gpointer data)
{
    *(gboolean *)data = TRUE;
}

/* A clean end: the recording has its dump, the state from before is back. */
static void
test_service_stops(void)
{
    g_autoptr(Stage) stage = stage_new(NULL);
    Talk talk;
    gboolean stopped = FALSE;
    begin(stage, &talk, 3600000);
    service_stop(stage->service, set_flag, &stopped);
    stage_wait(&stopped);
    g_assert_false(is_active(stage));
    g_assert_cmpuint(stage_get(stage, &stage->acting.dumps), ==, 1);
}

/* The end cannot be told, so it is put off, and comes when it can. */
static void
test_extended(void)
{
    g_autoptr(Stage) stage = stage_new(NULL);
    Talk talk;
    begin(stage, &talk, 100);
    stage_set(stage, silent, TRUE);
    gboolean tried = FALSE;
    while (!tried) {
        g_main_context_iteration(NULL, TRUE);
        g_autofree char *trouble = service_target_trouble(stage->target);
        tried = trouble != NULL;
    }
    stage_set(stage, silent, FALSE);
    wait_for_end(stage);
    stage_do(stage, SERVICE_QUICK, list, &talk);
    g_assert_cmpint(talk.rows[0].state, ==, ROUTE_RECORDING_DONE);
    g_assert_cmpuint(talk.rows[0].duration_ms, >=, 5000);
    g_assert_cmpuint(stage_get(stage, &stage->acting.dumps), ==, 1);
}

/* The lease is short and renewed in time. */
static void
test_renewal(void)
{
    g_autoptr(Stage) stage = stage_new(NULL);
    Talk talk;
    begin(stage, &talk, 3000);
    wait_for_end(stage);
    g_assert_cmpuint(stage_get(stage, &stage->acting.renewals), ==, 1);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/service/recordings/expiry", test_expiry);
    g_test_add_func("/service/recordings/stop-early", test_stop_early);
    g_test_add_func("/service/recordings/dropped", test_dropped);
    g_test_add_func("/service/recordings/lease-ended", test_lease_ended);
    g_test_add_func("/service/recordings/taken-over", test_taken_over);
    g_test_add_func("/service/recordings/dump-fails", test_dump_fails);
    g_test_add_func("/service/recordings/active-from-outside", test_active_from_outside);
    g_test_add_func("/service/recordings/bad-duration", test_bad_duration);
    g_test_add_func("/service/recordings/unknown", test_unknown);
    g_test_add_func("/service/recordings/service-stops", test_service_stops);
    g_test_add_func("/service/recordings/extended", test_extended);
    g_test_add_func("/service/recordings/renewal", test_renewal);
    return g_test_run();
}
