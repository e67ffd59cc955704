/* SPDX-License-Identifier: Apache-2.0 */
#include "routes/libmtev.h"

#include "routes/query.h"
#include "routes/reply.h"
#include "routes/unprofiled.h"

#include <string.h>

static void
refuse(RouteReply *reply, RouteResult result, const RouteFailure *failure)
{
    unsigned status = result == ROUTE_CONTROL_FAILED ? 500 : reply_status(result);
    reply_text(reply, status, REPLY_TEXT, "%s", reply_failure_text(result, failure));
    reply->reason = status == 500 ? "ERROR" : NULL;
    reply_add_retry(reply);
}

static void
refuse_error(RouteReply *reply, int error)
{
    const RouteFailure failure = {.error = error};
    refuse(reply, ROUTE_CONTROL_FAILED, &failure);
}

void
libmtev_memory(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    RouteFailure failure = {0};
    int descriptor = -1;
    RouteResult result = host->ops->stats(host->data, "J", &descriptor, &failure);
    if (result == ROUTE_NO_JEMALLOC) {
        reply_text(reply, 200, REPLY_JSON, "{}\n");
    } else if (result != ROUTE_DONE) {
        refuse(reply, result, &failure);
    } else {
        reply_file(reply, REPLY_JSON, descriptor);
    }
}

static bool
is_true(const QueryValue *value)
{
    return value->state == QUERY_GIVEN && strcmp(value->text, "true") == 0;
}

static void
set_active(const RouteHost *host, const WireHelloReply *hello, bool active, RouteReply *reply)
{
    RouteFailure failure = {0};
    RouteResult result;
    if (unprofiled_applies(hello)) {
        failure.error = unprofiled_write_active(hello, active);
        result = failure.error == 0 ? ROUTE_DONE : ROUTE_CONTROL_FAILED;
    } else {
        result = host->ops->write(host->data, "prof.active", WIRE_TYPE_BOOL, active, &failure);
    }
    if (result != ROUTE_DONE) {
        refuse(reply, result, &failure);
        return;
    }
    reply_text(reply, 200, REPLY_TEXT, "Profiling is %s\n", active ? "activated" : "deactivated");
}

static void
send_dump(const RouteHost *host, const WireHelloReply *hello, RouteReply *reply)
{
    RouteFailure failure = {0};
    int descriptor = -1;
    if (unprofiled_applies(hello)) {
        refuse_error(reply, unprofiled_dump(hello));
        return;
    }
    RouteResult result = host->ops->dump(host->data, &descriptor, &failure);
    if (result != ROUTE_DONE) {
        refuse(reply, result, &failure);
        return;
    }
    reply_file(reply, "application/x-jemalloc-heap-profile", descriptor);
}

/* "true", "false" or, where jemalloc would not tell, "error". */
static const char *
read_word(const RouteHost *host, const WireHelloReply *hello, const char *control)
{
    RouteFailure failure;
    RouteValue value;
    if (unprofiled_applies(hello)) {
        return unprofiled_read(hello) == 0 ? "false" : "error";
    }
    if (host->ops->read(host->data, control, WIRE_TYPE_BOOL, &value, &failure) != ROUTE_DONE) {
        return "error";
    }
    return value.value != 0 ? "true" : "false";
}

static void
send_state(const RouteHost *host, const WireHelloReply *hello, RouteReply *reply)
{
    bool built = unprofiled_read(hello) == 0;
    bool started = !unprofiled_applies(hello);
    reply_text(reply, 200, REPLY_TEXT, "opt.prof: %s\n", !built ? "error" : started ? "true" : "false");
    if (built && !started) {
        reply_print(reply, "# needs MALLOC_CONF=\"prof:true\"\n");
    }
    reply_print(reply, "prof.active: %s\n", read_word(host, hello, "prof.active"));
    reply_print(reply, "prof.thread_active_init: %s\n", read_word(host, hello, "prof.thread_active_init"));
}

void
libmtev_heap_profile(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    WireHelloReply hello;
    RouteFailure failure = {0};
    QueryValue active;
    RouteResult result = host->ops->hello(host->data, &hello, &failure);
    if (result == ROUTE_NO_JEMALLOC) {
        reply_text(reply, 500, REPLY_TEXT, "libjemalloc is not loaded, cannot heap profile\n");
        reply->reason = "ERROR";
    } else if (result != ROUTE_DONE) {
        refuse(reply, result, &failure);
    } else if (query_find(request->query, "active", &active) != QUERY_ABSENT) {
        set_active(host, &hello, is_true(&active), reply);
    } else if (libmtev_takes_no_dump(request)) {
        send_state(host, &hello, reply);
    } else {
        send_dump(host, &hello, reply);
    }
}

RouteRole
libmtev_heap_profile_role(const RouteRequest *request)
{
    QueryValue active;
    return query_find(request->query, "active", &active) == QUERY_ABSENT ? ROUTE_ROLE_READ : ROUTE_ROLE_CONTROL;
}

bool
libmtev_takes_no_dump(const RouteRequest *request)
{
    QueryValue active, dump;
    return query_find(request->query, "active", &active) != QUERY_ABSENT ||
           query_find(request->query, "trigger_dump", &dump) == QUERY_ABSENT || !is_true(&dump);
}

void
libmtev_options(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    reply_begin(reply, 200, "text/html");
    reply_header(reply, "Allow", "OPTIONS, GET");
}

void
libmtev_unknown(const Route *route, const RouteRequest *request, RouteReply *reply)
{
    reply_begin(reply, 404, NULL);
    reply->reason = "NOT FOUND";
}
