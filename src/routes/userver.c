/* SPDX-License-Identifier: Apache-2.0 */
/* userver's /service/jemalloc/prof/{command}. docs/dialects.md lists the differences. */
#include "routes/table.h"

#include "routes/choice.h"
#include "routes/path.h"
#include "routes/query.h"
#include "routes/reply.h"
#include "routes/unprofiled.h"

#include "jemalloc/version.h"

#include <errno.h>
#include <string.h>

enum {
    COMMAND_COMPONENT = 3,
    COMMAND_MAX = 64,
};

/* A command in progress. */
typedef struct {
    const RouteHost *host;
    const RouteRequest *request;
    RouteReply *reply;
} Call;

/* A failure of jemalloc is a normal answer here, with status 200 */
static void
tell_error(RouteReply *reply, int error)
{
    reply_text(reply, 200, REPLY_BYTES, "mallctl() returned error: %s\n", error_name(error));
}

static void
tell(RouteReply *reply, Outcome result, const Failure *failure)
{
    switch (result) {
    case OUTCOME_DONE:
        reply_text(reply, 200, REPLY_BYTES, "OK\n");
        break;
    case OUTCOME_CONTROL_FAILED:
        tell_error(reply, failure->error);
        break;
    case OUTCOME_NOT_ALLOWED:
        tell_error(reply, EPERM);
        break;
    case OUTCOME_NO_JEMALLOC:
        tell_error(reply, ENOTSUP);
        break;
    default:
        reply_text(reply, outcome_row(result)->http, REPLY_BYTES, "%s\n", reply_failure_text(result, failure));
        reply_add_retry(reply);
    }
}

static void
write_control(const Call *call, const char *control, WireType type, uint64_t value)
{
    Failure failure = {0};
    Outcome result = call->host->ops->write(call->host->data, control, type, value, &failure);
    tell(call->reply, result, &failure);
}

/* False: the target cannot be reached, and the reply has the error. */
static bool
ask(const Call *call, WireHelloReply *hello)
{
    Failure failure = {0};
    Outcome result = call->host->ops->hello(call->host->data, hello, &failure);
    if (result != OUTCOME_DONE)
        tell(call->reply, result, &failure);
    return result == OUTCOME_DONE;
}

static void
set_active(const Call *call, bool active)
{
    WireHelloReply hello;
    SamplerChoice choice = {0};
    Failure failure = {0};
    Outcome result;
    if (!ask(call, &hello))
        return;
    if (unprofiled_applies(&hello)) {
        failure.error = unprofiled_write_active(&hello, active);
        result = failure.error == 0 ? OUTCOME_DONE : OUTCOME_CONTROL_FAILED;
    } else {
        result = choice_read(call->request->query, &choice.sampler, &failure);
        if (result == OUTCOME_DONE && active)
            result = choice_make(call->host, &choice, &failure);
        if (result == OUTCOME_DONE)
            result = call->host->ops->write(call->host->data, "prof.active", WIRE_TYPE_BOOL, active, &failure);
    }
    tell(call->reply, result, &failure);
}

static void
enable(const Call *call)
{
    set_active(call, true);
}

static void
disable(const Call *call)
{
    set_active(call, false);
}

/* The file is where the program is configured to write dumps. The dump is also kept, so that the client can get it over
 * HTTP. */
static void
dump(const Call *call)
{
    Failure failure = {0};
    WireHelloReply hello;
    RouteDump kept;
    if (!ask(call, &hello))
        return;
    if (unprofiled_applies(&hello)) {
        tell_error(call->reply, unprofiled_dump(&hello));
        return;
    }
    Outcome result = call->host->ops->dump_to_own_file(call->host->data, &failure);
    tell(call->reply, result, &failure);
    if (result == OUTCOME_DONE)
        call->host->ops->dump_take(call->host->data, NULL, &kept, &failure);
}

static void
print_statistics(const Call *call)
{
    Failure failure = {0};
    int descriptor = -1;
    Outcome result = call->host->ops->stats(call->host->data, "", &descriptor, &failure);
    if (result == OUTCOME_DONE)
        reply_file(call->reply, REPLY_BYTES, descriptor);
    else if (result == OUTCOME_NO_JEMALLOC)
        reply_text(call->reply, 200, REPLY_BYTES, "(libjemalloc support is disabled)");
    else
        tell(call->reply, result, &failure);
}

/* Why TEXT is not an unsigned long; NULL: it is *count. The messages are userver's. */
static const char *
parse_count(const char *text, uint64_t *count)
{
    const char *at = text + (*text == '+' || *text == '-');
    uint64_t value = 0;
    bool overflow = false;
    if (*text == '\0')
        return "empty string";
    if (strchr(" \t\n\v\f\r", *text) != NULL)
        return "leading spaces are not allowed";
    if (*at < '0' || *at > '9')
        return "no number found";
    for (; *at >= '0' && *at <= '9'; at++)
        overflow |= __builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, *at - '0', &value);
    if (overflow || (*text == '-' && value != 0))
        return "overflow";
    if (*at != '\0') {
        return at[strspn(at, " \t\n\v\f\r")] == '\0' ? "trailing spaces are not allowed"
                                                     : "extra junk at the end of the string is not allowed";
    }
    *count = value;
    return NULL;
}

/* Before 5.3.1 jemalloc takes zero and divides by it as soon as threads run: here it is refused as newer ones do. */
static bool
is_deadly(const WireHelloReply *hello, uint64_t count)
{
    JemallocVersion version;
    bool known = jemalloc_version_parse(hello->jemalloc_version, &version);
    unsigned quirks = jemalloc_quirks(known ? &version : NULL);
    return count == 0 && (quirks & JEMALLOC_QUIRK_ZERO_BACKGROUND_THREADS) != 0;
}

static void
set_max_threads(const Call *call)
{
    WireHelloReply hello;
    QueryValue text;
    uint64_t count;
    if (query_find(call->request->query, "count", &text) == QUERY_ABSENT) {
        reply_text(call->reply, 400, REPLY_BYTES, "missing 'count' argument");
        return;
    }
    const char *why = parse_count(text.text, &count);
    if (why != NULL) {
        reply_text(call->reply, 400, REPLY_BYTES,
                   "invalid 'count' value: utils::FromString error: \"%s\" while converting \"%s\" to unsigned long",
                   why, text.text);
        return;
    }
    if (!ask(call, &hello))
        return;
    if (is_deadly(&hello, count))
        tell_error(call->reply, EINVAL);
    else
        write_control(call, "max_background_threads", WIRE_TYPE_SIZE, count);
}

static void
enable_threads(const Call *call)
{
    write_control(call, "background_thread", WIRE_TYPE_BOOL, 1);
}

static void
disable_threads(const Call *call)
{
    write_control(call, "background_thread", WIRE_TYPE_BOOL, 0);
}

typedef struct {
    const char *name;
    void (*run)(const Call *call);
    bool is_quick;
    RouteRole role;
} Command;

static const Command commands[] = {
    {"enable", enable, true, ROUTE_ROLE_CONTROL},
    {"disable", disable, true, ROUTE_ROLE_CONTROL},
    {"dump", dump, false, ROUTE_ROLE_CONTROL},
    {"stat", print_statistics, false, ROUTE_ROLE_READ},
    {"bg_threads_set_max", set_max_threads, true, ROUTE_ROLE_CONTROL},
    {"bg_threads_enable", enable_threads, true, ROUTE_ROLE_CONTROL},
    {"bg_threads_disable", disable_threads, false, ROUTE_ROLE_CONTROL}, /* waits for them to end */
};

/* NULL: no such command. */
static const Command *
find_command(const RouteRequest *request)
{
    char name[COMMAND_MAX] = "";
    path_component(request->path, COMMAND_COMPONENT, name, sizeof(name));
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

static RouteRole
userver_role(const RouteRequest *request)
{
    const Command *command = find_command(request);
    return command != NULL ? command->role : ROUTE_ROLE_READ;
}

static bool
userver_is_quick(const RouteRequest *request)
{
    const Command *command = find_command(request);
    return command == NULL || command->is_quick;
}

static void
userver_command(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    const Call call = {host, request, reply};
    const Command *command = find_command(request);
    if (command != NULL)
        command->run(&call);
    else
        reply_text(reply, 200, REPLY_BYTES, "Unsupported command");
}

static void
userver_unknown(const Route *route, const RouteRequest *request, RouteReply *reply)
{
    reply_begin(reply, 404, REPLY_BYTES);
}

static void
userver_wrong_method(const Route *route, const RouteRequest *request, RouteReply *reply)
{
    reply_begin(reply, 405, REPLY_BYTES);
}

static const RouteParameter userver_parameters[] = {
    {"count", "integer", "bg_threads_set_max: maximum number of background threads"},
    CHOICE_SAMPLER_ROW,
    {0},
};

static const Route rows[] = {
    {ROUTE_DIALECT_USERVER, "POST", "/service/jemalloc/prof/{command}",
     "enable, disable, dump, stat, bg_threads_set_max, bg_threads_enable or bg_threads_disable",
     .parameters = userver_parameters, .flags = ROUTE_SLOW, .is_quick = userver_is_quick, .role_of = userver_role,
     .answer = userver_command},
    {ROUTE_DIALECT_USERVER, "POST", "/service/jemalloc/prof/{command}/", NULL, .flags = ROUTE_SLOW,
     .is_quick = userver_is_quick, .role_of = userver_role, .answer = userver_command},
    {ROUTE_DIALECT_USERVER, "POST", "/service/jemalloc/prof/", NULL, .answer = userver_command},
};

const RouteTable userver_routes = {rows, sizeof(rows) / sizeof(rows[0])};

const Dialect userver_dialect = {
    .dialect = ROUTE_DIALECT_USERVER,
    .name = "userver",
    .title = "userver's dialect",
    .about = "Paths, responses and errors are those of userver's `handler-jemalloc`.",
    .paths = {"/service/jemalloc/"},
    .unknown = userver_unknown,
    .wrong_method = userver_wrong_method,
};
