/* SPDX-License-Identifier: Apache-2.0 */
/* "/api/v1/rules": the state of each rule on each target. */
#include "site/site.h"
#include "site/table.h"

#include "routes/reply.h"

#include <jansson.h>
#include <stdlib.h>

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

static void
rules_answer(Site *site, Exchange *exchange)
{
    Viewer viewer = exchange_viewer(exchange);
    json_t *rules = json_array();
    service_rules_each(site->service, viewer, add_standing, rules);
    json_t *document = json_pack("{s:o, s:o}", "rules", rules, "problems", list_problems(site, viewer));
    char *text = json_dumps(document, JSON_COMPACT);
    GString *body = g_string_new(text);
    free(text);
    json_decref(document);
    g_string_append_c(body, '\n');
    exchange_answer(exchange, answer_new(200, REPLY_JSON, g_string_free_to_bytes(body),
                                         exchange_accepts_gzip(exchange) ? ANSWER_GZIP : ANSWER_PLAIN));
}

static const Route rows[] = {
    {ROUTE_DIALECT_NATIVE, "GET|HEAD", "/api/v1/rules", "state of each rule on each target, and why it did not fire",
     .serve = rules_answer},
};

const RouteTable rules_answer_routes = {rows, G_N_ELEMENTS(rows)};
