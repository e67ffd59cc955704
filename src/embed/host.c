/* SPDX-License-Identifier: Apache-2.0 */
#include "embed/host.h"

#include "agent/process.h"
#include "embed/ask.h"
#include "embed/call.h"
#include "embed/failure.h"
#include "embed/kept.h"
#include "embed/process-file.h"
#include "embed/recordings.h"
#include "routes/render.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PROGRAM_MAX = 1024, TITLE_MAX = 64 };

/* Set under the turn; "" for the one on PATH. */
static char program[PROGRAM_MAX];

RouteResult
host_describe_failure(const JescopeError *error, RouteFailure *failure)
{
    static const RouteResult results[] = {
        [JESCOPE_OK] = ROUTE_DONE,
        [JESCOPE_INVALID] = ROUTE_INVALID,
        [JESCOPE_NO_JEMALLOC] = ROUTE_NO_JEMALLOC,
        [JESCOPE_NO_PROFILING] = ROUTE_NO_PROFILING,
        [JESCOPE_NOT_ALLOWED] = ROUTE_NOT_ALLOWED,
        [JESCOPE_BUSY] = ROUTE_BUSY,
        [JESCOPE_NOT_STARTED] = ROUTE_UNREACHABLE,
        [JESCOPE_ALREADY_STARTED] = ROUTE_BUSY,
        [JESCOPE_CONTROL_FAILED] = ROUTE_CONTROL_FAILED,
        [JESCOPE_SYSTEM] = ROUTE_SYSTEM,
        [JESCOPE_NOT_FOUND] = ROUTE_NOT_FOUND,
    };
    _Static_assert(sizeof failure->why == sizeof error->message, "a sentence fits");
    failure->error = error->error;
    memcpy(failure->why, error->message, sizeof failure->why);
    return results[error->code];
}

static RouteResult
result_of(int code, const JescopeError *error, RouteFailure *failure)
{
    return code == JESCOPE_OK ? ROUTE_DONE : host_describe_failure(error, failure);
}

/* One message, with the turn taken for it. */
static RouteResult
ask_in_turn(const WireRequest *request, WireAnswer *answer, RouteFailure *failure)
{
    Call call;
    JescopeError error;
    call_begin(&call, CALL_WITH_TURN);
    int code = ask(request, -1, answer, &error);
    call_end(&call);
    return result_of(code, &error, failure);
}

static RouteResult
hello(void *host, WireHelloReply *hello, RouteFailure *failure)
{
    WireRequest request;
    WireAnswer answer;
    ask_prepare(&request, WIRE_OP_HELLO, sizeof request.hello);
    request.hello.version_min = WIRE_VERSION_MIN;
    request.hello.version_max = WIRE_VERSION_MAX;
    RouteResult result = ask_in_turn(&request, &answer, failure);
    if (result == ROUTE_DONE) {
        *hello = answer.hello;
    }
    return result;
}

static RouteResult
use_control(const char *control, WireType type, WireRequest *request, WireAnswer *answer, RouteFailure *failure)
{
    if (strlen(control) >= sizeof request->ctl.name) {
        strcpy(failure->why, "no control of jemalloc's has so long a name");
        failure->error = 0;
        return ROUTE_INVALID;
    }
    request->ctl.type = type;
    memcpy(request->ctl.name, control, strlen(control));
    return ask_in_turn(request, answer, failure);
}

static RouteResult
read_control(void *host, const char *control, WireType type, RouteValue *value, RouteFailure *failure)
{
    WireRequest request;
    WireAnswer answer;
    ask_prepare(&request, WIRE_OP_CTL, sizeof request.ctl);
    request.ctl.flags = WIRE_CTL_READ;
    RouteResult result = use_control(control, type, &request, &answer, failure);
    if (result == ROUTE_DONE) {
        value->value = answer.ctl.value;
        memcpy(value->text, answer.ctl.text, sizeof value->text);
    }
    return result;
}

static RouteResult
write_control(void *host, const char *control, WireType type, uint64_t value, RouteFailure *failure)
{
    WireRequest request;
    WireAnswer answer;
    ask_prepare(&request, WIRE_OP_CTL, sizeof request.ctl);
    request.ctl.flags = WIRE_CTL_WRITE;
    request.ctl.value = value;
    return use_control(control, type, &request, &answer, failure);
}

static RouteResult
take_file(const char *letters, int *descriptor, RouteFailure *failure)
{
    Call call;
    JescopeError error;
    call_begin(&call, CALL_WITH_TURN);
    int code = ask_for_file(letters, descriptor, &error);
    call_end(&call);
    return result_of(code, &error, failure);
}

static RouteResult
stats(void *host, const char *letters, int *descriptor, RouteFailure *failure)
{
    return take_file(letters, descriptor, failure);
}

static RouteResult
dump(void *host, int *descriptor, RouteFailure *failure)
{
    return take_file(NULL, descriptor, failure);
}

static RouteResult
lease(void *host, const WireLeaseRequest *wanted, WireLease *lease, RouteFailure *failure)
{
    WireRequest request;
    WireAnswer answer;
    ask_prepare(&request, WIRE_OP_LEASE, sizeof request.lease);
    const WireHeader header = request.header;
    request.lease = *wanted;
    request.header = header;
    request.lease.reserved = 0;
    RouteResult result = ask_in_turn(&request, &answer, failure);
    if (result == ROUTE_DONE) {
        *lease = answer.lease.lease;
    }
    return result;
}

static RouteResult
variable(void *host, const char *name, char *text, size_t size, RouteFailure *failure)
{
    Call call;
    JescopeError error;
    call_begin(&call, CALL_ALONE);
    int code = process_file_variable(name, text, size, &error);
    call_end(&call);
    return result_of(code, &error, failure);
}

static RouteResult
cmdline(void *host, char *text, size_t size, size_t *n, RouteFailure *failure)
{
    Call call;
    JescopeError error;
    call_begin(&call, CALL_ALONE);
    int code = process_file_read("/proc/self/cmdline", text, size, n, &error);
    call_end(&call);
    return result_of(code, &error, failure);
}

static RouteResult
maps(void *host, int *descriptor, RouteFailure *failure)
{
    Call call;
    JescopeError error;
    call_begin(&call, CALL_ALONE);
    int code = process_file_copy("/proc/self/maps", descriptor, &error);
    call_end(&call);
    return result_of(code, &error, failure);
}

static RouteResult
recording_start(void *host, uint64_t duration_ms, RouteRecording *recording, RouteFailure *failure)
{
    Call call;
    JescopeError error;
    call_begin(&call, CALL_WITH_TURN);
    int code = recordings_start(duration_ms, recording, &error);
    call_end(&call);
    return result_of(code, &error, failure);
}

static RouteResult
recording_stop(void *host, uint64_t id, RouteRecording *recording, RouteFailure *failure)
{
    Call call;
    JescopeError error;
    call_begin(&call, CALL_WITH_TURN);
    int code = recordings_stop(id, recording, &error);
    call_end(&call);
    return result_of(code, &error, failure);
}

static size_t
list_recordings(void *host, RouteRecording *rows, size_t n)
{
    Call call;
    call_begin(&call, CALL_WITH_TURN);
    size_t listed = recordings_list(rows, n);
    call_end(&call);
    return listed;
}

static RouteResult
dump_take(void *host, RouteDump *dump, RouteFailure *failure)
{
    Call call;
    JescopeError error;
    call_begin(&call, CALL_WITH_TURN);
    int code = kept_take(0, dump, &error);
    call_end(&call);
    return result_of(code, &error, failure);
}

static size_t
list_dumps(void *host, RouteDump *rows, size_t n)
{
    Call call;
    call_begin(&call, CALL_WITH_TURN);
    size_t listed = kept_list(rows, n);
    call_end(&call);
    return listed;
}

static RouteResult
dump_open(void *host, uint64_t id, int *descriptor, RouteFailure *failure)
{
    Call call;
    JescopeError error;
    call_begin(&call, CALL_WITH_TURN);
    int code = kept_open(id, descriptor, &error);
    call_end(&call);
    return result_of(code, &error, failure);
}

static RouteResult
delta(void *host, int dump, int *previous, RouteFailure *failure)
{
    Call call;
    JescopeError error;
    call_begin(&call, CALL_WITH_TURN);
    int code = kept_exchange_delta(dump, previous, &error);
    call_end(&call);
    return result_of(code, &error, failure);
}

/* Without the turn: a child at work keeps nobody waiting. */
static RouteResult
render(void *host, const RouteRendering *rendering, int *descriptor, RouteFailure *failure)
{
    Call call;
    char name[PROCESS_NAME_MAX];
    char title[TITLE_MAX];
    char chosen[PROGRAM_MAX];
    call_begin(&call, CALL_WITH_TURN);
    memcpy(chosen, program, sizeof chosen);
    call_end(&call);
    process_read_name(name);
    snprintf(title, sizeof title, "%s (%d)", name, (int)getpid());
    const RenderSetup setup = {.program = chosen[0] != '\0' ? chosen : NULL, .title = title, .pid = getpid()};
    return render_report(&setup, rendering, descriptor, failure);
}

static const RouteHostOps ops = {
    .hello = hello,
    .read = read_control,
    .write = write_control,
    .stats = stats,
    .dump = dump,
    .lease = lease,
    .variable = variable,
    .cmdline = cmdline,
    .maps = maps,
    .recording_start = recording_start,
    .recording_stop = recording_stop,
    .recordings = list_recordings,
    .dump_take = dump_take,
    .dumps = list_dumps,
    .dump_open = dump_open,
    .delta = delta,
    .render = render,
};

bool
host_set_program(const char *chosen)
{
    size_t n = chosen != NULL ? strlen(chosen) : 0;
    if (n >= sizeof program) {
        return false;
    }
    Call call;
    call_begin(&call, CALL_WITH_TURN);
    memcpy(program, chosen != NULL ? chosen : "", n);
    program[n] = '\0';
    call_end(&call);
    return true;
}

const RouteHost host_self = {.ops = &ops, .directory = "/tmp"};
