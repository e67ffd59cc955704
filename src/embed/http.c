/* SPDX-License-Identifier: Apache-2.0 */
/* jescope_http(): the routes for this process. */
#include "agent/process.h"
#include "embed/call.h"
#include "embed/failure.h"
#include "embed/host.h"
#include "routes/native-reply.h"
#include "routes/reply.h"
#include "routes/route.h"
#include "routes/status.h"

#include <string.h>
#include <unistd.h>

enum {
    PATH_MAX_SIZE = 4096, /* for a path or a query, including the NUL */
    DIALECTS_KNOWN = ROUTE_DIALECT_ALL,
    FLAGS_KNOWN = JESCOPE_HTTP_READ_ONLY,
};

_Static_assert((int)JESCOPE_DIALECT_NATIVE == ROUTE_DIALECT_NATIVE, "the same bits");
_Static_assert((int)JESCOPE_DIALECT_LIBMTEV == ROUTE_DIALECT_LIBMTEV, "the same bits");
_Static_assert((int)JESCOPE_DIALECT_USERVER == ROUTE_DIALECT_USERVER, "the same bits");
_Static_assert((int)JESCOPE_DIALECT_MESOS == ROUTE_DIALECT_MESOS, "the same bits");
_Static_assert((int)JESCOPE_DIALECT_PPROF == ROUTE_DIALECT_PPROF, "the same bits");

/* A request with buffers for decoded text. */
typedef struct {
    char path[PATH_MAX_SIZE];
    char query[PATH_MAX_SIZE];
    RouteRequest route;
} Decoded;

static int
hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* False if a '%' is not followed by two hexadecimal digits, or encodes a NUL. */
static bool
decode_path(const char *from, size_t n, char *to)
{
    for (size_t i = 0; i < n; i++) {
        if (from[i] != '%') {
            *to++ = from[i];
            continue;
        }
        int high = i + 2 < n ? hex_digit(from[i + 1]) : -1;
        int low = high >= 0 ? hex_digit(from[i + 2]) : -1;
        if (low < 0 || high * 16 + low == 0)
            return false;
        *to++ = (char)(high * 16 + low);
        i += 2;
    }
    *to = '\0';
    return true;
}

static Outcome
check(const JescopeRequest *request, const JescopeReply *reply, Failure *failure)
{
    if (request == NULL || reply == NULL || request->size != sizeof(*request) || reply->size != sizeof(*reply)) {
        return failure_set(failure, OUTCOME_INVALID,
                           "request.size must be sizeof(JescopeRequest), %zu, and reply.size sizeof(JescopeReply), %zu",
                           sizeof(*request), sizeof(*reply));
    }
    if (request->method == NULL || request->path == NULL || request->path[0] != '/' ||
        (request->body == NULL && request->body_size > 0)) {
        return failure_set(failure, OUTCOME_INVALID,
                           "a request needs a method, a path that begins with '/', and a body if it has a body_size");
    }
    if ((request->dialects & ~(unsigned)DIALECTS_KNOWN) != 0 || (request->flags & ~(unsigned)FLAGS_KNOWN) != 0) {
        return failure_set(failure, OUTCOME_INVALID,
                           "request has bits this version does not know: dialects 0x%x, flags 0x%x", request->dialects,
                           request->flags);
    }
    return OUTCOME_DONE;
}

/* Decodes the request; returns 0, or the HTTP status of the error. */
static unsigned
decode(const JescopeRequest *request, Decoded *decoded)
{
    size_t path_length = request->query == NULL ? strcspn(request->path, "?") : strlen(request->path);
    const char *query = request->query;
    if (query == NULL)
        query = request->path + path_length + (request->path[path_length] == '?');
    if (path_length >= sizeof(decoded->path) || strlen(query) >= sizeof(decoded->query))
        return 414;
    if (!decode_path(request->path, path_length, decoded->path))
        return 400;
    strcpy(decoded->query, query);
    decoded->route = (RouteRequest){
        .method = request->method,
        .path = decoded->path,
        .query = decoded->query,
        .body = request->body != NULL ? request->body : "",
        .body_size = request->body_size,
    };
    return 0;
}

/* Whether PATH names a process by its unique id, and it is not this one, which has its address now. */
static bool
is_of_another(const char *path)
{
    char target[STATUS_UNIQUE_MAX];
    ProcessIdentity own;
    int64_t pid;
    uint64_t start_ticks;
    if (!routes_path_target(path, target, sizeof(target)) || !status_parse_unique(target, &pid, &start_ticks))
        return false;
    process_identify(&own);
    return pid != own.pid || (own.start_time != 0 && start_ticks != own.start_time);
}

static void
refuse_another(RouteReply *reply)
{
    Failure failure;
    native_failure(
        reply, failure_set(&failure, OUTCOME_GONE, "the process that answers here is another one, %d", (int)getpid()),
        &failure);
}

static void
answer(const JescopeRequest *request, RouteReply *reply)
{
    Decoded decoded;
    unsigned dialects = request->dialects != 0 ? request->dialects : (unsigned)ROUTE_DIALECT_ALL;
    unsigned refused = decode(request, &decoded);
    if (refused != 0) {
        reply_text(reply, refused, REPLY_TEXT, "%s\n",
                   refused == 414 ? "path and query must be shorter than 4096 bytes each"
                                  : "malformed percent-encoding in the path");
        return;
    }
    const RouteMatch match = routes_find(routes_tables, dialects, &decoded.route);
    if (is_of_another(decoded.path))
        refuse_another(reply);
    else if ((request->flags & JESCOPE_HTTP_READ_ONLY) != 0 && match.role == ROUTE_ROLE_CONTROL)
        reply_text(reply, 403, REPLY_TEXT, "%s\n", "this server is read-only");
    else
        routes_answer(&host_self, &match, &decoded.route, reply);
}

int
jescope_http(const JescopeRequest *request, JescopeReply *reply, JescopeError *error)
{
    RouteReply route = {.descriptor = -1};
    Failure failure;
    Outcome result = check(request, reply, &failure);
    if (result != OUTCOME_DONE)
        return failure_publish(result, &failure, error);
    CALL_SCOPE(CALL_ALONE);
    answer(request, &route);
    _Static_assert(sizeof(reply->headers) == sizeof(route.headers) && sizeof(reply->body) == sizeof(route.body),
                   "same");
    *reply = (JescopeReply){
        .size = sizeof(*reply),
        .status = route.status,
        .reason = route.reason,
        .content_type = route.content_type,
        .descriptor = route.descriptor,
        .body_size = route.body_size,
    };
    memcpy(reply->headers, route.headers, sizeof(reply->headers));
    memcpy(reply->body, route.body, route.descriptor < 0 ? route.body_size : 0);
    return JESCOPE_OK;
}
