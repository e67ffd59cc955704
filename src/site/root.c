/* SPDX-License-Identifier: Apache-2.0 */
/* The pages about the server itself. */
#include "site/root.h"

#include "site/site.h"
#include "site/table.h"
#include "site/web-page.h"

#include <jansson.h>
#include <string.h>

static const char list_begin[] =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>jescope</title>\n"
    "<style>body{font:16px/1.5 sans-serif;max-width:60em;margin:2em auto;padding:0 1em;color-scheme:light "
    "dark}td,th{text-align:left;padding:0 1.5em 0 0}</style></head>\n<body><h1>jescope</h1>\n";

static void
append_target(GString *page, const ServiceTarget *target)
{
    const char *id = service_target_unique(target);
    g_autofree char *name = g_markup_escape_text(service_target_label(target), -1);
    g_string_append_printf(page,
                           "<tr><td>%s</td><td><a href=\"/api/v1/targets/%s\">status</a></td><td><a "
                           "href=\"/api/v1/targets/%s/statistics?format=text\">statistics</a></td></tr>\n",
                           name, id, id);
}

/* For clients other than browsers, and for browsers if the page was not built. */
static void
answer_list(const Site *site, Exchange *exchange)
{
    GString *page = g_string_new(list_begin);
    g_autoptr(GPtrArray) targets = service_targets(site->service, exchange_viewer(exchange));
    g_string_append(page, "<table><tr><th>target</th></tr>\n");
    for (guint i = 0; i < targets->len; i++)
        if (service_target_state(targets->pdata[i]) == SERVICE_TARGET_LIVE)
            append_target(page, targets->pdata[i]);
    g_string_append(page, "</table>\n");
    if (site->page == NULL)
        g_string_append(page, "<p>This jescope was built without esbuild, and so without its page.</p>\n");
    g_string_append(page, "<p>Programs use <a href=\"/api/v1\">the API</a>.</p></body></html>\n");
    exchange_answer(exchange, answer_new(200, "text/html; charset=utf-8", g_string_free_to_bytes(page), ANSWER_PLAIN));
}

static void
answer_asset(const Site *site, Exchange *exchange, const char *path)
{
    AnswerCoding coding = exchange_accepts_gzip(exchange) ? ANSWER_GZIP : ANSWER_PLAIN;
    Answer *asset = site->page != NULL ? web_page_answer(site->page, path, coding) : NULL;
    if (asset != NULL)
        exchange_answer(exchange, asset);
    else
        exchange_fail(exchange, &(AnswerFailure){
                                    .status = 404,
                                    .code = "not_found",
                                    .message = "the page has no part of this name",
                                    .hint = "reload the page: the server may have been replaced by another version",
                                });
}

static void
root_answer_asset(Site *site, Exchange *exchange)
{
    answer_asset(site, exchange, exchange_request(exchange)->path);
}

gboolean
root_is_for_browser(const Exchange *exchange)
{
    const char *accept = exchange_header(exchange, "Accept");
    return accept != NULL && strstr(accept, "text/html") != NULL;
}

static void
root_answer_page(Site *site, Exchange *exchange)
{
    if (site->page != NULL && root_is_for_browser(exchange))
        answer_asset(site, exchange, "/");
    else
        answer_list(site, exchange);
}

static void
root_answer_index(Site *site, Exchange *exchange)
{
    json_t *paths = json_array();
    for (const RouteTable *const *table = site->tables; *table != NULL; table++)
        for (const Route *row = (*table)->rows; row < (*table)->rows + (*table)->n; row++)
            if (row->summary != NULL && (row->dialect & site->dialects) != 0)
                json_array_append_new(paths, json_pack("{s:s, s:s, s:s}", "methods", row->methods, "path", row->pattern,
                                                       "summary", row->summary));
    json_t *index = json_pack("{s:s, s:s, s:o}", "name", "jescope", "version", JESCOPE_VERSION, "paths", paths);
    char *text = json_dumps(index, JSON_COMPACT | JSON_ENSURE_ASCII);
    GBytes *body = g_bytes_new_with_free_func(text, strlen(text), free, text);
    json_decref(index);
    exchange_answer(exchange, answer_new(200, "application/json", body, ANSWER_PLAIN));
}

static void
root_answer_health(Site *site, Exchange *exchange)
{
    exchange_answer(exchange, answer_new(200, "text/plain", g_bytes_new_static("ok\n", strlen("ok\n")), ANSWER_PLAIN));
}

static const Route rows[] = {
    {ROUTE_DIALECT_NATIVE, "GET|HEAD", "/", NULL, .flags = ROUTE_OPEN, .serve = root_answer_page},
    {ROUTE_DIALECT_NATIVE, "GET|HEAD", "/assets/{name}", NULL, .flags = ROUTE_OPEN, .serve = root_answer_asset},
    {ROUTE_DIALECT_NATIVE, "GET|HEAD", "/healthz", "whether the server runs", .serve = root_answer_health},
    {ROUTE_DIALECT_NATIVE, "GET|HEAD", "/api/v1", "list of endpoints", .serve = root_answer_index},
};

const RouteTable root_routes = {rows, G_N_ELEMENTS(rows)};
