/* SPDX-License-Identifier: Apache-2.0 */
#include "routes/native.h"

#include "routes/native-parameters.h"
#include "routes/native-reply.h"
#include "routes/reply.h"

#include <stdio.h>
#include <string.h>

/* False: the reply is the error. */
static bool
read_letters(const RouteRequest *request, bool json, char *letters, size_t size, RouteReply *reply)
{
    QueryValue options;
    native_find(request, "options", &options);
    if (strspn(options.text, "abdeghlmx") != strlen(options.text) || strlen(options.text) + 2 > size) {
        native_refuse(reply, "options", options.text, "letters of malloc_stats_print(): of abdeghlmx");
        return false;
    }
    snprintf(letters, size, "%s%s", json ? "J" : "", options.text);
    return true;
}

static void
native_statistics(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    char letters[WIRE_LETTERS_MAX];
    Failure failure = {0};
    QueryValue format;
    int descriptor = -1;
    native_find(request, "format", &format);
    bool json = format.state == QUERY_ABSENT || strcmp(format.text, "json") == 0;
    if (!json && strcmp(format.text, "text") != 0) {
        native_refuse(reply, "format", format.text, "json or text");
        return;
    }
    if (!read_letters(request, json, letters, sizeof(letters), reply))
        return;
    Outcome result = host->ops->stats(host->data, letters, &descriptor, &failure);
    if (result == OUTCOME_DONE)
        reply_file(reply, json ? REPLY_JSON : REPLY_UTF8, descriptor);
    else
        native_failure(reply, result, &failure);
}

static const RouteParameter statistics_parameters[] = {
    {"format", "json|text", "output format (default json)"},
    {"options", "text", "sections to omit (option letters of malloc_stats_print(3))"},
    {0},
};

static const Route rows[] = {
    {ROUTE_DIALECT_NATIVE, "GET|HEAD", NATIVE_PATH "/statistics", "current statistics",
     .parameters = statistics_parameters, .flags = ROUTE_PRINTING, .answer = native_statistics},
};

const RouteTable native_statistics_routes = {rows, sizeof(rows) / sizeof(rows[0])};
