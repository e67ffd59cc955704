/* SPDX-License-Identifier: Apache-2.0 */
/* libmtev's /mtev/memory.json and /mtev/heap_profile. docs/dialects.md lists the differences. */
#include "routes/table.h"

#include "routes/choice.h"
#include "routes/query.h"
#include "routes/reply.h"
#include "routes/unprofiled.h"

#include <string.h>

static void
refuse(RouteReply *reply, Outcome result, const Failure *failure)
{
    reply_text(reply, outcome_row(result)->http, REPLY_TEXT, "%s", reply_failure_text(result, failure));
    reply->reason = reply->status == 500 ? "ERROR" : NULL;
    reply_add_retry(reply);
}

static void
refuse_error(RouteReply *reply, int error)
{
    const Failure failure = {.error = error};
    refuse(reply, OUTCOME_CONTROL_FAILED, &failure);
}

static void
libmtev_memory(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    Failure failure = {0};
    int descriptor = -1;
    Outcome result = host->ops->stats(host->data, "J", &descriptor, &failure);
    if (result == OUTCOME_NO_JEMALLOC)
        reply_text(reply, 200, REPLY_JSON, "{}\n");
    else if (result != OUTCOME_DONE)
        refuse(reply, result, &failure);
    else
        reply_file(reply, REPLY_JSON, descriptor);
}

static bool
is_true(const QueryValue *value)
{
    return value->state == QUERY_GIVEN && strcmp(value->text, "true") == 0;
}

static Outcome
write_active(const RouteHost *host, const WireHelloReply *hello, bool active, const SamplerChoice *choice,
             Failure *failure)
{
    if (unprofiled_applies(hello)) {
        failure->error = unprofiled_write_active(hello, active);
        return failure->error == 0 ? OUTCOME_DONE : OUTCOME_CONTROL_FAILED;
    }
    const Outcome result = active ? choice_make(host, choice, failure) : OUTCOME_DONE;
    return result == OUTCOME_DONE ? host->ops->write(host->data, "prof.active", WIRE_TYPE_BOOL, active, failure)
                                  : result;
}

static void
set_active(const RouteHost *host, const RouteRequest *request, const WireHelloReply *hello, RouteReply *reply)
{
    Failure failure = {0};
    SamplerChoice choice = {0};
    QueryValue value;
    query_find(request->query, "active", &value);
    const bool active = is_true(&value);
    Outcome result = choice_read(request->query, &choice.sampler, &failure);
    if (result == OUTCOME_DONE)
        result = write_active(host, hello, active, &choice, &failure);
    if (result != OUTCOME_DONE) {
        refuse(reply, result, &failure);
        return;
    }
    reply_text(reply, 200, REPLY_TEXT, "Profiling is %s\n", active ? "activated" : "deactivated");
}

static void
send_dump(const RouteHost *host, const WireHelloReply *hello, RouteReply *reply)
{
    Failure failure = {0};
    int descriptor = -1;
    if (unprofiled_applies(hello)) {
        refuse_error(reply, unprofiled_dump(hello));
        return;
    }
    Outcome result = host->ops->dump(host->data, NULL, &descriptor, &failure);
    if (result != OUTCOME_DONE) {
        refuse(reply, result, &failure);
        return;
    }
    reply_file(reply, "application/x-jemalloc-heap-profile", descriptor);
}

/* "true", "false" or, if jemalloc returned an error, "error". */
static const char *
read_word(const RouteHost *host, const WireHelloReply *hello, const char *control)
{
    Failure failure;
    WireCtlReply value;
    if (unprofiled_applies(hello))
        return unprofiled_read(hello) == 0 ? "false" : "error";
    if (host->ops->read(host->data, control, WIRE_TYPE_BOOL, &value, &failure) != OUTCOME_DONE)
        return "error";
    return value.value != 0 ? "true" : "false";
}

static void
send_state(const RouteHost *host, const WireHelloReply *hello, RouteReply *reply)
{
    bool built = unprofiled_read(hello) == 0;
    bool started = !unprofiled_applies(hello);
    reply_text(reply, 200, REPLY_TEXT, "opt.prof: %s\n", !built ? "error" : started ? "true" : "false");
    if (built && !started)
        reply_print(reply, "# needs MALLOC_CONF=\"prof:true\"\n");
    reply_print(reply, "prof.active: %s\n", read_word(host, hello, "prof.active"));
    reply_print(reply, "prof.thread_active_init: %s\n", read_word(host, hello, "prof.thread_active_init"));
}

static bool
libmtev_takes_no_dump(const RouteRequest *request)
{
    QueryValue active, dump;
    return query_find(request->query, "active", &active) != QUERY_ABSENT ||
           query_find(request->query, "trigger_dump", &dump) == QUERY_ABSENT || !is_true(&dump);
}

static void
libmtev_heap_profile(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    WireHelloReply hello;
    Failure failure = {0};
    QueryValue active;
    Outcome result = host->ops->hello(host->data, &hello, &failure);
    if (result == OUTCOME_NO_JEMALLOC) {
        reply_text(reply, 500, REPLY_TEXT, "libjemalloc is not loaded, cannot heap profile\n");
        reply->reason = "ERROR";
    } else if (result != OUTCOME_DONE) {
        refuse(reply, result, &failure);
    } else if (query_find(request->query, "active", &active) != QUERY_ABSENT) {
        set_active(host, request, &hello, reply);
    } else if (libmtev_takes_no_dump(request)) {
        send_state(host, &hello, reply);
    } else {
        send_dump(host, &hello, reply);
    }
}

static RouteRole
libmtev_heap_profile_role(const RouteRequest *request)
{
    QueryValue active;
    return query_find(request->query, "active", &active) == QUERY_ABSENT ? ROUTE_ROLE_READ : ROUTE_ROLE_CONTROL;
}

/* libmtev counts the objects of its own event loop; in a process served from outside none are counted. */
static void
libmtev_events(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    WireHelloReply hello;
    Failure failure = {0};
    Outcome result = host->ops->hello(host->data, &hello, &failure);
    if (result != OUTCOME_DONE && result != OUTCOME_NO_JEMALLOC)
        refuse(reply, result, &failure);
    else
        reply_text(reply, 200, REPLY_JSON, "{\"eventer_t\":{\"current\":0,\"total\":0}}");
}

static void
libmtev_options(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    reply_begin(reply, 200, "text/html");
    reply_header(reply, "Allow", "OPTIONS, GET");
}

static void
libmtev_unknown(const Route *route, const RouteRequest *request, RouteReply *reply)
{
    reply_begin(reply, 404, NULL);
    reply->reason = "NOT FOUND";
}

static const RouteParameter libmtev_parameters[] = {
    {"active", "text", "\"true\" switches sampling on, any other value off"},
    CHOICE_SAMPLER_ROW,
    {"trigger_dump", "text", "\"true\" returns a heap dump"},
    {0},
};

static const Route rows[] = {
    {ROUTE_DIALECT_LIBMTEV, "GET", "/mtev/memory.json", "current statistics as JSON", .flags = ROUTE_PRINTING,
     .answer = libmtev_memory},
    {ROUTE_DIALECT_LIBMTEV, "GET", "/mtev/heap_profile", "the state of profiling; or switch it, or take a dump",
     .parameters = libmtev_parameters, .flags = ROUTE_SLOW, .is_quick = libmtev_takes_no_dump,
     .role_of = libmtev_heap_profile_role, .answer = libmtev_heap_profile},
    {ROUTE_DIALECT_LIBMTEV, "GET", "/eventer/memory.json", "counts of libmtev's event objects",
     .answer = libmtev_events},
    {ROUTE_DIALECT_LIBMTEV, "OPTIONS", "/eventer/memory.json", NULL, .answer = libmtev_options},
    {ROUTE_DIALECT_LIBMTEV, "OPTIONS", "/mtev/memory.json", NULL, .answer = libmtev_options},
    {ROUTE_DIALECT_LIBMTEV, "OPTIONS", "/mtev/heap_profile", NULL, .answer = libmtev_options},
};

const RouteTable libmtev_routes = {rows, sizeof(rows) / sizeof(rows[0])};

const Dialect libmtev_dialect = {
    .dialect = ROUTE_DIALECT_LIBMTEV,
    .name = "libmtev",
    .title = "libmtev's dialect",
    .about = "Paths, responses and errors are those of libmtev's own handlers.",
    .paths = {"/mtev/", "/eventer/"},
    .unknown = libmtev_unknown,
    .wrong_method = libmtev_unknown,
};
