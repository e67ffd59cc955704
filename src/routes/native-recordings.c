/* SPDX-License-Identifier: Apache-2.0 */
#include "routes/native.h"

#include "routes/choice.h"
#include "routes/native-dump.h"
#include "routes/native-parameters.h"
#include "routes/native-recording.h"
#include "routes/native-reply.h"
#include "routes/path.h"
#include "routes/reply.h"
#include "routes/report-query.h"

#include <string.h>

static const char list_hint[] = "see GET .../recordings";

bool
native_find_running(const RouteHost *host, RouteRecording *running)
{
    RouteRecording rows[ROUTE_RECORDINGS_MAX];
    size_t n = host->ops->recordings(host->data, rows, ROUTE_RECORDINGS_MAX);
    for (size_t i = 0; i < n; i++) {
        if (rows[i].state == ROUTE_RECORDING_RUNNING) {
            *running = rows[i];
            return true;
        }
    }
    return false;
}

static const char *
why_failed(const RouteRecording *recording)
{
    const Failure *failure = &recording->failure;
    return failure->why[0] != '\0' ? failure->why : error_name(failure->error);
}

void
native_add_recording(Json *json, const RouteRecording *recording)
{
    static const char *const states[] = {
        [ROUTE_RECORDING_RUNNING] = "running",
        [ROUTE_RECORDING_DONE] = "done",
        [ROUTE_RECORDING_DROPPED] = "dropped",
        [ROUTE_RECORDING_FAILED] = "failed",
    };
    json_number(json, "id", recording->id);
    json_text(json, "state", recording->state <= ROUTE_RECORDING_FAILED ? states[recording->state] : "failed");
    json_seconds(json, "begin", recording->begin_ms);
    json_seconds(json, "duration_seconds", recording->duration_ms);
    json_seconds(json, "remaining_seconds", recording->remaining_ms);
    if (recording->dump != 0)
        json_number(json, "dump", recording->dump);
    else
        json_put_null(json, "dump");
    if (recording->state == ROUTE_RECORDING_FAILED)
        json_text(json, "why", why_failed(recording));
    else if (recording->state == ROUTE_RECORDING_DROPPED)
        json_text(json, "why", "another client switched profiling off before its end");
    else if (recording->failure.why[0] != '\0')
        json_text(json, "why", recording->failure.why);
    else
        json_put_null(json, "why");
}

static void
send_recording(const RouteRecording *recording, unsigned status, RouteReply *reply)
{
    Json json;
    native_begin(&json, reply, status);
    native_add_recording(&json, recording);
    native_end(&json);
}

static void
native_recordings(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    RouteRecording rows[ROUTE_RECORDINGS_MAX];
    size_t n = host->ops->recordings(host->data, rows, ROUTE_RECORDINGS_MAX);
    Json json;
    native_begin(&json, reply, 200);
    json_begin_array(&json, "recordings");
    for (size_t i = 0; i < n; i++) {
        json_begin_object(&json, NULL);
        native_add_recording(&json, &rows[i]);
        json_end(&json);
    }
    json_end(&json);
    native_end(&json);
}

static void
native_recording_start(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    RouteRecording recording;
    Failure failure = {0};
    RouteRecordingRequest wanted = {0};
    if (!native_for(request, NATIVE_NEEDED, &wanted.duration_ms, reply) ||
        !native_choice(host, request, &wanted.choice, reply) || !native_capture(request, &wanted.capture, reply))
        return;
    Outcome result = host->ops->recording_start(host->data, &wanted, &recording, &failure);
    if (result != OUTCOME_DONE) {
        native_failure(reply, result, &failure);
        return;
    }
    send_recording(&recording, 201, reply);
    native_location(reply, request, recording.id);
}

/* False: no recording with the id in the path; the reply has the error. */
static bool
find_recording(const RouteHost *host, const RouteRequest *request, RouteRecording *recording, RouteReply *reply)
{
    RouteRecording rows[ROUTE_RECORDINGS_MAX];
    char text[64] = "";
    uint64_t id;
    size_t n =
        path_number(request->path, NATIVE_ID, &id) ? host->ops->recordings(host->data, rows, ROUTE_RECORDINGS_MAX) : 0;
    for (size_t i = 0; i < n; i++) {
        if (rows[i].id == id) {
            *recording = rows[i];
            return true;
        }
    }
    path_component(request->path, NATIVE_ID, text, sizeof(text));
    native_error(reply, 404, &(NativeError){"not_found", list_hint}, "no such recording: %s", text);
    return false;
}

static void
native_recording(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    RouteRecording recording;
    if (find_recording(host, request, &recording, reply))
        send_recording(&recording, 200, reply);
}

static void
native_recording_stop(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    RouteRecording recording, ended;
    Failure failure = {0};
    if (!find_recording(host, request, &recording, reply))
        return;
    Outcome result = host->ops->recording_stop(host->data, recording.id, &ended, &failure);
    if (result == OUTCOME_DONE)
        send_recording(&ended, 200, reply);
    else
        native_failure(reply, result, &failure);
}

static void
native_recording_result(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    RouteRecording recording;
    if (!find_recording(host, request, &recording, reply))
        return;
    switch ((RouteRecordingState)recording.state) {
    case ROUTE_RECORDING_DONE:
        native_send_dump(host, request, recording.dump, reply);
        break;
    case ROUTE_RECORDING_RUNNING:
        native_error(reply, 409, &(NativeError){"running", "wait, or end it with DELETE"},
                     "the recording runs for another %llu s",
                     (unsigned long long)((recording.remaining_ms + 999) / 1000));
        reply_header(reply, "Retry-After", "%llu", (unsigned long long)((recording.remaining_ms + 999) / 1000));
        break;
    case ROUTE_RECORDING_DROPPED:
        native_error(reply, 409, &(NativeError){"dropped", "start another one"},
                     "the recording has no result: another client switched profiling off before its end");
        break;
    default:
        native_error(reply, 409, &(NativeError){"failed", "start another one"}, "the recording has no result: %s",
                     why_failed(&recording));
    }
}

static const RouteParameter recording_parameters[] = {
    {"for", "duration", "how long to record; required"},
    {"duration", "duration", "same as 'for'"},
    CHOICE_SAMPLER_ROW,
    NATIVE_SAMPLER_MEMORY_ROW,
    KEEP_PARAMETER_ROWS,
    {0},
};

static const Route rows[] = {
    {ROUTE_DIALECT_NATIVE, "GET|HEAD", NATIVE_PATH "/recordings", "recordings, newest first",
     .answer = native_recordings},
    {ROUTE_DIALECT_NATIVE, "POST", NATIVE_PATH "/recordings", "start a recording, which ends in a dump",
     .parameters = recording_parameters, .role = ROUTE_ROLE_CONTROL, .answer = native_recording_start},
    {ROUTE_DIALECT_NATIVE, "GET|HEAD", NATIVE_PATH "/recordings/{recording}", "recording status",
     .answer = native_recording},
    {ROUTE_DIALECT_NATIVE, "DELETE", NATIVE_PATH "/recordings/{recording}", "end the recording now, with its dump",
     .flags = ROUTE_SLOW, .role = ROUTE_ROLE_CONTROL, .answer = native_recording_stop},
    {ROUTE_DIALECT_NATIVE, "POST", NATIVE_PATH "/recordings/{recording}/stop", "end the recording now, with its dump",
     .flags = ROUTE_SLOW, .role = ROUTE_ROLE_CONTROL, .answer = native_recording_stop},
    {ROUTE_DIALECT_NATIVE, "GET|HEAD", NATIVE_PATH "/recordings/{recording}/result", "its dump, or a report of it",
     .parameters = report_query_parameters, .flags = ROUTE_SLOW, .answer = native_recording_result},
};

const RouteTable native_recordings_routes = {rows, sizeof(rows) / sizeof(rows[0])};
