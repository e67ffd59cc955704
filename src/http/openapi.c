/* SPDX-License-Identifier: Apache-2.0 */
#include "http/openapi.h"

#include "routes/table.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static void
operation_free(gpointer data)
{
    OpenapiOperation *operation = data;
    g_free(operation->method);
    g_free(operation->path);
    g_free(operation);
}

/* A rest that may be empty is left out. */
static char *
path_of(const char *pattern)
{
    return g_str_has_suffix(pattern, "/*") ? g_strndup(pattern, strlen(pattern) - strlen("/*")) : g_strdup(pattern);
}

/* Adds COMMON once for each of METHODS. HEAD goes without saying where there is GET. */
static void
add_operations(GPtrArray *operations, const OpenapiOperation *common, const char *methods, const char *pattern)
{
    g_auto(GStrv) each = g_strsplit(strcmp(methods, "*") == 0 ? "GET|POST" : methods, "|", -1);
    for (char **method = each; common->summary != NULL && *method != NULL; method++) {
        if (strcmp(*method, "HEAD") == 0)
            continue;
        OpenapiOperation *operation = g_memdup2(common, sizeof *common);
        operation->method = g_strdup(*method);
        operation->path = path_of(pattern);
        g_ptr_array_add(operations, operation);
    }
}

static const char *
group_of(const Route *route)
{
    gsize n;
    const Dialect *dialects = dialects_table(&n);
    for (gsize i = 0; i < n; i++) {
        if (dialects[i].dialect == route->dialect && route->dialect != ROUTE_DIALECT_NATIVE)
            return dialects[i].name;
    }
    return "target";
}

static void
add_route(GPtrArray *operations, const Route *route)
{
    g_auto(GStrv) methods = g_strsplit(route->methods, "|", 2);
    RouteRequest request = {.method = methods[0], .path = route->pattern, .query = "", .body = ""};
    OpenapiOperation common = {
        .group = group_of(route),
        .summary = route->summary,
        .parameters = route->parameters,
        .role = route->role(&request),
    };
    add_operations(operations, &common, route->methods, route->pattern);
}

GPtrArray *
openapi_operations(void)
{
    GPtrArray *operations = g_ptr_array_new_with_free_func(operation_free);
    gsize n;
    const ServiceRoute *service = service_routes_table(&n);
    for (gsize i = 0; i < n; i++) {
        OpenapiOperation common = {"service", NULL, NULL, service[i].summary, service[i].parameters, service[i].role};
        add_operations(operations, &common, service[i].methods, service[i].pattern);
    }
    const Route *routes = routes_table(&n);
    for (gsize i = 0; i < n; i++)
        add_route(operations, &routes[i]);
    return operations;
}

/* ---- the description ---- */

/* The schema of a RouteParameter's kind. */
static json_t *
schema_of(const char *kind)
{
    if (strchr(kind, '|') != NULL) {
        g_auto(GStrv) words = g_strsplit(kind, "|", -1);
        json_t *list = json_array();
        for (char **word = words; *word != NULL; word++)
            json_array_append_new(list, json_string(*word));
        return json_pack("{s:s,s:o}", "type", "string", "enum", list);
    }
    if (strcmp(kind, "integer") == 0 || strcmp(kind, "boolean") == 0)
        return json_pack("{s:s}", "type", kind);
    if (strcmp(kind, "fraction") == 0)
        return json_pack("{s:s}", "type", "number");
    if (strcmp(kind, "text") == 0)
        return json_pack("{s:s}", "type", "string");
    return json_pack("{s:s,s:s}", "type", "string", "format", kind);
}

static void
add_path_parameters(json_t *list, const char *path)
{
    g_auto(GStrv) components = g_strsplit(path, "/", -1);
    for (char **component = components; *component != NULL; component++) {
        gsize n = strlen(*component);
        if (n < 3 || (*component)[0] != '{')
            continue;
        g_autofree char *name = g_strndup(*component + 1, n - 2);
        json_array_append_new(list, json_pack("{s:s,s:s,s:b,s:o}", "name", name, "in", "path", "required", 1, "schema",
                                              schema_of("text")));
    }
}

static json_t *
parameters_of(const OpenapiOperation *operation)
{
    json_t *list = json_array();
    add_path_parameters(list, operation->path);
    for (const RouteParameter *row = operation->parameters; row != NULL && row->name != NULL; row++)
        json_array_append_new(list, json_pack("{s:s,s:s,s:s,s:o}", "name", row->name, "in", "query", "description",
                                              row->about, "schema", schema_of(row->kind)));
    return list;
}

/* "getTargetsTargetStatus" */
static char *
operation_id(const OpenapiOperation *operation)
{
    g_autofree char *method = g_ascii_strdown(operation->method, -1);
    GString *id = g_string_new(method);
    gboolean begins = FALSE;
    for (const char *at = operation->path; *at != '\0'; at++) {
        if (!g_ascii_isalnum(*at)) {
            begins = TRUE;
            continue;
        }
        g_string_append_c(id, begins ? g_ascii_toupper(*at) : *at);
        begins = FALSE;
    }
    return g_string_free(id, FALSE);
}

static json_t *
operation_json(const OpenapiOperation *operation)
{
    gboolean native = strcmp(operation->group, "service") == 0 || strcmp(operation->group, "target") == 0;
    g_autofree char *id = operation_id(operation);
    json_t *responses = json_pack("{s:{s:s}}", "200", "description", "Done");
    json_object_set_new(responses, "default",
                        native ? json_pack("{s:s}", "$ref", "#/components/responses/Failure")
                               : json_pack("{s:s}", "description", "As the system that spoke this first has it"));
    return json_pack("{s:s,s:s,s:[s],s:o,s:o,s:s}", "operationId", id, "summary", operation->summary, "tags",
                     operation->group, "parameters", parameters_of(operation), "responses", responses, "x-role",
                     operation->role == ROUTE_ROLE_CONTROL ? "control" : "read");
}

static json_t *
paths_json(void)
{
    g_autoptr(GPtrArray) operations = openapi_operations();
    json_t *paths = json_object();
    for (guint i = 0; i < operations->len; i++) {
        const OpenapiOperation *operation = operations->pdata[i];
        g_autofree char *method = g_ascii_strdown(operation->method, -1);
        json_t *path = json_object_get(paths, operation->path);
        if (path == NULL) {
            path = json_object();
            json_object_set_new(paths, operation->path, path);
        }
        json_object_set_new(path, method, operation_json(operation));
    }
    return paths;
}

static json_t *
components_json(void)
{
    json_t *text = json_pack("{s:s}", "type", "string");
    json_t *error = json_pack("{s:s,s:[s,s],s:{s:O,s:O,s:o}}", "type", "object", "required", "code", "message",
                              "properties", "code", text, "message", text, "hint", text);
    json_t *failure =
        json_pack("{s:s,s:[s],s:{s:o}}", "type", "object", "required", "error", "properties", "error", error);
    json_t *response = json_pack("{s:s,s:{s:{s:{s:s}}}}", "description", "What went wrong, and the way out", "content",
                                 "application/json", "schema", "$ref", "#/components/schemas/Failure");
    return json_pack("{s:{s:o},s:{s:o},s:{s:{s:s,s:s}}}", "schemas", "Failure", failure, "responses", "Failure",
                     response, "securitySchemes", "token", "type", "http", "scheme", "bearer");
}

GBytes *
openapi_write(void)
{
    json_t *whole = json_pack("{s:s,s:{s:s,s:s,s:s},s:o,s:o,s:[{},{s:[]}]}", "openapi", "3.0.3", "info", "title",
                              "jescope", "version", JESCOPE_VERSION, "description",
                              "What holds the memory of services that use jemalloc. Paths of dialects are also "
                              "there behind /targets/{target}.",
                              "paths", paths_json(), "components", components_json(), "security", "token");
    char *text = json_dumps(whole, JSON_COMPACT);
    json_decref(whole);
    return g_bytes_new_with_free_func(text, strlen(text), free, text);
}

void
openapi_answer(Site *site, Exchange *exchange)
{
    exchange_answer(exchange, answer_new(200, "application/json", openapi_write(),
                                         exchange_accepts_gzip(exchange) ? ANSWER_GZIP : ANSWER_PLAIN));
}
