/* SPDX-License-Identifier: Apache-2.0 */
#include "routes/native.h"

#include "routes/native-dump.h"
#include "routes/native-parameters.h"
#include "routes/native-recording.h"
#include "routes/native-reply.h"
#include "routes/path.h"
#include "routes/reply.h"

#include <string.h>

static const char list_hint[] = "GET .../recordings lists those there are";

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
    const RouteFailure *failure = &recording->failure;
    return failure->why[0] != '\0' ? failure->why : reply_error_name(failure->error);
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
    if (recording->dump != 0) {
        json_number(json, "dump", recording->dump);
    } else {
        json_put_null(json, "dump");
    }
    if (recording->state == ROUTE_RECORDING_FAILED) {
        json_text(json, "why", why_failed(recording));
    } else if (recording->state == ROUTE_RECORDING_DROPPED) {
        json_text(json, "why", "somebody else switched profiling off before its end");
    } else {
        json_put_null(json, "why");
    }
}

static void
send_recording(const RouteRecording *recording, unsigned status, RouteReply *reply)
{
    Json json;
    native_begin(&json, reply, status);
    native_add_recording(&json, recording);
    native_end(&json);
}

void
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

void
native_recording_start(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    RouteRecording recording;
    RouteFailure failure = {0};
    uint64_t ms = 0;
    if (!native_duration(request, "for", NATIVE_NEEDED, &ms, reply)) {
        return;
    }
    RouteResult result = host->ops->recording_start(host->data, ms, &recording, &failure);
    if (result != ROUTE_DONE) {
        native_failure(reply, result, &failure);
        return;
    }
    send_recording(&recording, 201, reply);
    reply_header(reply, "Location", "%s/%llu", request->path, (unsigned long long)recording.id);
}

/* False: there is none of the id in the path, and the reply says so. */
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
    path_component(request->path, NATIVE_ID, text, sizeof text);
    native_error(reply, 404, &(NativeError){"not_found", list_hint}, "there is no recording '%s'", text);
    return false;
}

void
native_recording(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    RouteRecording recording;
    if (find_recording(host, request, &recording, reply)) {
        send_recording(&recording, 200, reply);
    }
}

void
native_recording_stop(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    RouteRecording recording, ended;
    RouteFailure failure = {0};
    if (!find_recording(host, request, &recording, reply)) {
        return;
    }
    RouteResult result = host->ops->recording_stop(host->data, recording.id, &ended, &failure);
    if (result == ROUTE_DONE) {
        send_recording(&ended, 200, reply);
    } else {
        native_failure(reply, result, &failure);
    }
}

void
native_recording_result(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    RouteRecording recording;
    if (!find_recording(host, request, &recording, reply)) {
        return;
    }
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
                     "the recording has no result: somebody else switched profiling off before its end");
        break;
    default:
        native_error(reply, 409, &(NativeError){"failed", "start another one"}, "the recording has no result: %s",
                     why_failed(&recording));
    }
}
