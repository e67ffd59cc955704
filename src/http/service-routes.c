/* SPDX-License-Identifier: Apache-2.0 */
#include "http/service-routes.h"

#include "http/events.h"
#include "http/openapi.h"
#include "http/root.h"
#include "http/scrape.h"
#include "http/sd.h"
#include "http/series-answer.h"
#include "http/target-list.h"

#include "routes/path.h"
#include "routes/query.h"

#include <string.h>

static const RouteParameter target_parameters[] = {
    {"state", "live|gone|all", "which targets; live ones by default"},
    {0},
};

static const RouteParameter scrape_parameters[] = {
    {"target", "id", "this target alone, without jescope's own figures"},
    {0},
};

static const RouteParameter series_parameters[] = {
    {"metric", "text", "METRIC[@ARENA[/ITEM]] as 'jescope series' takes it, several with ',' between them; needed"},
    {"from", "text", "begin here: seconds since 1970, -2h, or 2026-11-21T14:05:00Z"},
    {"to", "text", "end before this"},
    {"step", "duration", "one point for this much time instead of one per sample"},
    {"each", "mean|min|max|last", "how the samples of a step become one"},
    {"rate", "boolean", "the change per second, for counters"},
    {"format", "json|csv|openmetrics|table|svg", "json by default"},
    {0},
};

static const ServiceRoute rows[] = {
    {"GET|HEAD", "/", NULL, NULL, 0, ROUTE_ROLE_READ, root_answer_page},
    {"GET|HEAD", "/healthz", "whether the server runs", NULL, 0, ROUTE_ROLE_READ, root_answer_health},
    {"GET|HEAD", "/api/v1", "what there is to ask for", NULL, 0, ROUTE_ROLE_READ, root_answer_index},
    {"GET|HEAD", "/api/v1/targets", "the processes that can be asked, with their latest sample", target_parameters, 0,
     ROUTE_ROLE_READ, target_list_answer},
    {"GET|HEAD", "/api/v1/targets/{target}/series", "statistics over time, through the target's restarts",
     series_parameters, 0, ROUTE_ROLE_READ, series_answer},
    {"GET|HEAD", "/api/v1/events", "what happens, as Server-Sent Events", NULL, 0, ROUTE_ROLE_READ, events_answer},
    {"GET|HEAD", "/api/v1/sd", "where each target is scraped: Prometheus' HTTP service discovery", NULL, 0,
     ROUTE_ROLE_READ, sd_answer},
    {"GET|HEAD", "/api/v1/openapi.json", "this API's description as OpenAPI", NULL, 0, ROUTE_ROLE_READ, openapi_answer},
    {"GET|HEAD", "/metrics", "statistics of every target and of jescope itself, for Prometheus", scrape_parameters, 0,
     ROUTE_ROLE_READ, scrape_answer},
};

const ServiceRoute *
service_routes_table(size_t *n)
{
    *n = G_N_ELEMENTS(rows);
    return rows;
}

static gboolean
has_method(const ServiceRoute *route, const char *method)
{
    g_auto(GStrv) words = g_strsplit(route->methods, "|", -1);
    return g_strv_contains((const char *const *)words, method);
}

RouteMatch
service_routes_find(const RouteRequest *request, const ServiceRoute **route)
{
    RouteMatch match = ROUTE_UNKNOWN_PATH;
    for (size_t i = 0; i < G_N_ELEMENTS(rows) && match != ROUTE_MATCHED; i++)
        if (path_matches(rows[i].pattern, request->path)) {
            *route = &rows[i];
            match = has_method(&rows[i], request->method) ? ROUTE_MATCHED : ROUTE_WRONG_METHOD;
        }
    return match;
}

static gboolean
has_parameter(const ServiceRoute *route, const char *name)
{
    for (const RouteParameter *row = route->parameters; row != NULL && row->name != NULL; row++)
        if (strcmp(row->name, name) == 0)
            return TRUE;
    return FALSE;
}

static Answer *
refuse_parameter(const ServiceRoute *route, const char *name)
{
    g_autoptr(GString) message = g_string_new(NULL);
    g_string_append_printf(message, "there is no parameter '%s' here; ", name);
    if (route->parameters == NULL)
        g_string_append(message, "none is taken");
    for (const RouteParameter *row = route->parameters; row != NULL && row->name != NULL; row++)
        g_string_append_printf(message, "%s%s", row == route->parameters ? "possible: " : ", ", row->name);
    return answer_new_failure(&(AnswerFailure){
        .status = 400,
        .code = "unknown_parameter",
        .message = message->str,
        .hint = "docs/api.md has the parameters of every path",
    });
}

Answer *
service_routes_check(const ServiceRoute *route, const RouteRequest *request)
{
    QueryValue name;
    const char *at = request->query;
    if (route->summary == NULL)
        return NULL;
    while (query_next(&at, request->query + strlen(request->query), &name))
        if (!has_parameter(route, name.text))
            return refuse_parameter(route, name.text);
    return NULL;
}
