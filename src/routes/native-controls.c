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

enum {
    ALL_ARENAS = 4096, /* MALLCTL_ARENAS_ALL of jemalloc 5; before, their number stood for all of them */
    ARENAS_MAX = 4096,
};

static RouteResult
write_control(const RouteHost *host, const char *control, WireType type, uint64_t value, RouteFailure *failure)
{
    return host->ops->write(host->data, control, type, value, failure);
}

/* ---- purge and decay ---- */

/* Runs arena.N.ACTION; without a parameter "arena", for all. */
static RouteResult
run_in_arena(const RouteHost *host, const char *action, uint64_t arena, RouteFailure *failure)
{
    char control[WIRE_CONTROL_NAME_MAX];
    RouteValue arenas;
    snprintf(control, sizeof control, "arena.%llu.%s", (unsigned long long)arena, action);
    RouteResult result = write_control(host, control, WIRE_TYPE_NONE, 0, failure);
    if (result != ROUTE_CONTROL_FAILED || arena != ALL_ARENAS ||
        host->ops->read(host->data, "arenas.narenas", WIRE_TYPE_UNSIGNED, &arenas, failure) != ROUTE_DONE) {
        return result;
    }
    snprintf(control, sizeof control, "arena.%llu.%s", (unsigned long long)arenas.value, action);
    return write_control(host, control, WIRE_TYPE_NONE, 0, failure);
}

static bool
read_arena(const RouteRequest *request, uint64_t *arena, RouteReply *reply)
{
    *arena = ALL_ARENAS;
    if (!native_number(request, "arena", NATIVE_OPTIONAL, arena, reply)) {
        return false;
    }
    if (*arena > ALL_ARENAS) {
        native_refuse(reply, "arena", "that number", "at most 4096, which stands for all");
        return false;
    }
    return true;
}

/* stats.resident of now; 0 where jemalloc has no statistics. */
static uint64_t
read_resident(const RouteHost *host)
{
    RouteFailure failure;
    RouteValue value;
    bool known = write_control(host, "epoch", WIRE_TYPE_U64, 1, &failure) == ROUTE_DONE &&
                 host->ops->read(host->data, "stats.resident", WIRE_TYPE_SIZE, &value, &failure) == ROUTE_DONE;
    return known ? value.value : 0;
}

static void
add_bytes(Json *json, const char *name, uint64_t bytes)
{
    if (bytes != 0) {
        json_number(json, name, bytes);
    } else {
        json_put_null(json, name);
    }
}

static void
run_and_measure(const RouteHost *host, const RouteRequest *request, const char *action, RouteReply *reply)
{
    RouteFailure failure = {0};
    uint64_t arena;
    Json json;
    if (!read_arena(request, &arena, reply)) {
        return;
    }
    uint64_t before = read_resident(host);
    RouteResult result = run_in_arena(host, action, arena, &failure);
    if (result != ROUTE_DONE) {
        native_failure(reply, result, &failure);
        return;
    }
    uint64_t after = read_resident(host);
    native_begin(&json, reply, 200);
    add_bytes(&json, "resident_before", before);
    add_bytes(&json, "resident_after", after);
    native_end(&json);
}

void
native_purge(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    run_and_measure(host, request, "purge", reply);
}

void
native_decay_run(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    run_and_measure(host, request, "decay", reply);
}

static const struct {
    const char *parameter;
    const char *control;
} decays[] = {{"dirty_ms", "dirty_decay_ms"}, {"muzzy_ms", "muzzy_decay_ms"}};

enum { N_DECAYS = sizeof decays / sizeof decays[0] };

void
native_decay(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    char control[WIRE_CONTROL_NAME_MAX];
    RouteFailure failure = {0};
    RouteValue values[N_DECAYS];
    Json json;
    for (size_t i = 0; i < N_DECAYS; i++) {
        snprintf(control, sizeof control, "arenas.%s", decays[i].control);
        RouteResult result = host->ops->read(host->data, control, WIRE_TYPE_SSIZE, &values[i], &failure);
        if (result != ROUTE_DONE) {
            native_failure(reply, result, &failure);
            return;
        }
    }
    native_begin(&json, reply, 200);
    for (size_t i = 0; i < N_DECAYS; i++) {
        json_signed(&json, decays[i].parameter, (int64_t)values[i].value);
    }
    native_end(&json);
}

/* For arenas to come, and those there are; one that was never used, or has ended, has none. */
static RouteResult
set_decay(const RouteHost *host, const char *name, int64_t ms, RouteFailure *failure)
{
    char control[WIRE_CONTROL_NAME_MAX];
    RouteFailure single;
    RouteValue arenas;
    snprintf(control, sizeof control, "arenas.%s", name);
    RouteResult result = write_control(host, control, WIRE_TYPE_SSIZE, (uint64_t)ms, failure);
    if (result == ROUTE_DONE) {
        result = host->ops->read(host->data, "arenas.narenas", WIRE_TYPE_UNSIGNED, &arenas, failure);
    }
    for (uint64_t i = 0; result == ROUTE_DONE && i < arenas.value && i < ARENAS_MAX; i++) {
        snprintf(control, sizeof control, "arena.%llu.%s", (unsigned long long)i, name);
        RouteResult set = write_control(host, control, WIRE_TYPE_SSIZE, (uint64_t)ms, &single);
        if (set != ROUTE_DONE && set != ROUTE_CONTROL_FAILED) {
            *failure = single;
            result = set;
        }
    }
    return result;
}

void
native_decay_set(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    RouteFailure failure = {0};
    QueryValue given;
    int64_t ms[N_DECAYS] = {0};
    for (size_t i = 0; i < N_DECAYS; i++) {
        if (!native_signed(request, decays[i].parameter, NATIVE_OPTIONAL, &ms[i], reply)) {
            return;
        }
    }
    for (size_t i = 0; i < N_DECAYS; i++) {
        if (native_find(request, decays[i].parameter, &given) == QUERY_ABSENT) {
            continue;
        }
        RouteResult result = set_decay(host, decays[i].control, ms[i], &failure);
        if (result != ROUTE_DONE) {
            native_failure(reply, result, &failure);
            return;
        }
    }
    native_decay(host, request, reply);
}

/* ---- background threads ---- */

void
native_threads(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    RouteFailure failure = {0};
    RouteValue enabled, most;
    Json json;
    RouteResult result = host->ops->read(host->data, "background_thread", WIRE_TYPE_BOOL, &enabled, &failure);
    if (result == ROUTE_DONE) {
        result = host->ops->read(host->data, "max_background_threads", WIRE_TYPE_SIZE, &most, &failure);
    }
    if (result != ROUTE_DONE) {
        native_failure(reply, result, &failure);
        return;
    }
    native_begin(&json, reply, 200);
    json_boolean(&json, "enabled", enabled.value != 0);
    json_number(&json, "max", most.value);
    native_end(&json);
}

void
native_threads_set(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    RouteFailure failure = {0};
    RouteResult result = ROUTE_DONE;
    QueryValue given;
    uint64_t most = 0;
    bool enabled = false;
    if (!native_number(request, "max", NATIVE_OPTIONAL, &most, reply) ||
        !native_boolean(request, "enabled", NATIVE_OPTIONAL, &enabled, reply)) {
        return;
    }
    if (native_find(request, "max", &given) != QUERY_ABSENT) {
        if (most == 0) {
            native_refuse(reply, "max", given.text, "at least 1; enabled=false ends all threads");
            return;
        }
        result = write_control(host, "max_background_threads", WIRE_TYPE_SIZE, most, &failure);
    }
    if (result == ROUTE_DONE && native_find(request, "enabled", &given) != QUERY_ABSENT) {
        result = write_control(host, "background_thread", WIRE_TYPE_BOOL, enabled, &failure);
    }
    if (result == ROUTE_DONE) {
        native_threads(host, request, reply);
    } else {
        native_failure(reply, result, &failure);
    }
}

/* ---- any control ---- */

static const char *const types[] = {
    [WIRE_TYPE_NONE] = "none",     [WIRE_TYPE_BOOL] = "bool",   [WIRE_TYPE_UNSIGNED] = "unsigned",
    [WIRE_TYPE_SIZE] = "size",     [WIRE_TYPE_SSIZE] = "ssize", [WIRE_TYPE_U64] = "u64",
    [WIRE_TYPE_STRING] = "string",
};

/* The control in the path and its type. False: it is none that we know, and the reply says so. */
static bool
find_control(const RouteRequest *request, char *name, size_t size, WireType *type, RouteReply *reply)
{
    bool sound = path_component(request->path, NATIVE_ID, name, size) && control_name_is_sound(name);
    const Control *control = sound ? control_find(name) : NULL;
    QueryValue word;
    native_find(request, "type", &word);
    for (size_t i = 0; sound && word.state != QUERY_ABSENT && i < sizeof types / sizeof types[0]; i++) {
        if (strcmp(types[i], word.text) == 0) {
            *type = (WireType)i;
            return true;
        }
    }
    if (control == NULL || word.state != QUERY_ABSENT) {
        native_error(reply, 404, &(NativeError){"not_found", "name its type: ?type=bool|unsigned|size|ssize|u64"},
                     "this is no control whose type we know");
        return false;
    }
    *type = (WireType)control->type;
    return true;
}

static void
send_value(const char *name, WireType type, const RouteValue *value, RouteReply *reply)
{
    Json json;
    native_begin(&json, reply, 200);
    json_text(&json, "control", name);
    json_text(&json, "type", types[type]);
    if (type == WIRE_TYPE_BOOL) {
        json_boolean(&json, "value", value->value != 0);
    } else if (type == WIRE_TYPE_STRING) {
        json_text(&json, "value", value->text);
    } else if (type == WIRE_TYPE_SSIZE) {
        json_signed(&json, "value", (int64_t)value->value);
    } else if (type == WIRE_TYPE_NONE) {
        json_put_null(&json, "value");
    } else {
        json_number(&json, "value", value->value);
    }
    native_end(&json);
}

void
native_control(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    char name[WIRE_CONTROL_NAME_MAX];
    RouteFailure failure = {0};
    RouteValue value;
    WireType type;
    if (!find_control(request, name, sizeof name, &type, reply)) {
        return;
    }
    RouteResult result = control_may_read(name, (ControlType)type)
                             ? host->ops->read(host->data, name, type, &value, &failure)
                             : ROUTE_NOT_ALLOWED;
    if (result == ROUTE_DONE) {
        send_value(name, type, &value, reply);
        return;
    }
    if (result == ROUTE_NOT_ALLOWED) {
        snprintf(failure.why, sizeof failure.why, "%s cannot be read as a %s", name, types[type]);
    }
    native_failure(reply, result, &failure);
}

/* The value that REQUEST brings for a control of this type. False: the reply is a refusal. */
static bool
read_value(const RouteRequest *request, WireType type, RouteValue *value, RouteReply *reply)
{
    bool flag = false;
    int64_t number = 0;
    bool good = true;
    *value = (RouteValue){0};
    if (type == WIRE_TYPE_BOOL) {
        good = native_boolean(request, "value", NATIVE_NEEDED, &flag, reply);
        value->value = flag;
    } else if (type == WIRE_TYPE_SSIZE) {
        good = native_signed(request, "value", NATIVE_NEEDED, &number, reply);
        value->value = (uint64_t)number;
    } else if (type != WIRE_TYPE_NONE) {
        good = native_number(request, "value", NATIVE_NEEDED, &value->value, reply);
    }
    return good;
}

void
native_control_set(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    char name[WIRE_CONTROL_NAME_MAX];
    RouteFailure failure = {0};
    RouteValue value;
    QueryValue given;
    WireType type;
    if (!find_control(request, name, sizeof name, &type, reply)) {
        return;
    }
    /* What may have a value, and gets none, is run as an action. */
    const bool as_action =
        native_find(request, "value", &given) == QUERY_ABSENT && control_may_write(name, CONTROL_NONE);
    type = as_action ? WIRE_TYPE_NONE : type;
    if (!control_may_write(name, (ControlType)type)) {
        snprintf(failure.why, sizeof failure.why, "%s is not among the controls that a client may write as a %s", name,
                 types[type]);
        native_failure(reply, ROUTE_NOT_ALLOWED, &failure);
        return;
    }
    if (!read_value(request, type, &value, reply)) {
        return;
    }
    RouteResult result = write_control(host, name, type, value.value, &failure);
    if (result == ROUTE_DONE) {
        send_value(name, type, &value, reply);
    } else {
        native_failure(reply, result, &failure);
    }
}
