/* SPDX-License-Identifier: Apache-2.0 */
/* "/api/v1/targets": the status of every target. */
#include "site/site.h"
#include "site/table.h"

#include "routes/json.h"
#include "routes/query.h"
#include "routes/reply.h"
#include "routes/status.h"

#include <string.h>
#include <unistd.h>

/* The words of the parameter "state". */
static const struct {
    const char *word;
    gboolean live;
    gboolean gone;
} choices[] = {{"live", TRUE, FALSE}, {"gone", FALSE, TRUE}, {"all", TRUE, TRUE}};

static void
append_body(GString *text, RouteReply *reply)
{
    gsize before = text->len;
    if (reply->descriptor < 0) {
        g_string_append_len(text, reply->body, (gssize)reply->body_size);
        return;
    }
    g_string_set_size(text, before + reply->body_size);
    if (pread(reply->descriptor, text->str + before, reply->body_size, 0) != (ssize_t)reply->body_size)
        g_string_overwrite(g_string_truncate(text, before), before, "null");
    close(reply->descriptor);
}

/* Each separately, since a reply that grows is in a memfd, which takes a system call for every word. */
static void
add_target(GString *text, ServiceTarget *target)
{
    RouteReply reply = {.descriptor = -1};
    RouteStatus status;
    Json json;
    service_target_status(target, &status);
    reply_begin(&reply, 200, REPLY_JSON);
    json_begin(&json, &reply);
    json_begin_object(&json, NULL);
    status_add(&json, &status);
    json_end(&json);
    append_body(text, &reply);
}

/* FALSE: invalid value of the parameter. */
static gboolean
find_choice(const RouteRequest *request, size_t *choice)
{
    QueryValue value;
    if (query_find(request->query, "state", &value) == QUERY_ABSENT) {
        *choice = 0;
        return TRUE;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(choices); i++)
        if (strcmp(value.text, choices[i].word) == 0) {
            *choice = i;
            return TRUE;
        }
    return FALSE;
}

static void
target_list_answer(Site *site, Exchange *exchange)
{
    size_t choice;
    if (!find_choice(exchange_request(exchange), &choice)) {
        exchange_fail(exchange, &(AnswerFailure){.status = 400,
                                                 .code = "invalid_parameter",
                                                 .message = "'state' must be live, gone or all",
                                                 .hint = "leave it out for live targets"});
        return;
    }
    GString *text = g_string_new("{\"targets\":[");
    g_autoptr(GPtrArray) targets = service_targets(site->service, exchange_viewer(exchange));
    const char *between = "";
    for (guint i = 0; i < targets->len; i++) {
        gboolean live = service_target_state(targets->pdata[i]) == SERVICE_TARGET_LIVE;
        if (!(live ? choices[choice].live : choices[choice].gone))
            continue;
        g_string_append(text, between);
        add_target(text, targets->pdata[i]);
        between = ",";
    }
    g_string_append(text, "]}\n");
    exchange_answer(exchange, answer_new(200, REPLY_JSON, g_string_free_to_bytes(text),
                                         exchange_accepts_gzip(exchange) ? ANSWER_GZIP : ANSWER_PLAIN));
}

static const RouteParameter parameters[] = {
    {"state", "live|gone|all", "which targets (default live)"},
    {0},
};

static const Route rows[] = {
    {ROUTE_DIALECT_NATIVE, "GET|HEAD", "/api/v1/targets", "list of targets, with their latest sample",
     .parameters = parameters, .serve = target_list_answer},
};

const RouteTable target_list_routes = {rows, G_N_ELEMENTS(rows)};
