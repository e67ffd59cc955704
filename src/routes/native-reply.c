/* SPDX-License-Identifier: Apache-2.0 */
#include "routes/native-reply.h"

#include "routes/path.h"
#include "routes/reply.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    MESSAGE_MAX = 1024,
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
    if (ms == 0)
        json_put_null(json, name);
    else
        json_seconds(json, name, ms);
}

void
native_error(RouteReply *reply, unsigned status, const NativeError *error, const char *format, ...)
{
    char message[MESSAGE_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof(message), format, arguments);
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
native_failure(RouteReply *reply, Outcome result, const Failure *failure)
{
    const OutcomeRow *row = outcome_row(result != OUTCOME_DONE ? result : OUTCOME_SYSTEM);
    bool has_sentence = failure->why[0] != '\0';
    native_error(reply, row->http, &(NativeError){row->code, row->hint}, "%s",
                 has_sentence ? failure->why : error_name(failure->error));
    reply_add_retry(reply);
}

void
native_location(RouteReply *reply, const RouteRequest *request, uint64_t id)
{
    char path[ROUTE_HEADERS_MAX];
    path_encode(request->path, path, sizeof(path));
    size_t n = strlen(path);
    bool has_slash = n > 0 && path[n - 1] == '/'; /* ignored in the native API */
    reply_header(reply, "Location", "%.*s/%llu", (int)(has_slash ? n - 1 : n), path, (unsigned long long)id);
}
