/* SPDX-License-Identifier: Apache-2.0 */
#include "service/recordings.h"

#include "service/failure.h"
#include "service/host.h"
#include "service/target.h"

#include "target/diagnosis.h"

#include <unistd.h>

enum {
    LEASE_MS = 10000, /* so long at most is profiling on after a jescope that crashed */
    RENEW_MS = 2500,
    EXTEND_MS = 5000, /* when the end cannot be reached; as Mesos does */
};

static const guint64 duration_max_ms = G_GUINT64_CONSTANT(30) * 24 * 3600 * 1000;

static guint64
left_ms(const Recordings *recordings)
{
    gint64 left_us = recordings->ends_us - g_get_monotonic_time();
    return left_us > 0 ? (guint64)left_us / 1000 : 0;
}

static guint64
lease_ms(guint64 left)
{
    /* A margin for the way to the dump, so that it is we who end a recording. */
    return MIN(left + RENEW_MS, LEASE_MS);
}

/* With ServiceTarget.lock. */
static RouteRecording
describe(const Recordings *recordings)
{
    RouteRecording row = recordings->latest;
    row.remaining_ms = recordings->running ? left_ms(recordings) : 0;
    return row;
}

/* ---- timers ---- */

static gpointer renew_or_finish(const RouteHost *host, gpointer data);

static void
submit(ServiceTarget *target)
{
    ServiceWork work = {.pace = SERVICE_QUICK, .func = renew_or_finish};
    work_submit_own(target, &work, NULL, NULL);
}

static gboolean
on_timer(gpointer data)
{
    submit(data);
    return G_SOURCE_REMOVE;
}

/* With ServiceTarget.lock. */
static void
disarm(Recordings *recordings)
{
    if (recordings->timer == NULL)
        return;
    g_source_destroy(recordings->timer);
    g_clear_pointer(&recordings->timer, g_source_unref);
}

/* Has the recording looked after when it must be. */
static void
arm(ServiceTarget *target)
{
    Recordings *recordings = &target->recordings;
    Service *service = target->service;
    g_autoptr(GMutexLocker) service_locker G_GNUC_UNUSED = g_mutex_locker_new(&service->lock);
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&target->lock);
    disarm(recordings);
    if (service->closed || !recordings->running)
        return;
    guint64 left = left_ms(recordings);
    recordings->timer =
        g_timeout_source_new((guint)(recordings->lease != 0 ? MIN(left, RENEW_MS) : MIN(left, G_MAXINT32)));
    g_source_set_callback(recordings->timer, on_timer, service_target_ref(target),
                          (GDestroyNotify)service_target_unref);
    g_source_attach(recordings->timer, service->context);
}

void
recordings_clear(Recordings *recordings)
{
    disarm(recordings);
    g_clear_pointer(&recordings->who, g_free);
}

/* ---- the beginning ---- */

/* Recordings of this life that are in the history have numbers already. */
static guint64
last_kept_id(ServiceTarget *target)
{
    gint64 incarnation;
    if (!target_life(target, &incarnation, NULL))
        return 0;
    g_autoptr(GArray) kept = keep_recordings(target->service->keep, incarnation, 1, NULL);
    return kept != NULL && kept->len > 0 ? g_array_index(kept, HistoryRecording, 0).id : 0;
}

static RouteResult
check_unprofiled(const ServiceTarget *target, const WireHelloReply *hello, RouteFailure *failure)
{
    g_autofree char *obstacle = diagnosis_profiling(hello);
    if (obstacle != NULL)
        return failure_set(failure, ROUTE_NO_PROFILING, "cannot profile %s: %s", target->label, obstacle);
    if (hello->lease.id != 0)
        return failure_set(failure, ROUTE_BUSY,
                           "%s is being profiled already, for another %" G_GUINT64_FORMAT
                           " s; wait, or switch profiling off",
                           target->label, (hello->lease.remaining_ms + 999) / 1000);
    if ((hello->flags & WIRE_FLAG_PROF_ACTIVE) != 0)
        return failure_set(failure, ROUTE_BUSY, "somebody else profiles %s already; switch profiling off first",
                           target->label);
    return ROUTE_DONE;
}

/* Profiling is on: notes it. */
static RouteRecording
note_started(Job *job, guint64 duration_ms, guint64 lease, guint64 last_id)
{
    ServiceTarget *target = work_target(job);
    Recordings *recordings = &target->recordings;
    gint64 now_us = g_get_real_time();
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&target->lock);
    last_id = MAX(last_id, recordings->last_id);
    recordings->last_id = MAX((guint64)(now_us / G_USEC_PER_SEC), last_id + 1);
    recordings->began_us = g_get_monotonic_time();
    recordings->ends_us = recordings->began_us + (gint64)duration_ms * 1000;
    recordings->lease = lease;
    recordings->stuck = FALSE;
    recordings->latest = (RouteRecording){.id = recordings->last_id,
                                          .begin_ms = (guint64)now_us / 1000,
                                          .duration_ms = duration_ms,
                                          .state = ROUTE_RECORDING_RUNNING};
    recordings->running = recordings->has_latest = TRUE;
    g_free(recordings->who);
    recordings->who = g_strdup(work_who(job));
    return describe(recordings);
}

static RouteResult
start(Job *job, guint64 duration_ms, RouteRecording *recording, RouteFailure *failure)
{
    ServiceTarget *target = work_target(job);
    WireHelloReply hello;
    WireLease lease;
    WireLeaseRequest request = {.action = WIRE_LEASE_TAKE, .duration_ms = lease_ms(duration_ms), .active = 1};
    RouteResult result = host_hello(job, &hello, failure);
    if (result == ROUTE_DONE)
        result = check_unprofiled(target, &hello, failure);
    if (result == ROUTE_DONE)
        result = host_lease(job, &request, &lease, failure);
    if (result != ROUTE_DONE)
        return result;
    *recording = note_started(job, duration_ms, lease.id, last_kept_id(target));
    arm(target);
    g_autofree char *detail = g_strdup_printf("for %g s", (double)duration_ms / 1000);
    ServiceEvent event = {
        .type = SERVICE_EVENT_RECORDING_STARTED, .subject = recording->id, .who = work_who(job), .detail = detail};
    target_tell(target, &event);
    return ROUTE_DONE;
}

/* FALSE: one is running, or about to begin. */
static gboolean
begin_change(ServiceTarget *target, gboolean running)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&target->lock);
    if (target->recordings.busy || target->recordings.running != running)
        return FALSE;
    target->recordings.busy = TRUE;
    return TRUE;
}

static void
end_change(ServiceTarget *target)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&target->lock);
    target->recordings.busy = FALSE;
}

RouteResult
recordings_start(Job *job, guint64 duration_ms, RouteRecording *recording, RouteFailure *failure)
{
    ServiceTarget *target = work_target(job);
    if (duration_ms < 1 || duration_ms > duration_max_ms)
        return failure_set(failure, ROUTE_INVALID,
                           "a recording of %" G_GUINT64_FORMAT " ms is not possible; from 1 ms to 30 days is",
                           duration_ms);
    if (!begin_change(target, FALSE))
        return failure_set(failure, ROUTE_BUSY, "a recording of %s is running already; wait, or stop it",
                           target->label);
    RouteResult result = start(job, duration_ms, recording, failure);
    end_change(target);
    return result;
}

/* ---- the end ---- */

static void
save(ServiceTarget *target, const RouteRecording *ended)
{
    HistoryRecording row = {
        .id = ended->id,
        .begin_ms = (gint64)ended->begin_ms,
        .duration_ms = ended->duration_ms,
        .state = ended->state,
        .dump = ended->dump,
        .error = ended->failure.error,
        .why = ended->failure.why[0] != '\0' ? (char *)(guintptr)ended->failure.why : NULL,
    };
    gint64 incarnation;
    g_autoptr(GError) error = NULL;
    if (target_life(target, &incarnation, &error) && keep_recording(target->service->keep, incarnation, &row, &error)) {
        g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&target->lock);
        target->has_kept = TRUE;
    } else {
        service_say(target->service, "%s: a recording is not kept: %s", target->label, error->message);
    }
}

static void
tell_ended(ServiceTarget *target, const RouteRecording *ended, const char *who)
{
    static const char *const words[] = {
        [ROUTE_RECORDING_DONE] = "done", [ROUTE_RECORDING_DROPPED] = "dropped", [ROUTE_RECORDING_FAILED] = "failed"};
    const char *why = ended->failure.why;
    g_autofree char *detail = g_strconcat(words[ended->state], why[0] != '\0' ? ": " : "", why, NULL);
    ServiceEvent event = {.type = SERVICE_EVENT_RECORDING_ENDED, .subject = ended->id, .who = who, .detail = detail};
    target_tell(target, &event);
}

/* FAILURE may be NULL. */
static void
end_as(ServiceTarget *target, RouteRecordingState state, guint64 dump, const RouteFailure *failure)
{
    Recordings *recordings = &target->recordings;
    g_mutex_lock(&target->lock);
    disarm(recordings);
    recordings->running = FALSE;
    recordings->latest.state = state;
    recordings->latest.dump = dump;
    recordings->latest.duration_ms = (guint64)(g_get_monotonic_time() - recordings->began_us) / 1000;
    if (failure != NULL)
        recordings->latest.failure = *failure;
    RouteRecording ended = recordings->latest;
    g_autofree char *who = g_steal_pointer(&recordings->who);
    g_mutex_unlock(&target->lock);
    save(target, &ended);
    tell_ended(target, &ended, who);
}

static void
drop(ServiceTarget *target)
{
    RouteFailure failure;
    failure_set(&failure, ROUTE_DONE, "somebody else switched profiling off meanwhile");
    end_as(target, ROUTE_RECORDING_DROPPED, 0, &failure);
}

static guint64
current_lease(ServiceTarget *target)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&target->lock);
    return target->recordings.lease;
}

/* The state before the recording. Without a lease, or if it is gone, there is none to go back to: somebody else has
 * decided. Not DONE: it is still on, for jemalloc would not have it switched off. */
static RouteResult
restore(Job *job, RouteFailure *failure)
{
    ServiceTarget *target = work_target(job);
    WireLeaseRequest request = {.action = WIRE_LEASE_RELEASE, .lease_id = current_lease(target)};
    WireLease none;
    WireHelloReply hello;
    gboolean ours = request.lease_id != 0 && host_lease(job, &request, &none, failure) == ROUTE_DONE;
    if (!ours && !target->recordings.stuck)
        return ROUTE_DONE;
    RouteResult result = host_hello(job, &hello, failure);
    if (result == ROUTE_DONE && (hello.flags & WIRE_FLAG_PROF_ACTIVE) != 0)
        result = host_write(job, "prof.active", WIRE_TYPE_BOOL, FALSE, failure);
    target->recordings.stuck = result != ROUTE_DONE;
    return result;
}

static void
take_dump(Job *job)
{
    ServiceTarget *target = work_target(job);
    RouteFailure failure = {0};
    RouteDump dump;
    int fd = -1;
    g_mutex_lock(&target->lock);
    guint64 id = target->recordings.latest.id;
    g_mutex_unlock(&target->lock);
    RouteResult result = host_dump(job, &fd, &failure);
    if (result == ROUTE_DONE) {
        result = host_keep_dump(job, fd, id, &dump, &failure);
        close(fd);
    }
    if (result == ROUTE_DONE)
        end_as(target, ROUTE_RECORDING_DONE, dump.id, NULL);
    else
        end_as(target, ROUTE_RECORDING_FAILED, 0, &failure);
}

static void
extend(ServiceTarget *target)
{
    g_mutex_lock(&target->lock);
    target->recordings.ends_us = g_get_monotonic_time() + EXTEND_MS * 1000;
    g_mutex_unlock(&target->lock);
    arm(target);
}

static void
tell_extended(ServiceTarget *target, const RouteFailure *failure)
{
    service_say(target->service, "a recording goes on for another %d s: %s", EXTEND_MS / 1000, failure->why);
    extend(target);
}

/* Switches profiling off and takes the dump. */
static void
conclude(Job *job, gboolean again)
{
    ServiceTarget *target = work_target(job);
    RouteFailure failure = {0};
    RouteResult result = restore(job, &failure);
    if (result != ROUTE_DONE && again) {
        tell_extended(target, &failure);
        return;
    }
    if (result != ROUTE_DONE)
        service_say(target->service, "%s: profiling stays on: %s", target->label, failure.why);
    take_dump(job);
}

/* AGAIN: it is tried once more later if the target does not answer, or profiling cannot be switched off, which then is
 * no failure. With Recordings.busy. */
static RouteResult
finish(Job *job, gboolean again, RouteFailure *failure)
{
    ServiceTarget *target = work_target(job);
    WireHelloReply hello;
    RouteResult result = host_hello(job, &hello, failure);
    if (result == ROUTE_UNREACHABLE && again) {
        tell_extended(target, failure);
    } else if (result == ROUTE_UNREACHABLE) {
        return result;
    } else if (result != ROUTE_DONE) {
        end_as(target, ROUTE_RECORDING_FAILED, 0, failure);
    } else if ((hello.flags & WIRE_FLAG_PROF_ACTIVE) == 0) {
        restore(job, failure);
        drop(target);
    } else {
        conclude(job, again);
    }
    return ROUTE_DONE;
}

static gboolean
is_stopping(Service *service)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&service->lock);
    return service->stopping;
}

static void
finish_in_time(Job *job)
{
    ServiceTarget *target = work_target(job);
    RouteFailure failure = {0};
    if (finish(job, !is_stopping(target->service), &failure) != ROUTE_DONE)
        end_as(target, ROUTE_RECORDING_FAILED, 0, &failure);
}

/* The lease is gone: either profiling was switched off by somebody else, or on for good. */
static void
go_on_without_lease(Job *job)
{
    ServiceTarget *target = work_target(job);
    WireHelloReply hello;
    RouteFailure failure;
    RouteResult result = host_hello(job, &hello, &failure);
    if (result == ROUTE_DONE && (hello.flags & WIRE_FLAG_PROF_ACTIVE) == 0) {
        drop(target);
        return;
    }
    g_mutex_lock(&target->lock);
    if (result == ROUTE_DONE)
        target->recordings.lease = 0;
    g_mutex_unlock(&target->lock);
    arm(target);
}

static void
renew(Job *job, guint64 left)
{
    ServiceTarget *target = work_target(job);
    WireLeaseRequest request = {
        .action = WIRE_LEASE_RENEW, .lease_id = current_lease(target), .duration_ms = lease_ms(left)};
    WireLease lease;
    RouteFailure failure = {0};
    RouteResult result = host_lease(job, &request, &lease, &failure);
    if (result == ROUTE_NOT_FOUND)
        go_on_without_lease(job);
    else if (result == ROUTE_GONE)
        end_as(target, ROUTE_RECORDING_FAILED, 0, &failure);
    else
        arm(target);
}

static gpointer
renew_or_finish(const RouteHost *host, gpointer data)
{
    Job *job = host->data;
    ServiceTarget *target = work_target(job);
    if (!begin_change(target, TRUE))
        return NULL;
    g_mutex_lock(&target->lock);
    guint64 left = left_ms(&target->recordings);
    gboolean leased = target->recordings.lease != 0;
    g_mutex_unlock(&target->lock);
    gboolean over = left == 0 || is_stopping(target->service) || service_target_state(target) == SERVICE_TARGET_GONE;
    if (over)
        finish_in_time(job);
    else if (leased)
        renew(job, left);
    else
        arm(target);
    end_change(target);
    return NULL;
}

void
recordings_end(ServiceTarget *target)
{
    g_mutex_lock(&target->lock);
    gboolean running = target->recordings.running;
    g_mutex_unlock(&target->lock);
    if (running)
        submit(target);
}

/* ---- asking ---- */

static gboolean
find(const RouteRecording *rows, gsize n, guint64 id, RouteRecording *recording)
{
    for (gsize i = 0; i < n; i++)
        if (rows[i].id == id) {
            *recording = rows[i];
            return TRUE;
        }
    return FALSE;
}

static RouteResult
tell_one(ServiceTarget *target, guint64 id, RouteRecording *recording, RouteFailure *failure)
{
    RouteRecording rows[ROUTE_RECORDINGS_MAX];
    gsize n = recordings_list(target, rows, ROUTE_RECORDINGS_MAX);
    if (find(rows, n, id, recording))
        return ROUTE_DONE;
    return failure_set(failure, ROUTE_NOT_FOUND, "there is no recording %" G_GUINT64_FORMAT " of %s (any more)", id,
                       target->label);
}

RouteResult
recordings_stop(Job *job, guint64 id, RouteRecording *recording, RouteFailure *failure)
{
    ServiceTarget *target = work_target(job);
    g_mutex_lock(&target->lock);
    gboolean running = target->recordings.running && target->recordings.latest.id == id;
    g_mutex_unlock(&target->lock);
    if (!running)
        return tell_one(target, id, recording, failure);
    if (!begin_change(target, TRUE))
        return failure_set(failure, ROUTE_BUSY, "the recording of %s is ending already", target->label);
    RouteResult result = finish(job, FALSE, failure);
    end_change(target);
    return result == ROUTE_DONE ? tell_one(target, id, recording, failure) : result;
}

static RouteRecording
from_kept(const HistoryRecording *kept)
{
    RouteRecording row = {.id = kept->id,
                          .dump = kept->dump,
                          .begin_ms = (guint64)kept->begin_ms,
                          .duration_ms = kept->duration_ms,
                          .state = kept->state <= ROUTE_RECORDING_FAILED ? kept->state : ROUTE_RECORDING_FAILED,
                          .failure = {.error = kept->error}};
    g_strlcpy(row.failure.why, kept->why != NULL ? kept->why : "", sizeof(row.failure.why));
    return row;
}

gsize
recordings_list(ServiceTarget *target, RouteRecording *rows, gsize n)
{
    gint64 incarnation;
    gsize count = 0;
    g_mutex_lock(&target->lock);
    guint64 latest = target->recordings.has_latest ? target->recordings.latest.id : 0;
    if (latest != 0 && n > 0)
        rows[count++] = describe(&target->recordings);
    g_mutex_unlock(&target->lock);
    g_autoptr(GArray) kept = target_life(target, &incarnation, NULL)
                                 ? keep_recordings(target->service->keep, incarnation, (guint)n, NULL)
                                 : NULL;
    for (guint i = 0; kept != NULL && i < kept->len && count < n; i++) {
        const HistoryRecording *row = &g_array_index(kept, HistoryRecording, i);
        if (row->id != latest)
            rows[count++] = from_kept(row);
    }
    return count;
}
