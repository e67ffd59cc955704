/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/local-ask.h"

#include "tui/route-ask.h"

typedef struct {
    guint id;
    RouteAsk *ask;
} Asked;

static void
free_asked(gpointer data)
{
    Asked *asked = data;
    route_ask_free(asked->ask);
    g_free(asked);
}

static void
free_answer(gpointer data)
{
    LocalAnswer *answer = data;
    g_clear_error(&answer->error);
    g_free(answer->body);
    g_free(answer);
}

static gpointer
answer(const RouteHost *host, gpointer data)
{
    const Asked *asked = data;
    LocalAnswer *result = g_new0(LocalAnswer, 1);
    result->id = asked->id;
    result->body = route_ask_answer(asked->ask, host, &result->error);
    return result;
}

void
local_ask_prepare(ServiceWork *work, ServiceTarget *target, const LocalQuestion *question)
{
    Asked *asked = g_new0(Asked, 1);
    asked->id = question->id;
    asked->ask = route_ask_new(service_target_id(target), question->method, question->path);
    *work = (ServiceWork){.pace = route_ask_is_slow(asked->ask) ? SERVICE_SLOW : SERVICE_QUICK,
                          .who = "jescope top",
                          .func = answer,
                          .data = asked,
                          .free_data = free_asked,
                          .free_result = free_answer};
}
