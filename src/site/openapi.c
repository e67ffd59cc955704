/* SPDX-License-Identifier: Apache-2.0 */
#include "site/openapi.h"

#include "site/table.h"

#include "site/openapi-schemas.h"

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

/* A rest that may be empty is omitted, and so is a trailing slash. */
static char *
path_of(const char *pattern)
{
    gsize size = strlen(pattern);
    if (size > 1 && pattern[size - 1] == '/')
        return g_strndup(pattern, size - 1);
    return g_str_has_suffix(pattern, "/*") ? g_strndup(pattern, strlen(pattern) - strlen("/*")) : g_strdup(pattern);
}

static const char *
group_of(const Route *route)
{
    if (route->dialect != ROUTE_DIALECT_NATIVE)
        return dialect_of(route, NULL)->name;
    return route->serve != NULL ? "service" : "target";
}

/* One for each method. HEAD is implied by GET. */
static void
add_row(GPtrArray *operations, const Route *row)
{
    g_auto(GStrv) each = g_strsplit(strcmp(row->methods, "*") == 0 ? "GET|POST" : row->methods, "|", -1);
    for (char **method = each; row->summary != NULL && *method != NULL; method++) {
        if (strcmp(*method, "HEAD") == 0)
            continue;
        OpenapiOperation *operation = g_new(OpenapiOperation, 1);
        *operation = (OpenapiOperation){group_of(row), g_strdup(*method), path_of(row->pattern),
                                        row->summary,  row->parameters,   row->role};
        g_ptr_array_add(operations, operation);
    }
}

GPtrArray *
openapi_operations(const RouteTable *const *tables)
{
    GPtrArray *operations = g_ptr_array_new_with_free_func(operation_free);
    for (; *tables != NULL; tables++)
        for (gsize i = 0; i < (*tables)->n; i++)
            add_row(operations, &(*tables)->rows[i]);
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
    if (strcmp(kind, "scalar") == 0)
        return json_pack("{s:[{s:s},{s:s},{s:s}]}", "oneOf", "type", "string", "type", "number", "type", "boolean");
    if (strcmp(kind, "text") == 0)
        return json_pack("{s:s}", "type", "string");
    return json_pack("{s:s,s:s}", "type", "string", "format", strcmp(kind, "secret") == 0 ? "password" : kind);
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
        if (strcmp(row->kind, "secret") != 0)
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
content_of(const OpenapiAnswer *answer)
{
    static const char json[] = "application/json";
    g_auto(GStrv) types = g_strsplit(answer->types, ",", -1);
    json_t *content = json_object();
    for (char **type = types; *type != NULL; type++) {
        json_t *schema = json_object();
        if (strcmp(*type, json) != 0)
            json_object_set_new(schema, "type", json_string("string"));
        if (strcmp(*type, json) == 0 && answer->schema != NULL)
            json_object_set_new(schema, "$ref", json_sprintf("#/components/schemas/%s", answer->schema));
        json_object_set_new(content, *type, json_pack("{s:o}", "schema", schema));
    }
    return content;
}

static gboolean
is_native(const OpenapiOperation *operation)
{
    return strcmp(operation->group, "service") == 0 || strcmp(operation->group, "target") == 0;
}

static void
add_failure(json_t *responses, const char *status)
{
    json_object_set_new(responses, status, json_pack("{s:s}", "$ref", "#/components/responses/Failure"));
}

/* The error responses of every operation, of those about a target or its kept data, and of those that query a store. */
static void
add_failures(json_t *responses, const OpenapiOperation *operation)
{
    static const char *const any[] = {"400", "401", "403", "405", "413", "429", "500", "503"};
    static const char *const of_targets[] = {"404", "409", "410", "507"};
    static const char *const of_stores[] = {"404", "409", "502"};
    for (gsize i = 0; i < G_N_ELEMENTS(any); i++)
        add_failure(responses, any[i]);
    for (gsize i = 0; strchr(operation->path, '{') != NULL && i < G_N_ELEMENTS(of_targets); i++)
        add_failure(responses, of_targets[i]);
    for (gsize i = 0; g_str_has_prefix(operation->path, "/api/v1/fleet/") && i < G_N_ELEMENTS(of_stores); i++)
        add_failure(responses, of_stores[i]);
}

static json_t *
responses_of(const OpenapiOperation *operation, const OpenapiAnswer *answer)
{
    static const char *const of_dialects[] = {"4XX", "5XX"};
    json_t *responses = json_object();
    g_autofree char *status = g_strdup_printf("%u", answer->status);
    json_t *success = json_pack("{s:s,s:o}", "description", answer->status == 201 ? "Created" : "Done", "content",
                                content_of(answer));
    if (answer->status == 201)
        json_object_set_new(success, "headers", json_pack("{s:{s:{s:s}}}", "Location", "schema", "type", "string"));
    json_object_set_new(responses, status, success);
    if (strstr(operation->path, "/dumps/{dump}") != NULL || g_str_has_suffix(operation->path, "/result"))
        json_object_set_new(responses, "304", json_pack("{s:s}", "description", "Not modified"));
    if (is_native(operation))
        add_failures(responses, operation);
    else
        for (gsize i = 0; i < G_N_ELEMENTS(of_dialects); i++)
            json_object_set_new(responses, of_dialects[i],
                                json_pack("{s:s}", "description", "As in the system that this dialect is of"));
    return responses;
}

/* Parameters as a body, for changes. */
static json_t *
body_of(const OpenapiOperation *operation)
{
    json_t *properties = json_object();
    for (const RouteParameter *row = operation->parameters; row != NULL && row->name != NULL; row++)
        json_object_set_new(properties, row->name, schema_of(row->kind));
    json_t *schema = json_pack("{s:s,s:o,s:b}", "type", "object", "properties", properties, "additionalProperties", 0);
    return json_pack("{s:b,s:{s:{s:O},s:{s:o}}}", "required", 0, "content", "application/json", "schema", schema,
                     "application/x-www-form-urlencoded", "schema", schema);
}

static json_t *
operation_json(const OpenapiOperation *operation)
{
    const OpenapiAnswer *answer = openapi_answer_of(operation);
    g_autofree char *made = operation_id(operation);
    json_t *json = json_pack("{s:s,s:s,s:[s],s:o,s:o,s:s}", "operationId", answer->id != NULL ? answer->id : made,
                             "summary", operation->summary, "tags", operation->group, "parameters",
                             parameters_of(operation), "responses", responses_of(operation, answer), "x-role",
                             operation->role == ROUTE_ROLE_CONTROL ? "control" : "read");
    if (is_native(operation) && operation->parameters != NULL && strcmp(operation->method, "GET") != 0 &&
        strcmp(operation->method, "DELETE") != 0)
        json_object_set_new(json, "requestBody", body_of(operation));
    return json;
}

static json_t *
paths_json(const RouteTable *const *tables)
{
    g_autoptr(GPtrArray) operations = openapi_operations(tables);
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
    json_t *response = json_pack("{s:s,s:{s:{s:{s:s}}}}", "description", "The error and its remedy", "content",
                                 "application/json", "schema", "$ref", "#/components/schemas/Failure");
    return json_pack("{s:o,s:{s:o},s:{s:{s:s,s:s}}}", "schemas", json_loads(openapi_schemas, 0, NULL), "responses",
                     "Failure", response, "securitySchemes", "token", "type", "http", "scheme", "bearer");
}

GBytes *
openapi_write(const RouteTable *const *tables)
{
    json_t *whole =
        json_pack("{s:s,s:{s:s,s:s,s:s,s:{s:s,s:s}},s:[{s:s}],s:o,s:o,s:[{},{s:[]}]}", "openapi", "3.0.3", "info",
                  "title", "jescope", "version", JESCOPE_VERSION, "description",
                  "What holds the memory of services that use jemalloc. Paths of dialects are also available under "
                  "/targets/{target}.",
                  "license", "name", "Apache-2.0", "url", "https://www.apache.org/licenses/LICENSE-2.0", "servers",
                  "url", "/", "paths", paths_json(tables), "components", components_json(), "security", "token");
    char *text = json_dumps(whole, JSON_COMPACT);
    json_decref(whole);
    return g_bytes_new_with_free_func(text, strlen(text), free, text);
}

static void
openapi_answer(Site *site, Exchange *exchange)
{
    exchange_answer(exchange, answer_new(200, "application/json", openapi_write(site->tables),
                                         exchange_accepts_gzip(exchange) ? ANSWER_GZIP : ANSWER_PLAIN));
}

static const Route rows[] = {
    {ROUTE_DIALECT_NATIVE, "GET|HEAD", "/api/v1/openapi.json", "OpenAPI description of this API",
     .serve = openapi_answer},
};

const RouteTable openapi_routes = {rows, G_N_ELEMENTS(rows)};
