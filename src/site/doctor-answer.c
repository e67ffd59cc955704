/* SPDX-License-Identifier: Apache-2.0 */
/* "/api/v1/targets/{target}/doctor": why a target holds its memory. */
#include "site/table.h"

#include "routes/native-parameters.h"
#include "routes/native-reply.h"
#include "routes/reply.h"
#include "service/service.h"

enum {
    WATCH_MS = 30000,
};

static void
doctor_answer(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    uint64_t watch_ms = WATCH_MS;
    int descriptor = -1;
    Failure failure = {0};
    if (!native_read(request, NATIVE_WATCH, "for", &watch_ms, reply))
        return;
    Outcome result = service_work_examine(host, watch_ms, &descriptor, &failure);
    if (result != OUTCOME_DONE) {
        native_failure(reply, result, &failure);
        return;
    }
    reply_file(reply, REPLY_JSON, descriptor);
}

static const RouteParameter parameters[] = {
    {"for", "duration", "how long it is watched (default 30s, at most 5m)"},
    {0},
};

static const Route rows[] = {
    {ROUTE_DIALECT_NATIVE, "GET|HEAD", "/api/v1/targets/{target}/doctor",
     "watch the target, and say why it holds its memory, the likeliest cause first; what is kept of the process "
     "counts, too",
     .parameters = parameters, .flags = ROUTE_WATCHING, .answer = doctor_answer},
};

const RouteTable doctor_answer_routes = {rows, G_N_ELEMENTS(rows)};
