/* SPDX-License-Identifier: Apache-2.0 */
#include "routes/native-reply.h"

#include "routes/reply.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    MESSAGE_MAX = 1024,
    METHODS_MAX = 128,
};

void
native_begin(Json *json, RouteReply *reply, unsigned status)
{
    reply_begin(reply, status, REPLY_JSON);
    json_begin(json, reply);
    json_begin_object(json, NULL);
}

void
native_end(Json *json)
{
    json_end(json);
    reply_add(json->reply, "\n", 1);
}

void
native_time(Json *json, const char *name, uint64_t ms)
{
    if (ms == 0) {
        json_put_null(json, name);
    } else {
        json_seconds(json, name, ms);
    }
}

void
native_error(RouteReply *reply, unsigned status, const NativeError *error, const char *format, ...)
{
    char message[MESSAGE_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    Json json;
    native_begin(&json, reply, status);
    json_begin_object(&json, "error");
    json_text(&json, "code", error->code);
    json_text(&json, "message", message);
    json_text(&json, "hint", error->hint);
    json_end(&json);
    native_end(&json);
}

void
native_failure(RouteReply *reply, RouteResult result, const RouteFailure *failure)
{
    static const NativeError errors[] = {
        [ROUTE_DONE] = {"internal", "report this"},
        [ROUTE_CONTROL_FAILED] = {"control_failed", "jemalloc refused the call; its statistics and log tell more"},
        [ROUTE_NO_JEMALLOC] = {"no_jemalloc", "start the program under jescope run, or link it with jemalloc"},
        [ROUTE_NO_PROFILING] =
            {"profiling_unavailable",
             "restart the program with MALLOC_CONF=prof:true,prof_active:false, or under jescope run"},
        [ROUTE_NOT_ALLOWED] = {"not_allowed", "docs/protocol.md lists the controls that clients may write"},
        [ROUTE_BUSY] = {"busy", "wait for what is running, or end it first"},
        [ROUTE_CROWDED] = {"crowded", "ask again in a moment"},
        [ROUTE_NOT_FOUND] = {"not_found", "the list one level up has what is there"},
        [ROUTE_INVALID] = {"invalid", "docs/api.md tells what each parameter may be"},
        [ROUTE_GONE] = {"gone", "the process has ended; /api/v1/targets lists those that run"},
        [ROUTE_UNREACHABLE] = {"unreachable", "jescope ps tells why on the target's machine"},
        [ROUTE_SYSTEM] = {"system", "look at memory, disk space and limits where jescope runs"},
    };
    size_t row = (size_t)result < sizeof errors / sizeof errors[0] ? (size_t)result : ROUTE_SYSTEM;
    bool has_sentence = failure->why[0] != '\0';
    native_error(reply, reply_status(result), &errors[row], "%s",
                 has_sentence ? failure->why : reply_error_name(failure->error));
    reply_add_retry(reply);
}

/* Whether METHODS has the first N characters of METHOD as a word. */
static bool
has_word(const char *methods, const char *method, size_t n)
{
    for (const char *at = methods; (at = strstr(at, ", ")) != NULL;) {
        at += strlen(", ");
        if (strncmp(at, method, n) == 0 && (at[n] == ',' || at[n] == '\0')) {
            return true;
        }
    }
    return false;
}

/* LIST has a ", " before every word. */
static void
add_methods(char *list, size_t size, const char *methods)
{
    for (const char *at = methods; *at != '\0';) {
        size_t n = strcspn(at, "|");
        size_t used = strlen(list);
        if (!has_word(list, at, n) && used + n + strlen(", ") < size) {
            memcpy(list + used, ", ", strlen(", "));
            memcpy(list + used + strlen(", "), at, n);
            list[used + strlen(", ") + n] = '\0';
        }
        at += n + (at[n] == '|');
    }
}

void
native_allow(RouteReply *reply, const Route *route)
{
    char list[METHODS_MAX] = "";
    size_t n;
    const Route *rows = routes_table(&n);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(rows[i].pattern, route->pattern) == 0) {
            add_methods(list, sizeof list, rows[i].methods);
        }
    }
    reply_header(reply, "Allow", "%s", list + (list[0] != '\0' ? strlen(", ") : 0));
}
