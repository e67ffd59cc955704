/* SPDX-License-Identifier: Apache-2.0 */
#include "routes/native.h"

#include "routes/native-parameters.h"
#include "routes/native-reply.h"
#include "routes/path.h"
#include "routes/reply.h"
#include "routes/values.h"

#include "jemalloc/controls.h"

#include <stdio.h>
#include <string.h>

static Outcome
write_control(const RouteHost *host, const char *control, WireType type, uint64_t value, Failure *failure)
{
    return host->ops->write(host->data, control, type, value, failure);
}

/* ---- purge and decay ---- */

/* Runs arena.N.ACTION; for all arenas without a parameter "arena". */
static Outcome
run_in_arena(const RouteHost *host, const char *action, uint64_t arena, Failure *failure)
{
    char control[WIRE_CONTROL_NAME_MAX];
    WireCtlReply arenas;
    snprintf(control, sizeof(control), "arena.%llu.%s", (unsigned long long)arena, action);
    Outcome result = write_control(host, control, WIRE_TYPE_NONE, 0, failure);
    if (result != OUTCOME_CONTROL_FAILED || arena != CONTROL_ALL_ARENAS ||
        host->ops->read(host->data, "arenas.narenas", WIRE_TYPE_UNSIGNED, &arenas, failure) != OUTCOME_DONE)
        return result;
    snprintf(control, sizeof(control), "arena.%llu.%s", (unsigned long long)arenas.value, action);
    return write_control(host, control, WIRE_TYPE_NONE, 0, failure);
}

/* The current stats.resident; 0 if jemalloc has no statistics. */
static uint64_t
read_resident(const RouteHost *host)
{
    Failure failure;
    WireCtlReply value;
    bool known = write_control(host, "epoch", WIRE_TYPE_U64, 1, &failure) == OUTCOME_DONE &&
                 host->ops->read(host->data, "stats.resident", WIRE_TYPE_SIZE, &value, &failure) == OUTCOME_DONE;
    return known ? value.value : 0;
}

static void
add_bytes(Json *json, const char *name, uint64_t bytes)
{
    if (bytes != 0)
        json_number(json, name, bytes);
    else
        json_put_null(json, name);
}

static void
run_and_measure(const RouteHost *host, const RouteRequest *request, const char *action, RouteReply *reply)
{
    Failure failure = {0};
    uint64_t arena = CONTROL_ALL_ARENAS;
    Json json;
    if (!native_read(request, NATIVE_ARENA, "arena", &arena, reply))
        return;
    uint64_t before = read_resident(host);
    Outcome result = run_in_arena(host, action, arena, &failure);
    if (result != OUTCOME_DONE) {
        native_failure(reply, result, &failure);
        return;
    }
    uint64_t after = read_resident(host);
    native_begin(&json, reply, 200);
    add_bytes(&json, "resident_before", before);
    add_bytes(&json, "resident_after", after);
    native_end(&json);
}

static void
native_purge(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    run_and_measure(host, request, "purge", reply);
}

static void
native_decay_run(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    run_and_measure(host, request, "decay", reply);
}

static const struct {
    const char *parameter;
    const char *control;
} decays[] = {{"dirty_ms", "dirty_decay_ms"}, {"muzzy_ms", "muzzy_decay_ms"}};

enum { N_DECAYS = sizeof(decays) / sizeof(decays[0]) };

static void
native_decay(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    char control[WIRE_CONTROL_NAME_MAX];
    Failure failure = {0};
    WireCtlReply values[N_DECAYS];
    Json json;
    for (size_t i = 0; i < N_DECAYS; i++) {
        snprintf(control, sizeof(control), "arenas.%s", decays[i].control);
        Outcome result = host->ops->read(host->data, control, WIRE_TYPE_SSIZE, &values[i], &failure);
        if (result != OUTCOME_DONE) {
            native_failure(reply, result, &failure);
            return;
        }
    }
    native_begin(&json, reply, 200);
    for (size_t i = 0; i < N_DECAYS; i++)
        json_signed(&json, decays[i].parameter, (int64_t)values[i].value);
    native_end(&json);
}

/* For future and existing arenas; one that was never used, or has been destroyed, has none. */
static Outcome
set_decay(const RouteHost *host, const char *name, uint64_t ms, Failure *failure)
{
    char control[WIRE_CONTROL_NAME_MAX];
    Failure single;
    WireCtlReply arenas;
    snprintf(control, sizeof(control), "arenas.%s", name);
    Outcome result = write_control(host, control, WIRE_TYPE_SSIZE, ms, failure);
    if (result == OUTCOME_DONE)
        result = host->ops->read(host->data, "arenas.narenas", WIRE_TYPE_UNSIGNED, &arenas, failure);
    for (uint64_t i = 0; result == OUTCOME_DONE && i < arenas.value && i < CONTROL_ALL_ARENAS; i++) {
        snprintf(control, sizeof(control), "arena.%llu.%s", (unsigned long long)i, name);
        Outcome set = write_control(host, control, WIRE_TYPE_SSIZE, ms, &single);
        if (set != OUTCOME_DONE && set != OUTCOME_CONTROL_FAILED) {
            *failure = single;
            result = set;
        }
    }
    return result;
}

static void
native_decay_set(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    Failure failure = {0};
    QueryValue given;
    uint64_t ms[N_DECAYS] = {0};
    for (size_t i = 0; i < N_DECAYS; i++)
        if (!native_read(request, NATIVE_SIGNED, decays[i].parameter, &ms[i], reply))
            return;
    for (size_t i = 0; i < N_DECAYS; i++) {
        if (native_find(request, decays[i].parameter, &given) == QUERY_ABSENT)
            continue;
        Outcome result = set_decay(host, decays[i].control, ms[i], &failure);
        if (result != OUTCOME_DONE) {
            native_failure(reply, result, &failure);
            return;
        }
    }
    native_decay(host, request, reply);
}

/* ---- background threads ---- */

static void
native_threads(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    Failure failure = {0};
    WireCtlReply enabled, most;
    Json json;
    Outcome result = host->ops->read(host->data, "background_thread", WIRE_TYPE_BOOL, &enabled, &failure);
    if (result == OUTCOME_DONE)
        result = host->ops->read(host->data, "max_background_threads", WIRE_TYPE_SIZE, &most, &failure);
    if (result != OUTCOME_DONE) {
        native_failure(reply, result, &failure);
        return;
    }
    native_begin(&json, reply, 200);
    json_boolean(&json, "enabled", enabled.value != 0);
    json_number(&json, "max", most.value);
    native_end(&json);
}

static void
native_threads_set(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    Failure failure = {0};
    Outcome result = OUTCOME_DONE;
    QueryValue given;
    uint64_t most = 0;
    uint64_t enabled = 0;
    if (!native_read(request, NATIVE_THREADS, "max", &most, reply) ||
        !native_read(request, NATIVE_BOOLEAN, "enabled", &enabled, reply))
        return;
    if (most != 0)
        result = write_control(host, "max_background_threads", WIRE_TYPE_SIZE, most, &failure);
    if (result == OUTCOME_DONE && native_find(request, "enabled", &given) != QUERY_ABSENT)
        result = write_control(host, "background_thread", WIRE_TYPE_BOOL, enabled, &failure);
    if (result == OUTCOME_DONE)
        native_threads(host, request, reply);
    else
        native_failure(reply, result, &failure);
}

/* ---- any control ---- */

static const char *const types[] = {
    [WIRE_TYPE_NONE] = "none",     [WIRE_TYPE_BOOL] = "bool",   [WIRE_TYPE_UNSIGNED] = "unsigned",
    [WIRE_TYPE_SIZE] = "size",     [WIRE_TYPE_SSIZE] = "ssize", [WIRE_TYPE_U64] = "u64",
    [WIRE_TYPE_STRING] = "string",
};

/* The control in the path and its type. False: unknown, and the reply has the error. */
static bool
find_control(const RouteRequest *request, char *name, size_t size, WireType *type, RouteReply *reply)
{
    bool sound = path_component(request->path, NATIVE_ID, name, size) && control_name_is_sound(name);
    const Control *control = sound ? control_find(name) : NULL;
    QueryValue word;
    native_find(request, "type", &word);
    for (size_t i = 0; sound && word.state != QUERY_ABSENT && i < sizeof(types) / sizeof(types[0]); i++) {
        if (strcmp(types[i], word.text) == 0) {
            *type = (WireType)i;
            return true;
        }
    }
    if (control == NULL || word.state != QUERY_ABSENT) {
        native_error(
            reply, 404,
            &(NativeError){"not_found",
                           "give the type of a control that is not listed: ?type=bool|unsigned|size|ssize|u64"},
            "unknown control '%s'", sound ? name : "");
        return false;
    }
    *type = (WireType)control->type;
    return true;
}

static void
send_value(const char *name, WireType type, const WireCtlReply *value, RouteReply *reply)
{
    Json json;
    native_begin(&json, reply, 200);
    json_text(&json, "control", name);
    json_text(&json, "type", types[type]);
    if (type == WIRE_TYPE_BOOL)
        json_boolean(&json, "value", value->value != 0);
    else if (type == WIRE_TYPE_STRING)
        json_text(&json, "value", value->text);
    else if (type == WIRE_TYPE_SSIZE)
        json_signed(&json, "value", (int64_t)value->value);
    else if (type == WIRE_TYPE_NONE)
        json_put_null(&json, "value");
    else
        json_number(&json, "value", value->value);
    native_end(&json);
}

static void
native_control(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    char name[WIRE_CONTROL_NAME_MAX];
    Failure failure = {0};
    WireCtlReply value;
    WireType type;
    if (!find_control(request, name, sizeof(name), &type, reply))
        return;
    Outcome result = control_may_read(name, (ControlType)type)
                         ? host->ops->read(host->data, name, type, &value, &failure)
                         : OUTCOME_NOT_ALLOWED;
    if (result == OUTCOME_DONE) {
        send_value(name, type, &value, reply);
        return;
    }
    if (result == OUTCOME_NOT_ALLOWED)
        snprintf(failure.why, sizeof(failure.why), "%s cannot be read as a %s", name, types[type]);
    native_failure(reply, result, &failure);
}

/* The value in REQUEST for a control of this type. False: the reply is the error. */
static bool
read_value(const RouteRequest *request, WireType type, WireCtlReply *value, RouteReply *reply)
{
    NativeKind kind = type == WIRE_TYPE_BOOL ? NATIVE_BOOLEAN : type == WIRE_TYPE_SSIZE ? NATIVE_SIGNED : NATIVE_NUMBER;
    *value = (WireCtlReply){0};
    return type == WIRE_TYPE_NONE || native_read(request, kind | NATIVE_NEEDED, "value", &value->value, reply);
}

static void
native_control_set(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    char name[WIRE_CONTROL_NAME_MAX];
    Failure failure = {0};
    WireCtlReply value;
    QueryValue given;
    WireType type;
    if (!find_control(request, name, sizeof(name), &type, reply))
        return;
    /* A control without a value is run as an action. */
    const bool as_action =
        native_find(request, "value", &given) == QUERY_ABSENT && control_may_write(name, CONTROL_NONE);
    type = as_action ? WIRE_TYPE_NONE : type;
    if (!control_may_write(name, (ControlType)type)) {
        snprintf(failure.why, sizeof(failure.why), "%s is not among the controls that a client may write as a %s", name,
                 types[type]);
        native_failure(reply, OUTCOME_NOT_ALLOWED, &failure);
        return;
    }
    if (!read_value(request, type, &value, reply))
        return;
    Outcome result = write_control(host, name, type, value.value, &failure);
    if (result == OUTCOME_DONE)
        send_value(name, type, &value, reply);
    else
        native_failure(reply, result, &failure);
}

static const RouteParameter arena_parameters[] = {
    {"arena", "integer", "arena index (default: all)"},
    {0},
};

static const RouteParameter decay_parameters[] = {
    {"dirty_ms", "integer", "decay time of dirty pages in milliseconds; 0: at once, -1: never"},
    {"muzzy_ms", "integer", "decay time of muzzy pages, likewise"},
    {0},
};

static const RouteParameter threads_parameters[] = {
    {"enabled", "boolean", "whether background threads run"},
    {"max", "integer", "maximum number of background threads"},
    {0},
};

#define CONTROL_TYPES "bool|unsigned|size|ssize|u64|string|none"

static const RouteParameter control_parameters[] = {
    {"type", CONTROL_TYPES, "type of the value, for a control that is not known"},
    {0},
};

static const RouteParameter control_set_parameters[] = {
    {"value", "scalar", "value to write; if omitted, the control is run as an action"},
    {"type", CONTROL_TYPES, "type of the value, for a control that is not known"},
    {0},
};

static const Route rows[] = {
    {ROUTE_DIALECT_NATIVE, "POST", NATIVE_PATH "/purge", "return unused pages to the kernel",
     .parameters = arena_parameters, .role = ROUTE_ROLE_CONTROL, .answer = native_purge},
    {ROUTE_DIALECT_NATIVE, "GET|HEAD", NATIVE_PATH "/decay", "decay times", .answer = native_decay},
    {ROUTE_DIALECT_NATIVE, "PUT", NATIVE_PATH "/decay", "set the decay times of existing and future arenas",
     .parameters = decay_parameters, .role = ROUTE_ROLE_CONTROL, .answer = native_decay_set},
    {ROUTE_DIALECT_NATIVE, "POST", NATIVE_PATH "/decay", "purge pages whose decay time has expired",
     .parameters = arena_parameters, .role = ROUTE_ROLE_CONTROL, .answer = native_decay_run},
    {ROUTE_DIALECT_NATIVE, "GET|HEAD", NATIVE_PATH "/background-thread", "state of the background threads",
     .answer = native_threads},
    {ROUTE_DIALECT_NATIVE, "PUT|POST", NATIVE_PATH "/background-thread", "start or stop background threads",
     .parameters = threads_parameters, .role = ROUTE_ROLE_CONTROL, .answer = native_threads_set},
    {ROUTE_DIALECT_NATIVE, "GET|HEAD", NATIVE_PATH "/controls/{control}", "read a jemalloc control",
     .parameters = control_parameters, .answer = native_control},
    {ROUTE_DIALECT_NATIVE, "PUT|POST", NATIVE_PATH "/controls/{control}", "write or run a writable control",
     .parameters = control_set_parameters, .role = ROUTE_ROLE_CONTROL, .answer = native_control_set},
};

const RouteTable native_controls_routes = {rows, sizeof(rows) / sizeof(rows[0])};
