/* SPDX-License-Identifier: Apache-2.0 */
#include "routes/native-parameters.h"

#include "routes/native-reply.h"
#include "routes/values.h"

#include <string.h>

static const uint64_t duration_max_ms = UINT64_C(30) * 86400 * 1000; /* what an agent takes as a lease */

void
native_refuse(RouteReply *reply, const char *name, const char *value, const char *must)
{
    native_error(reply, 400, &(NativeError){"invalid_parameter", "docs/api.md tells what each parameter may be"},
                 "%s: '%s' is not possible; it must be %s", name, value, must);
}

QueryState
native_find(const RouteRequest *request, const char *name, QueryValue *value)
{
    if (query_find(request->query, name, value) == QUERY_ABSENT) {
        query_find_in(request->body, request->body_size, name, value);
    }
    return value->state;
}

/* ---- what is there that should not be ---- */

static bool
is_known(const RouteParameter *parameters, const char *name)
{
    for (; parameters != NULL && parameters->name != NULL; parameters++) {
        if (strcmp(parameters->name, name) == 0) {
            return true;
        }
    }
    return false;
}

static void
refuse_name(const Route *route, const char *name, RouteReply *reply)
{
    char known[ROUTE_WHY_MAX] = "";
    for (const RouteParameter *row = route->parameters; row != NULL && row->name != NULL; row++) {
        size_t used = strlen(known);
        size_t n = strlen(row->name);
        if (used + n + strlen(", ") < sizeof known) {
            strcpy(known + used, used > 0 ? ", " : "");
            strcat(known, row->name);
        }
    }
    native_error(reply, 400, &(NativeError){"unknown_parameter", "docs/api.md has the parameters of every path"},
                 "there is no parameter '%s' here; %s%s", name, known[0] != '\0' ? "possible: " : "none is taken",
                 known);
}

/* Those of one text, a query or a form. */
static bool
check_text(const Route *route, const char *text, size_t size, RouteReply *reply)
{
    QueryValue name, value;
    for (const char *at = text; query_next(&at, text + size, &name);) {
        if (name.state == QUERY_LONG || !is_known(route->parameters, name.text)) {
            refuse_name(route, name.text, reply);
            return false;
        }
        if (query_find_in(text, size, name.text, &value) == QUERY_LONG) {
            native_error(reply, 400, &(NativeError){"invalid_parameter", "shorten it"}, "%s: over %d characters",
                         name.text, QUERY_VALUE_MAX - 1);
            return false;
        }
    }
    return true;
}

bool
native_check(const Route *route, const RouteRequest *request, RouteReply *reply)
{
    if (request->body_size > 0 && (request->body[0] == '{' || request->body[0] == '[')) {
        native_error(reply, 415, &(NativeError){"unsupported_body", "send for=10s, in the query or as the body"},
                     "parameters are a form or a query, not JSON");
        return false;
    }
    if (memchr(request->body, '\0', request->body_size) != NULL) {
        native_error(reply, 400, &(NativeError){"invalid_parameter", "leave it out"}, "a form has no NUL in it");
        return false;
    }
    return check_text(route, request->query, strlen(request->query), reply) &&
           check_text(route, request->body, request->body_size, reply);
}

/* ---- values ---- */

typedef enum {
    GIVEN, /* to be parsed */
    LEFT_OUT,
    MISSING, /* and the reply says so */
} Presence;

static Presence
fetch(const RouteRequest *request, const char *name, NativeNeed need, QueryValue *value, RouteReply *reply)
{
    if (native_find(request, name, value) != QUERY_ABSENT) {
        return GIVEN;
    }
    if (need == NATIVE_OPTIONAL) {
        return LEFT_OUT;
    }
    native_error(reply, 400, &(NativeError){"missing_parameter", "docs/api.md has the parameters of every path"},
                 "the parameter '%s' is missing", name);
    return MISSING;
}

bool
native_duration(const RouteRequest *request, const char *name, NativeNeed need, uint64_t *ms, RouteReply *reply)
{
    QueryValue value;
    double parsed;
    Presence presence = fetch(request, name, need, &value, reply);
    if (presence != GIVEN) {
        return presence == LEFT_OUT;
    }
    if (!value_duration(value.text, &parsed) || parsed < 1 || parsed > (double)duration_max_ms) {
        native_refuse(reply, name, value.text, "a duration like 90s, 5m or 1h30m, of 30 days at most");
        return false;
    }
    *ms = (uint64_t)parsed;
    return true;
}

bool
native_size(const RouteRequest *request, const char *name, NativeNeed need, uint64_t *bytes, RouteReply *reply)
{
    QueryValue value;
    Presence presence = fetch(request, name, need, &value, reply);
    if (presence != GIVEN) {
        return presence == LEFT_OUT;
    }
    if (!value_size(value.text, bytes)) {
        native_refuse(reply, name, value.text, "a size like 512KiB or 64K");
        return false;
    }
    return true;
}

bool
native_number(const RouteRequest *request, const char *name, NativeNeed need, uint64_t *number, RouteReply *reply)
{
    QueryValue value;
    Presence presence = fetch(request, name, need, &value, reply);
    if (presence != GIVEN) {
        return presence == LEFT_OUT;
    }
    if (!value_unsigned(value.text, number)) {
        native_refuse(reply, name, value.text, "a number");
        return false;
    }
    return true;
}

bool
native_signed(const RouteRequest *request, const char *name, NativeNeed need, int64_t *number, RouteReply *reply)
{
    QueryValue value;
    Presence presence = fetch(request, name, need, &value, reply);
    if (presence != GIVEN) {
        return presence == LEFT_OUT;
    }
    if (!value_signed(value.text, number)) {
        native_refuse(reply, name, value.text, "a number, with a '-' before it perhaps");
        return false;
    }
    return true;
}

bool
native_boolean(const RouteRequest *request, const char *name, NativeNeed need, bool *value, RouteReply *reply)
{
    QueryValue text;
    Presence presence = fetch(request, name, need, &text, reply);
    if (presence != GIVEN) {
        return presence == LEFT_OUT;
    }
    if (text.state == QUERY_BARE) {
        *value = true;
    } else if (!value_boolean(text.text, value)) {
        native_refuse(reply, name, text.text, "true or false");
        return false;
    }
    return true;
}
