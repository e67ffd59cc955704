/* SPDX-License-Identifier: Apache-2.0 */
#include "http/root.h"

#include "http/service-routes.h"

#include <jansson.h>
#include <string.h>

static const char page_begin[] =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>jescope</title>\n"
    "<style>body{font:16px/1.5 sans-serif;max-width:60em;margin:2em auto;padding:0 1em;color-scheme:light dark}"
    "td,th{text-align:left;padding:0 1.5em 0 0}</style></head>\n<body><h1>jescope</h1>\n";

static void
append_target(GString *page, const ServiceTarget *target)
{
    const char *id = service_target_id(target);
    g_autofree char *name = g_markup_escape_text(service_target_label(target), -1);
    g_string_append_printf(page,
                           "<tr><td>%s</td><td><a href=\"/api/v1/targets/%s\">status</a></td>"
                           "<td><a href=\"/api/v1/targets/%s/statistics?format=text\">statistics</a></td></tr>\n",
                           name, id, id);
}

void
root_answer_page(Site *site, Exchange *exchange)
{
    GString *page = g_string_new(page_begin);
    g_autoptr(GPtrArray) targets = service_targets(site->service);
    g_string_append(page, "<table><tr><th>target</th></tr>\n");
    for (guint i = 0; i < targets->len; i++)
        if (service_target_state(targets->pdata[i]) == SERVICE_TARGET_LIVE)
            append_target(page, targets->pdata[i]);
    g_string_append(page, "</table>\n<p>Programs ask <a href=\"/api/v1\">the API</a>.</p></body></html>\n");
    exchange_answer(exchange, answer_new(200, "text/html; charset=utf-8", g_string_free_to_bytes(page), ANSWER_PLAIN));
}

static void
add_path(json_t *paths, const char *methods, const char *pattern, const char *summary)
{
    if (summary != NULL)
        json_array_append_new(paths,
                              json_pack("{s:s, s:s, s:s}", "methods", methods, "path", pattern, "summary", summary));
}

void
root_answer_index(Site *site, Exchange *exchange)
{
    size_t n;
    json_t *paths = json_array();
    const ServiceRoute *pages = service_routes_table(&n);
    for (size_t i = 0; i < n; i++)
        add_path(paths, pages[i].methods, pages[i].pattern, pages[i].summary);
    const Route *routes = routes_table(&n);
    for (size_t i = 0; i < n; i++)
        if ((routes[i].dialect & site->dialects) != 0)
            add_path(paths, routes[i].methods, routes[i].pattern, routes[i].summary);
    json_t *index = json_pack("{s:s, s:s, s:o}", "name", "jescope", "version", JESCOPE_VERSION, "paths", paths);
    char *text = json_dumps(index, JSON_COMPACT);
    GBytes *body = g_bytes_new_with_free_func(text, strlen(text), free, text);
    json_decref(index);
    exchange_answer(exchange, answer_new(200, "application/json", body, ANSWER_PLAIN));
}

void
root_answer_health(Site *site, Exchange *exchange)
{
    exchange_answer(exchange, answer_new(200, "text/plain", g_bytes_new_static("ok\n", strlen("ok\n")), ANSWER_PLAIN));
}
