/* SPDX-License-Identifier: Apache-2.0 */
#include "embed/recordings.h"

#include "agent/life.h"
#include "embed/ask.h"
#include "embed/failure.h"
#include "embed/kept.h"
#include "wire/recorder.h"

#include <limits.h>
#include <string.h>
#include <time.h>

static struct {
    RouteRecording rows[ROUTE_RECORDINGS_MAX]; /* newest first; only the first can be running */
    size_t n;
    RouteCapture capture; /* of the running one: how its dump is taken */
    Recorder recorder;    /* of the running one */
} recordings;

static bool
is_running(void)
{
    return recordings.n > 0 && recordings.rows[0].state == ROUTE_RECORDING_RUNNING;
}

static const RecorderControls controls = {ask_hello, ask_lease, ask_write, NULL};

static void
take_dump(RouteRecording *ended)
{
    RouteDump dump;
    const CaptureWanted wanted = {.recording = ended->id, .since_ms = ended->begin_ms, .capture = recordings.capture};
    bool taken = kept_take(&wanted, &dump, &ended->failure) == OUTCOME_DONE;
    ended->state = taken ? ROUTE_RECORDING_DONE : ROUTE_RECORDING_FAILED;
    if (taken)
        ended->dump = dump.id;
}

/* Executes STEP. */
static void
follow(RecorderStep step, const Failure *failure)
{
    RouteRecording *row = &recordings.rows[0];
    row->remaining_ms = step == RECORDER_RUNS ? recorder_left_ms(&recordings.recorder, profiling_now_ms()) : 0;
    if (step == RECORDER_IS_OVER) {
        take_dump(row);
    } else if (step != RECORDER_RUNS) {
        row->state = step == RECORDER_DROPPED ? ROUTE_RECORDING_DROPPED : ROUTE_RECORDING_FAILED;
        row->failure = *failure;
    }
}

static void
end(void)
{
    Failure failure = {0};
    follow(recorder_end(&recordings.recorder, profiling_now_ms(), RECORDER_END_NOW, &controls, &failure), &failure);
}

/* Updates the first row: another client may have ended the recording, or the thread that would have ended it. */
static void
look_again(void)
{
    Failure failure = {0};
    if (is_running())
        follow(recorder_look(&recordings.recorder, &controls, &failure), &failure);
}

int
recordings_tick(void)
{
    if (!is_running())
        return -1;
    uint64_t left = recorder_due_ms(&recordings.recorder, profiling_now_ms());
    if (left == 0) {
        guest_settle(life_guest());
        end();
        return -1;
    }
    return left < INT_MAX ? (int)left : INT_MAX;
}

static void
add(const RouteRecordingRequest *request, const Recorder *recorder)
{
    struct timespec now = {0};
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t id = (uint64_t)now.tv_sec;
    uint64_t last = recordings.n > 0 ? recordings.rows[0].id : 0;
    size_t kept = recordings.n < ROUTE_RECORDINGS_MAX ? recordings.n : ROUTE_RECORDINGS_MAX - 1;
    memmove(recordings.rows + 1, recordings.rows, kept * sizeof(recordings.rows[0]));
    recordings.n = kept + 1;
    recordings.rows[0] = (RouteRecording){
        .id = id > last ? id : last + 1,
        .begin_ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000,
        .duration_ms = request->duration_ms,
        .remaining_ms = request->duration_ms,
        .state = ROUTE_RECORDING_RUNNING,
    };
    recordings.capture = request->capture;
    recordings.recorder = *recorder;
}

Outcome
recordings_start(const RouteRecordingRequest *wanted, RouteRecording *recording, Failure *failure)
{
    WireHelloReply hello;
    Recorder recorder = {.sampler = wanted->choice.sampler, .in_process = true};
    look_again();
    Outcome result = ask_hello(NULL, &hello, failure);
    if (result == OUTCOME_DONE && !recorder_may_start(&hello))
        return failure_set_busy(failure, hello.lease.remaining_ms);
    if (result == OUTCOME_DONE)
        result = recorder_choose(&wanted->choice, &controls, failure);
    if (result == OUTCOME_DONE)
        result = recorder_start(&recorder, profiling_now_ms(), wanted->duration_ms, &controls, failure);
    if (result != OUTCOME_DONE)
        return result;
    add(wanted, &recorder);
    *recording = recordings.rows[0];
    return OUTCOME_DONE;
}

Outcome
recordings_stop(uint64_t id, RouteRecording *recording, Failure *failure)
{
    look_again();
    for (size_t i = 0; i < recordings.n; i++) {
        if (recordings.rows[i].id == id) {
            if (i == 0 && is_running())
                end();
            *recording = recordings.rows[i];
            return OUTCOME_DONE;
        }
    }
    return failure_set(failure, OUTCOME_NOT_FOUND, "no such recording: %llu", (unsigned long long)id);
}

size_t
recordings_list(RouteRecording *rows, size_t n)
{
    look_again();
    size_t i = 0;
    for (; i < n && i < recordings.n; i++)
        rows[i] = recordings.rows[i];
    return i;
}

void
recordings_forget(void)
{
    recordings.n = 0;
}
