/* SPDX-License-Identifier: Apache-2.0 */
/* "/api/v1/rules": the state of each rule on each target. */
#include "site/offload.h"
#include "site/table.h"

#include "routes/reply.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static void
add_standing(const RuleStanding *standing, gpointer data)
{
    gint64 ago_us = standing->last_us != 0 ? g_get_monotonic_time() - standing->last_us : 0;
    json_array_append_new(data,
                          json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:i, s:o}", "rule", standing->rule->name, "place",
                                    standing->rule->place, "series", standing->series, "state",
                                    rule_state_name(standing->state), "reason", rule_reason_name(standing->reason),
                                    "why", standing->why, "fired", (int)standing->fired, "fired_ago",
                                    standing->last_us != 0 ? json_real((double)ago_us / G_USEC_PER_SEC) : json_null()));
}

/* Files are only named to clients that may see all targets. */
static json_t *
list_problems(Site *site, Viewer viewer)
{
    g_autoptr(GPtrArray) problems = service_rules_problems(site->service);
    json_t *list = json_array();
    for (guint i = 0; viewer == VIEWER_ALL && i < problems->len; i++)
        json_array_append_new(list, json_string(problems->pdata[i]));
    return list;
}

typedef struct {
    Site *site;
    Viewer viewer;
} Ask;

/* There may be thousands of targets of a user, and a state for each rule. */
static void
answer_states(gpointer data, gint *left, RouteReply *reply)
{
    const Ask *ask = data;
    json_t *rules = json_array();
    service_rules_each(ask->site->service, ask->viewer, add_standing, rules);
    json_t *document = json_pack("{s:o, s:o}", "rules", rules, "problems", list_problems(ask->site, ask->viewer));
    char *text = json_dumps(document, JSON_COMPACT | JSON_ENSURE_ASCII);
    json_decref(document);
    reply_begin(reply, 200, REPLY_JSON);
    reply_add(reply, text, strlen(text));
    reply_add(reply, "\n", 1);
    free(text);
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
