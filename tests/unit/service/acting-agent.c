/* SPDX-License-Identifier: Apache-2.0 */
#include "acting-agent.h"

#include "service/live.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum {
    DEADLINE_S = 60,
};

static const char dump_text[] = "heap_v2/524288\n  t*: 1: 16 [0: 0]\n";

static ssize_t
refuse(FakeReply *reply, WireStatus status, int error)
{
    reply->header.size = sizeof(WireReply);
    reply->reply.status = status;
    reply->reply.error = error;
    return sizeof(WireReply);
}

static ssize_t
answer_hello(Acting *acting, const FakeRequest *request, FakeReply *reply)
{
    acting->hellos++;
    acting->waiting++;
    g_cond_broadcast(&acting->changed);
    while (acting->blocked)
        g_cond_wait(&acting->changed, &acting->lock);
    acting->waiting--;
    fake_answer_well(request, reply, NULL);
    reply->hello.flags |= acting->active ? WIRE_FLAG_PROF_ACTIVE : 0;
    reply->hello.lease.id = acting->lease;
    return sizeof(WireHelloReply);
}

static ssize_t
answer_ctl(Acting *acting, const FakeRequest *request, FakeReply *reply)
{
    if (g_str_has_suffix(request->ctl.name, ".dirty_decay_ms"))
        return sizeof(WireCtlReply);
    if (strcmp(request->ctl.name, "prof.active") != 0)
        return refuse(reply, WIRE_STATUS_CONTROL_FAILED, ENOENT);
    if (request->ctl.flags & WIRE_CTL_WRITE) {
        acting->active = request->ctl.value != 0;
        acting->lease = 0;
    }
    reply->ctl.value = acting->active;
    return sizeof(WireCtlReply);
}

static ssize_t
answer_dump(Acting *acting, const FakeRequest *request, FakeReply *reply)
{
    acting->dumps++;
    if (acting->dump_error != 0)
        return refuse(reply, WIRE_STATUS_CONTROL_FAILED, acting->dump_error);
    g_assert_cmpint(write(request->descriptor, dump_text, strlen(dump_text)), ==, (ssize_t)strlen(dump_text));
    reply->output.bytes = strlen(dump_text);
    return sizeof(WireOutputReply);
}

static ssize_t
answer_lease(Acting *acting, const FakeRequest *request, FakeReply *reply)
{
    const WireLeaseRequest *lease = &request->lease;
    if (lease->action == WIRE_LEASE_TAKE) {
        acting->lease = ++acting->last_lease;
        acting->active = lease->active != 0;
    } else if (lease->lease_id != acting->lease || acting->lease == 0) {
        return refuse(reply, WIRE_STATUS_NO_LEASE, 0);
    } else if (lease->action == WIRE_LEASE_RELEASE) {
        acting->lease = 0;
        acting->active = FALSE;
    } else {
        acting->renewals++;
    }
    reply->lease.lease.id = acting->lease;
    return sizeof(WireLeaseReply);
}

static ssize_t
act(const FakeRequest *request, FakeReply *reply, gpointer data)
{
    static ssize_t (*const answers[])(Acting * acting, const FakeRequest *request, FakeReply *reply) = {
        [WIRE_OP_HELLO] = answer_hello,
        [WIRE_OP_CTL] = answer_ctl,
        [WIRE_OP_DUMP] = answer_dump,
        [WIRE_OP_LEASE] = answer_lease,
    };
    Acting *acting = data;
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&acting->lock);
    guint op = request->header.op;
    if (acting->silent)
        return FAKE_HANG_UP;
    if (op >= G_N_ELEMENTS(answers) || answers[op] == NULL)
        return refuse(reply, WIRE_STATUS_UNKNOWN_OP, 0);
    return answers[op](acting, request, reply);
}

static gboolean
on_deadline(gpointer data)
{
    g_error("nothing happened for %d s", DEADLINE_S);
    return G_SOURCE_REMOVE;
}

void
stage_wait(const gboolean *flag)
{
    guint alarm = g_timeout_add_seconds(DEADLINE_S, on_deadline, NULL);
    while (!*flag)
        g_main_context_iteration(NULL, TRUE);
    g_source_remove(alarm);
}

static void
note_came(const ServiceEvent *event, gpointer data)
{
    if (event->type == SERVICE_EVENT_TARGET_CAME)
        *(gboolean *)data = TRUE;
}

Stage *
stage_new(const ServiceOptions *options)
{
    Stage *stage = g_new0(Stage, 1);
    g_autoptr(GError) error = NULL;
    gboolean came = FALSE;
    g_mutex_init(&stage->acting.lock);
    g_cond_init(&stage->acting.changed);
    stage->agent = fake_agent_new("", act, &stage->acting);
    g_autofree char *name = g_strconcat("unix:", stage->agent->path, NULL);
    const char *const targets[] = {name, NULL};
    ServiceOptions own = options != NULL ? *options : service_options_default;
    own.targets = targets;
    stage->service = service_new(&own, &error);
    g_assert_no_error(error);
    guint subscription = service_subscribe(stage->service, 0, note_came, &came);
    stage_wait(&came);
    service_unsubscribe(stage->service, subscription);
    stage->target = service_default_target(stage->service, VIEWER_ALL, &error);
    g_assert_no_error(error);
    return stage;
}

void
stage_free(Stage *stage)
{
    service_free(stage->service);
    fake_agent_free(stage->agent);
    g_mutex_clear(&stage->acting.lock);
    g_cond_clear(&stage->acting.changed);
    g_free(stage);
}

static void
note_done(gpointer result, const GError *error, gpointer data)
{
    g_assert_no_error(error);
    *(gboolean *)data = TRUE;
}

void
stage_do(Stage *stage, ServicePace pace, ServiceWorkFunc func, gpointer data)
{
    gboolean done = FALSE;
    g_autoptr(GError) error = NULL;
    ServiceWork work = {.pace = pace, .who = "the test", .func = func, .data = data};
    service_target_submit(stage->target, &work, note_done, &done, &error);
    g_assert_no_error(error);
    stage_wait(&done);
}

guint
stage_get(Stage *stage, const guint *field)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&stage->acting.lock);
    return *field;
}

void
stage_hand_sample(Stage *stage, const char *series)
{
    g_autoptr(StatsSample) sample = stats_sample_new(STATS_SOURCE_LIVE);
    sample->time_us = g_get_real_time();
    const CollectedSample collected = {
        .life = {.target = series, .source = HISTORY_SOURCE_LIVE, .pid = 1, .boot = ""},
        .subject = series,
        .sample = sample,
        .target = stage->target,
    };
    service_hand_sample(stage->service, &collected);
}
