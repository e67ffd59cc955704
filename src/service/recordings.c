/* SPDX-License-Identifier: Apache-2.0 */
#include "service/recordings.h"

#include "service/failure.h"
#include "service/host.h"
#include "service/live.h"

#include "target/diagnosis.h"
#include "wire/recorder.h"

#include <unistd.h>

/* The recordings of a target; guarded by live_lock(). */
typedef struct {
    gboolean running; /* the latest one is running */
    gboolean has_latest;
    gboolean busy; /* it is being started or ended */
    RouteRecording latest;
    RouteCapture capture; /* how its dump is taken */
    char *who;
    Recorder recorder;
    guint64 last_id;
    GSource *timer;
} Recordings;

static void
disarm(Recordings *recordings)
{
    if (recordings->timer == NULL)
        return;
    g_source_destroy(recordings->timer);
    g_clear_pointer(&recordings->timer, g_source_unref);
}

static void
clear_recordings(gpointer part)
{
    Recordings *recordings = part;
    disarm(recordings);
    g_clear_pointer(&recordings->who, g_free);
}

static Recordings *
recordings_of(ServiceTarget *target)
{
    static const LivePart recordings_part = {sizeof(Recordings), clear_recordings};
    return live_part(target, &recordings_part);
}

static guint64
now_ms(void)
{
    return (guint64)g_get_monotonic_time() / 1000;
}

/* With live_lock(). */
static guint64
left_ms(const Recordings *recordings)
{
    return recordings->running ? recorder_left_ms(&recordings->recorder, now_ms()) : 0;
}

/* With live_lock(). */
static RouteRecording
describe(const Recordings *recordings)
{
    RouteRecording row = recordings->latest;
    row.remaining_ms = left_ms(recordings);
    return row;
}

/* ---- timers ---- */

static gpointer look_after(const RouteHost *host, gpointer data);

/* Ending a recording with symbolization takes as long as a report. */
static ServicePace
pace_of(ServiceTarget *target)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(live_lock(target));
    const Recordings *recordings = recordings_of(target);
    return recordings->capture.symbolized && left_ms(recordings) == 0 ? SERVICE_SLOW : SERVICE_QUICK;
}

static void
submit(ServiceTarget *target)
{
    ServiceWork work = {.pace = pace_of(target), .func = look_after};
    work_submit_own(target, &work, NULL, NULL);
}

static gboolean
on_timer(gpointer data)
{
    submit(data);
    return G_SOURCE_REMOVE;
}

/* Sets the timer for the next renewal or the end of the recording. */
static void
arm(ServiceTarget *target)
{
    Recordings *recordings = recordings_of(target);
    Service *service = live_service(target);
    g_autoptr(GMutexLocker) service_locker G_GNUC_UNUSED = g_mutex_locker_new(&service->lock);
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(live_lock(target));
    disarm(recordings);
    if (service->closed || !recordings->running)
        return;
    recordings->timer = g_timeout_source_new((guint)MIN(recorder_due_ms(&recordings->recorder, now_ms()), G_MAXINT32));
    g_source_set_callback(recordings->timer, on_timer, service_target_ref(target),
                          (GDestroyNotify)service_target_unref);
    g_source_attach(recordings->timer, service->context);
}

void
recordings_disarm(ServiceTarget *target)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(live_lock(target));
    disarm(recordings_of(target));
}

/* ---- the beginning ---- */

/* The highest id of the target's recordings in the history. */
static guint64
last_kept_id(ServiceTarget *target)
{
    gint64 incarnation;
    if (!live_incarnation(target, &incarnation, NULL))
        return 0;
    g_autoptr(HistoryHold) hold = shared_history_hold(live_service(target)->history);
    g_autoptr(GArray) kept = history_recordings(hold->history, incarnation, 1, NULL);
    return kept != NULL && kept->len > 0 ? g_array_index(kept, HistoryRecording, 0).id : 0;
}

static Outcome
set_busy(const ServiceTarget *target, guint64 remaining_ms, Failure *failure)
{
    failure->error = 0;
    outcome_describe_busy(failure->why, service_target_label(target), service_target_id(target), remaining_ms);
    return OUTCOME_BUSY;
}

static Outcome
check_unprofiled(const ServiceTarget *target, const WireHelloReply *hello, Failure *failure)
{
    g_autofree char *obstacle = diagnosis_profiling(hello);
    if (obstacle != NULL)
        return failure_set(failure, OUTCOME_NO_PROFILING, "cannot profile %s: %s", service_target_label(target),
                           obstacle);
    if (!recorder_may_start(hello))
        return set_busy(target, hello->lease.remaining_ms, failure);
    return OUTCOME_DONE;
}

/* Notes that profiling is on. */
static RouteRecording
note_started(Job *job, const RouteRecordingRequest *request, const Recorder *recorder, guint64 last_id)
{
    ServiceTarget *target = work_target(job);
    Recordings *recordings = recordings_of(target);
    gint64 now_us = g_get_real_time();
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(live_lock(target));
    last_id = MAX(last_id, recordings->last_id);
    recordings->last_id = MAX((guint64)(now_us / G_USEC_PER_SEC), last_id + 1);
    recordings->recorder = *recorder;
    recordings->capture = request->capture;
    recordings->latest = (RouteRecording){.id = recordings->last_id,
                                          .begin_ms = (guint64)now_us / 1000,
                                          .duration_ms = request->duration_ms,
                                          .state = ROUTE_RECORDING_RUNNING};
    recordings->running = recordings->has_latest = TRUE;
    g_free(recordings->who);
    recordings->who = g_strdup(work_who(job));
    return describe(recordings);
}

static RecorderControls
controls_for(Job *job)
{
    return (RecorderControls){host_hello, host_lease, host_write, job};
}

static Outcome
start(Job *job, const RouteRecordingRequest *request, RouteRecording *recording, Failure *failure)
{
    ServiceTarget *target = work_target(job);
    WireHelloReply hello;
    Recorder recorder = {.sampler = request->choice.sampler};
    const RecorderControls controls = controls_for(job);
    Outcome result = host_hello(job, &hello, failure);
    if (result == OUTCOME_DONE)
        result = check_unprofiled(target, &hello, failure);
    if (result == OUTCOME_DONE)
        result = host_check_headroom(job, &request->capture, failure);
    if (result == OUTCOME_DONE)
        result = recorder_choose(&request->choice, &controls, failure);
    if (result == OUTCOME_DONE)
        result = recorder_start(&recorder, now_ms(), request->duration_ms, &controls, failure);
    if (result != OUTCOME_DONE)
        return result;
    *recording = note_started(job, request, &recorder, last_kept_id(target));
    arm(target);
    g_autofree char *detail = g_strdup_printf("for %g s", (double)request->duration_ms / 1000);
    ServiceEvent event = {
        .type = SERVICE_EVENT_RECORDING_STARTED, .subject = recording->id, .who = work_who(job), .detail = detail};
    live_emit(target, &event);
    return OUTCOME_DONE;
}

/* Begins a change if the state of the recording is RUNNING and no other change is in progress. */
static gboolean
begin_change(ServiceTarget *target, gboolean running)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(live_lock(target));
    if (recordings_of(target)->busy || recordings_of(target)->running != running)
        return FALSE;
    recordings_of(target)->busy = TRUE;
    return TRUE;
}

static void
end_change(ServiceTarget *target)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(live_lock(target));
    recordings_of(target)->busy = FALSE;
}

static guint64
remaining_ms(ServiceTarget *target)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(live_lock(target));
    return left_ms(recordings_of(target));
}

Outcome
recordings_start(void *job, const RouteRecordingRequest *request, RouteRecording *recording, Failure *failure)
{
    ServiceTarget *target = work_target(job);
    if (request->duration_ms < 1 || request->duration_ms > WIRE_LEASE_MAX_MS)
        return failure_set(failure, OUTCOME_INVALID,
                           "invalid duration of a recording: %" G_GUINT64_FORMAT
                           " ms; it must be 1 ms to " WIRE_LEASE_MAX_TEXT,
                           request->duration_ms);
    if (!begin_change(target, FALSE))
        return set_busy(target, remaining_ms(target), failure);
    Outcome result = start(job, request, recording, failure);
    end_change(target);
    return result;
}

/* ---- the end ---- */

static gboolean
put_recording(ServiceTarget *target, gint64 incarnation, const HistoryRecording *row, GError **error)
{
    g_autoptr(HistoryHold) hold = shared_history_hold(live_service(target)->history);
    return history_recording_put(hold->history, incarnation, row, error);
}

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
    if (live_incarnation(target, &incarnation, &error) && put_recording(target, incarnation, &row, &error)) {
        live_set_kept(target);
    } else {
        service_say_of(live_service(target), live_account(target), "%s: a recording is not kept: %s",
                       service_target_label(target), error->message);
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
    live_emit(target, &event);
}

static void
end_as(ServiceTarget *target, RouteRecordingState state, guint64 dump, const Failure *failure)
{
    Recordings *recordings = recordings_of(target);
    g_mutex_lock(live_lock(target));
    disarm(recordings);
    recordings->running = FALSE;
    recordings->latest.state = state;
    recordings->latest.dump = dump;
    recordings->latest.duration_ms = now_ms() - recordings->recorder.began_ms;
    recordings->latest.failure = *failure;
    RouteRecording ended = recordings->latest;
    g_autofree char *who = g_steal_pointer(&recordings->who);
    g_mutex_unlock(live_lock(target));
    save(target, &ended);
    tell_ended(target, &ended, who);
}

/* Symbolizes the dump. If that fails, the dump is kept as it is, with the reason in NAMELESS. */
static void
symbolize(Job *job, int *dump, Failure *nameless)
{
    Failure failure = {0};
    if (host_symbolize(job, dump, &failure) != OUTCOME_DONE)
        failure_set(nameless, OUTCOME_DONE, "the dump has no function names: %s", failure.why);
}

static void
take_dump(Job *job)
{
    ServiceTarget *target = work_target(job);
    Failure failure = {0};
    Failure nameless = {0};
    RouteDump dump;
    int fd = -1;
    g_mutex_lock(live_lock(target));
    guint64 id = recordings_of(target)->latest.id;
    const RouteCapture capture = recordings_of(target)->capture;
    const CaptureWindow window = {.since = recordings_of(target)->latest.begin_ms * 1000,
                                  .until = (guint64)g_get_real_time()};
    g_mutex_unlock(live_lock(target));
    const HostDump wanted = {&capture, &window};
    Outcome result = host_dump(job, &wanted, &fd, &failure);
    if (result == OUTCOME_DONE) {
        if (capture.symbolized)
            symbolize(job, &fd, &nameless);
        result = host_keep_dump(job, fd, id, &dump, &failure);
        close(fd);
    }
    if (result == OUTCOME_DONE)
        end_as(target, ROUTE_RECORDING_DONE, dump.id, &nameless);
    else
        end_as(target, ROUTE_RECORDING_FAILED, 0, &failure);
}

static gboolean
is_stopping(Service *service)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&service->lock);
    return service->stopping;
}

/* Executes STEP. */
static void
follow(Job *job, RecorderStep step, const Failure *failure)
{
    ServiceTarget *target = work_target(job);
    switch (step) {
    case RECORDER_EXTENDED:
        service_say_of(live_service(target), live_account(target), "a recording continues for another %d s: %s",
                       RECORDER_EXTEND_MS / 1000, failure->why);
        arm(target);
        break;
    case RECORDER_RUNS:
        arm(target);
        break;
    case RECORDER_IS_OVER:
        if (failure->why[0] != '\0')
            service_say_of(live_service(target), live_account(target), "%s: profiling stays on: %s",
                           service_target_label(target), failure->why);
        take_dump(job);
        break;
    case RECORDER_DROPPED:
        end_as(target, ROUTE_RECORDING_DROPPED, 0, failure);
        break;
    default:
        end_as(target, ROUTE_RECORDING_FAILED, 0, failure);
    }
}

typedef enum {
    RENEWS,
    ENDS_IN_TIME,
    ENDS_NOW,
} Purpose;

/* Called with Recordings.busy, so that no other thread changes the recorder, but without the lock, which calls of the
 * target take. */
static RecorderStep
drive(Job *job, Purpose purpose, Failure *failure)
{
    ServiceTarget *target = work_target(job);
    const RecorderControls controls = controls_for(job);
    const RecorderEnd how = purpose == ENDS_NOW ? RECORDER_END_NOW : RECORDER_END_OR_EXTEND;
    g_mutex_lock(live_lock(target));
    Recorder recorder = recordings_of(target)->recorder;
    g_mutex_unlock(live_lock(target));
    RecorderStep step = purpose == RENEWS ? recorder_renew(&recorder, now_ms(), &controls, failure)
                                          : recorder_end(&recorder, now_ms(), how, &controls, failure);
    g_mutex_lock(live_lock(target));
    recordings_of(target)->recorder = recorder;
    g_mutex_unlock(live_lock(target));
    return step;
}

static gpointer
look_after(const RouteHost *host, gpointer data)
{
    Job *job = host->data;
    ServiceTarget *target = work_target(job);
    Failure failure = {0};
    if (!begin_change(target, TRUE))
        return NULL;
    const gboolean stopping = is_stopping(live_service(target));
    const gboolean over = remaining_ms(target) == 0 || service_target_state(target) == SERVICE_TARGET_GONE;
    follow(job, drive(job, stopping ? ENDS_NOW : over ? ENDS_IN_TIME : RENEWS, &failure), &failure);
    end_change(target);
    return NULL;
}

void
recordings_end(ServiceTarget *target)
{
    if (recordings_running(target, NULL))
        submit(target);
}

/* ---- queries ---- */

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

static Outcome
tell_one(ServiceTarget *target, guint64 id, RouteRecording *recording, Failure *failure)
{
    RouteRecording rows[ROUTE_RECORDINGS_MAX];
    gsize n = recordings_list(target, rows, ROUTE_RECORDINGS_MAX);
    if (find(rows, n, id, recording))
        return OUTCOME_DONE;
    return failure_set(failure, OUTCOME_NOT_FOUND, "no recording %" G_GUINT64_FORMAT " of %s is kept", id,
                       service_target_label(target));
}

Outcome
recordings_stop(void *job, guint64 id, RouteRecording *recording, Failure *failure)
{
    ServiceTarget *target = work_target(job);
    g_mutex_lock(live_lock(target));
    gboolean running = recordings_of(target)->running && recordings_of(target)->latest.id == id;
    g_mutex_unlock(live_lock(target));
    *failure = (Failure){0};
    if (!running)
        return tell_one(target, id, recording, failure);
    if (!begin_change(target, TRUE))
        return failure_set(failure, OUTCOME_BUSY, "the recording of %s is already ending",
                           service_target_label(target));
    RecorderStep step = drive(job, ENDS_NOW, failure);
    if (step != RECORDER_UNREACHED)
        follow(job, step, failure);
    end_change(target);
    return step != RECORDER_UNREACHED ? tell_one(target, id, recording, failure) : OUTCOME_SILENT;
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

gboolean
recordings_running(ServiceTarget *target, RouteRecording *row)
{
    const Recordings *recordings = recordings_of(target);
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(live_lock(target));
    if (recordings->running && row != NULL)
        *row = describe(recordings);
    return recordings->running;
}

gboolean
recordings_any(ServiceTarget *target)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(live_lock(target));
    return recordings_of(target)->has_latest;
}

gsize
recordings_list(ServiceTarget *target, RouteRecording *rows, gsize n)
{
    gint64 incarnation;
    gsize count = 0;
    g_mutex_lock(live_lock(target));
    guint64 latest = recordings_of(target)->has_latest ? recordings_of(target)->latest.id : 0;
    if (latest != 0 && n > 0)
        rows[count++] = describe(recordings_of(target));
    g_mutex_unlock(live_lock(target));
    if (!live_incarnation(target, &incarnation, NULL))
        return count;
    g_autoptr(HistoryHold) hold = shared_history_hold(live_service(target)->history);
    g_autoptr(GArray) kept = history_recordings(hold->history, incarnation, (guint)n, NULL);
    for (guint i = 0; kept != NULL && i < kept->len && count < n; i++) {
        const HistoryRecording *row = &g_array_index(kept, HistoryRecording, i);
        if (row->id != latest)
            rows[count++] = from_kept(row);
    }
    return count;
}
