/* SPDX-License-Identifier: Apache-2.0 */
/* "/api/v1/rules": the state of each rule on each target. */
#include "site/offload.h"
#include "site/table.h"

#include "routes/json.h"
#include "routes/reply.h"

/* The rows go into the reply, which is in a file once it is long: a tree of them took 1 KB for each, which stayed in
 * the heap of the thread. */
static void
write_standing(const RuleStanding *standing, gpointer data)
{
    Json *json = data;
    const gint64 ago_us = MAX(g_get_monotonic_time() - standing->last_us, 0);
    json_begin_object(json, NULL);
    json_text(json, "rule", standing->rule->name);
    json_text(json, "place", standing->rule->place);
    json_text(json, "series", standing->series);
    json_text(json, "state", rule_state_name(standing->state));
    json_text(json, "reason", rule_reason_name(standing->reason));
    json_text(json, "why", standing->why);
    json_number(json, "fired", standing->fired);
    if (standing->last_us != 0)
        json_seconds(json, "fired_ago", (guint64)ago_us / 1000);
    else
        json_put_null(json, "fired_ago");
    json_end(json);
}

/* Files are only named to clients that may see all targets. */
static void
write_problems(Json *json, Site *site, Viewer viewer)
{
    g_autoptr(GPtrArray) problems = service_rules_problems(site->service);
    json_begin_array(json, "problems");
    for (guint i = 0; viewer == VIEWER_ALL && i < problems->len; i++)
        json_text(json, NULL, problems->pdata[i]);
    json_end(json);
}

typedef struct {
    Site *site;
    Viewer viewer;
} Ask;

/* FALSE: the rules were replaced meanwhile. */
static gboolean
write_states(const Ask *ask, RouteReply *reply)
{
    Json json;
    reply_begin(reply, 200, REPLY_JSON);
    json_begin(&json, reply);
    json_begin_object(&json, NULL);
    json_begin_array(&json, "rules");
    const gboolean complete = service_rules_each(ask->site->service, ask->viewer, write_standing, &json);
    json_end(&json);
    write_problems(&json, ask->site, ask->viewer);
    json_end(&json);
    reply_add(reply, "\n", 1);
    return complete;
}

/* There may be thousands of targets of a user, and a state for each rule. */
static void
answer_states(gpointer data, gint *left, RouteReply *reply)
{
    while (!write_states(data, reply) && offload_is_wanted(left))
        ;
}

static void
rules_answer(Site *site, Exchange *exchange)
{
    const Ask ask = {site, exchange_viewer(exchange)};
    offload(site, exchange,
            &(Offload){.answer = answer_states, .data = g_memdup2(&ask, sizeof(ask)), .free_data = g_free});
}

static const Route rows[] = {
    {ROUTE_DIALECT_NATIVE, "GET|HEAD", "/api/v1/rules", "state of each rule on each target, and why it did not fire",
     .serve = rules_answer},
};

const RouteTable rules_answer_routes = {rows, G_N_ELEMENTS(rows)};
