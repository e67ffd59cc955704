/* SPDX-License-Identifier: Apache-2.0 */
#include "export/clickhouse-client.h"

#include "export/clickhouse-schema.h"
#include "export/http.h"
#include "export/sql.h"

#include <string.h>

enum {
    STATEMENT_MS = 120 * 1000,
    ANSWER_MAX = 512 << 20,
};

struct ClickhouseClient {
    Http *http;
    char *origin;
    char *database;
};

static const char *
database_of(const Destination *destination)
{
    return destination->path[0] == '/' ? destination->path + 1 : "";
}

gboolean
clickhouse_client_check(const Destination *destination, GError **error)
{
    if (sql_is_name(database_of(destination)))
        return TRUE;
    g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_DESTINATION,
                "'%s' needs the name of a database, of letters, digits and '_': clickhouse://HOST:8123/jescope",
                destination->text);
    return FALSE;
}

ClickhouseClient *
clickhouse_client_new(const Destination *destination, GError **error)
{
    if (!clickhouse_client_check(destination, error))
        return NULL;
    Http *http = http_new(destination, HTTP_BASIC, NULL, error);
    if (http == NULL)
        return NULL;
    ClickhouseClient *client = g_new(ClickhouseClient, 1);
    *client = (ClickhouseClient){http, g_strdup(destination->origin), g_strdup(database_of(destination))};
    return client;
}

void
clickhouse_client_free(ClickhouseClient *client)
{
    http_free(client->http);
    g_free(client->origin);
    g_free(client->database);
    g_free(client);
}

const char *
clickhouse_client_database(const ClickhouseClient *client)
{
    return client->database;
}

/* Errors (ClickHouse's src/Common/ErrorCodes.cpp) that may be due to the rows. All others, such as a full disk or
 * tables that are read-only without ZooKeeper, are due to the server. */
static const struct {
    guint code;
    const char *phrase; /* only if the text contains this; NULL: always */
} about_rows[] = {
    {6, NULL},                             /* CANNOT_PARSE_TEXT */
    {26, NULL},                            /* CANNOT_PARSE_QUOTED_STRING */
    {27, NULL},                            /* CANNOT_PARSE_INPUT_ASSERTION_FAILED */
    {32, NULL},                            /* ATTEMPT_TO_READ_AFTER_EOF */
    {33, NULL},                            /* CANNOT_READ_ALL_DATA */
    {38, NULL},                            /* CANNOT_PARSE_DATE */
    {49, NULL},                            /* LOGICAL_ERROR */
    {53, NULL},                            /* TYPE_MISMATCH */
    {69, NULL},                            /* ARGUMENT_OUT_OF_BOUND */
    {72, NULL},                            /* CANNOT_PARSE_NUMBER */
    {117, NULL},                           /* INCORRECT_DATA */
    {128, NULL},                           /* TOO_LARGE_ARRAY_SIZE */
    {130, NULL},                           /* CANNOT_READ_ARRAY_FROM_TEXT */
    {131, NULL},                           /* TOO_LARGE_STRING_SIZE */
    {173, NULL},                           /* CANNOT_ALLOCATE_MEMORY */
    {190, NULL},                           /* SIZES_OF_ARRAYS_DOESNT_MATCH */
    {241, NULL},                           /* MEMORY_LIMIT_EXCEEDED */
    {252, "partitions for single INSERT"}, /* TOO_MANY_PARTS, also raised if merges are too slow */
};

gboolean
clickhouse_blames_rows(const char *answer)
{
    static const char sign[] = "Code: ";
    const char *place = strstr(answer, sign);
    if (place == NULL)
        return TRUE;
    const guint64 code = g_ascii_strtoull(place + strlen(sign), NULL, 10);
    for (gsize i = 0; i < G_N_ELEMENTS(about_rows); i++)
        if (about_rows[i].code == code)
            return about_rows[i].phrase == NULL || strstr(answer, about_rows[i].phrase) != NULL;
    return FALSE;
}

gboolean
clickhouse_client_insert(ClickhouseClient *client, const char *into, const GString *body, ExportReply *reply,
                         GError **error)
{
    g_autofree char *sql = g_strdup_printf("INSERT INTO %s.%s", client->database, into);
    g_autofree char *query = g_uri_escape_string(sql, NULL, FALSE);
    /* For distributed tables: the server answers when all servers have the rows, so that the dump is inserted last
     * there, too. */
    g_autofree char *url = g_strconcat(client->origin, "/?insert_distributed_sync=1&query=", query, NULL);
    const HttpRequest request = {.method = "POST", .url = url, .body = body->str, .length = body->len};
    g_auto(HttpAnswer) answer = {0};
    if (!http_send(client->http, &request, &answer, error))
        return FALSE;
    reply->bytes += request.length;
    if (http_outcome(client->http, &answer, reply, error) == EXPORT_SENT)
        return TRUE;
    reply->doubtful = reply->doubtful && clickhouse_blames_rows(answer.body->str);
    return FALSE;
}

static GString *
ask(ClickhouseClient *client, const char *sql, guint64 limit, guint deadline_ms, GError **error)
{
    g_autofree char *url = g_strconcat(client->origin, "/", NULL);
    const HttpRequest request = {
        .method = "POST", .url = url, .body = sql, .length = strlen(sql), .limit = limit, .deadline_ms = deadline_ms};
    g_auto(HttpAnswer) answer = {0};
    ExportReply reply = {0};
    if (!http_send(client->http, &request, &answer, error) ||
        http_outcome(client->http, &answer, &reply, error) != EXPORT_SENT)
        return NULL;
    if (!answer.cut)
        return g_steal_pointer(&answer.body);
    g_autofree char *most = g_format_size_full(limit, G_FORMAT_SIZE_IEC_UNITS);
    g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_ANSWER, "the answer of %s is larger than %s%s", client->origin, most,
                limit == ANSWER_MAX ? "; ask about less time or fewer processes" : "; is it ClickHouse?");
    return NULL;
}

GString *
clickhouse_client_ask(ClickhouseClient *client, const char *sql, guint deadline_ms, GError **error)
{
    return ask(client, sql, ANSWER_MAX, deadline_ms, error);
}

char *
clickhouse_client_version(ClickhouseClient *client, GError **error)
{
    GString *answer = ask(client, "SELECT version()", HTTP_ANSWER_MAX, STATEMENT_MS, error);
    return answer != NULL ? g_strstrip(g_string_free(answer, FALSE)) : NULL;
}

gboolean
clickhouse_client_create(ClickhouseClient *client, GError **error)
{
    g_autofree char *version = clickhouse_client_version(client, error);
    if (version == NULL)
        return FALSE;
    const ClickhouseSchema schema = {.database = client->database, .dialect = clickhouse_dialect(version)};
    g_auto(GStrv) statements = clickhouse_schema_statements(&schema);
    for (char **statement = statements; *statement != NULL; statement++) {
        GString *answer = ask(client, *statement, HTTP_ANSWER_MAX, STATEMENT_MS, error);
        if (answer == NULL)
            return FALSE;
        g_string_free(answer, TRUE);
    }
    return TRUE;
}
