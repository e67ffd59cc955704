/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/route-ask.h"

#include "target/target.h"

#include <string.h>
#include <unistd.h>

struct RouteAsk {
    char *method;
    char *path;
    char *query;
    RouteMatch match;
};

static RouteRequest
request_of(const RouteAsk *ask)
{
    return (RouteRequest){.method = ask->method, .path = ask->path, .query = ask->query, .body = ""};
}

RouteAsk *
route_ask_new(const char *target, const char *method, const char *path)
{
    RouteAsk *ask = g_new0(RouteAsk, 1);
    const char *mark = strchrnul(path, '?');
    ask->method = g_strdup(method);
    ask->path = g_strdup_printf("/api/v1/targets/%s%.*s", target, (int)(mark - path), path);
    ask->query = g_strdup(*mark != '\0' ? mark + 1 : "");
    const RouteRequest request = request_of(ask);
    ask->match = routes_find(routes_tables, ROUTE_DIALECT_NATIVE, &request);
    return ask;
}

void
route_ask_free(gpointer data)
{
    RouteAsk *ask = data;
    g_free(ask->method);
    g_free(ask->path);
    g_free(ask->query);
    g_free(ask);
}

gboolean
route_ask_is_slow(const RouteAsk *ask)
{
    return (ask->match.flags & ROUTE_SLOW) != 0;
}

static char *
read_body(const RouteReply *reply, GError **error)
{
    char *body = g_malloc(reply->body_size + 1);
    gsize got = 0;
    if (reply->descriptor < 0)
        memcpy(body, reply->body, got = reply->body_size);
    while (reply->descriptor >= 0 && got < reply->body_size) {
        ssize_t n = pread(reply->descriptor, body + got, reply->body_size - got, (off_t)got);
        if (n <= 0)
            break;
        got += (gsize)n;
    }
    body[got] = '\0';
    if (got == reply->body_size)
        return body;
    g_set_error_literal(error, TARGET_ERROR, OUTCOME_SYSTEM, "the answer cannot be read");
    g_free(body);
    return NULL;
}

char *
route_ask_answer(const RouteAsk *ask, const RouteHost *host, GError **error)
{
    const RouteRequest request = request_of(ask);
    RouteReply reply = {.descriptor = -1};
    routes_answer(host, &ask->match, &request, &reply);
    char *body = read_body(&reply, error);
    if (reply.descriptor >= 0)
        close(reply.descriptor);
    return body;
}
