/* SPDX-License-Identifier: Apache-2.0 */
#include "routes/routes.h"

#include "routes/native-parameters.h"
#include "routes/path.h"
#include "routes/table.h"

#include <errno.h>
#include <string.h>

static const char native_prefix[] = "/api/v1/targets/";

enum {
    TARGET_COMPONENT = 3,
};

static bool
has_method(const char *methods, const char *method)
{
    size_t n = strlen(method);
    if (strcmp(methods, "*") == 0) {
        return true;
    }
    for (const char *at = methods; n > 0 && (at = strstr(at, method)) != NULL; at += n) {
        bool begins = at == methods || at[-1] == '|';
        if (begins && (at[n] == '\0' || at[n] == '|')) {
            return true;
        }
    }
    return false;
}

RouteMatch
routes_find(const RouteRequest *request, unsigned dialects, const Route **route)
{
    size_t n;
    const Route *rows = routes_table(&n);
    RouteMatch match = ROUTE_UNKNOWN_PATH;
    for (size_t i = 0; i < n; i++) {
        if ((rows[i].dialect & dialects) == 0 || !path_matches(rows[i].pattern, request->path)) {
            continue;
        }
        bool whole = has_method(rows[i].methods, request->method);
        if (whole || match == ROUTE_UNKNOWN_PATH) {
            *route = &rows[i];
            match = whole ? ROUTE_MATCHED : ROUTE_WRONG_METHOD;
        }
        if (whole) {
            break;
        }
    }
    return match;
}

static void
answer(const RouteHost *host, const Route *route, const RouteRequest *request, RouteReply *reply)
{
    if (route->dialect != ROUTE_DIALECT_NATIVE || native_check(route, request, reply)) {
        route->answer(host, request, reply);
    }
}

void
routes_answer(const RouteHost *host, unsigned dialects, const RouteRequest *request, RouteReply *reply)
{
    int saved = errno;
    const Route *route = NULL;
    reply->descriptor = -1;
    RouteMatch match = routes_find(request, dialects, &route);
    if (match == ROUTE_MATCHED) {
        answer(host, route, request, reply);
    } else if (match == ROUTE_WRONG_METHOD) {
        dialect_of(route, request)->wrong_method(route, request, reply);
    } else {
        dialect_of(NULL, request)->unknown(NULL, request, reply);
    }
    errno = saved;
}

bool
routes_path_target(const char *path, char *target, size_t size)
{
    return strncmp(path, native_prefix, strlen(native_prefix)) == 0 &&
           path_component(path, TARGET_COMPONENT, target, size);
}

/* The set that one word of --dialects names; 0: none of that name. */
static unsigned
find_dialect(const char *word, size_t length)
{
    size_t n;
    const Dialect *rows = dialects_table(&n);
    if (length == strlen("all") && strncmp(word, "all", length) == 0) {
        return ROUTE_DIALECT_ALL;
    }
    if (length == strlen("none") && strncmp(word, "none", length) == 0) {
        return ROUTE_DIALECT_NATIVE;
    }
    for (size_t i = 0; i < n; i++) {
        if (strlen(rows[i].name) == length && strncmp(rows[i].name, word, length) == 0) {
            return rows[i].dialect;
        }
    }
    return 0;
}

bool
routes_parse_dialects(const char *words, unsigned *dialects)
{
    unsigned found = ROUTE_DIALECT_NATIVE;
    for (const char *at = words;;) {
        size_t n = strcspn(at, ",");
        unsigned one = find_dialect(at, n);
        if (one == 0) {
            return false;
        }
        found |= one;
        if (at[n] == '\0') {
            break;
        }
        at += n + 1;
    }
    *dialects = found;
    return true;
}
