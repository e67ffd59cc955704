/* SPDX-License-Identifier: Apache-2.0 */
/* Statements for one database of a ClickHouse server, by HTTP. Belongs to one thread at a time. */
#ifndef JESCOPE_EXPORT_CLICKHOUSE_CLIENT_H
#define JESCOPE_EXPORT_CLICKHOUSE_CLIENT_H

#include "export/sink.h"

typedef struct ClickhouseClient ClickhouseClient;

/* DESTINATION is clickhouse://HOST[:PORT]/DATABASE and outlives it; the token file has the line "USER PASSWORD". */
ClickhouseClient *clickhouse_client_new(const Destination *destination, GError **error);
/* Whether DESTINATION names a database. */
gboolean clickhouse_client_check(const Destination *destination, GError **error);
void clickhouse_client_free(ClickhouseClient *client);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ClickhouseClient, clickhouse_client_free)

/* The name of its database, which needs no quotes in SQL. */
const char *clickhouse_client_database(const ClickhouseClient *client);

/* Of the server: "18.16.1". To be freed. */
char *clickhouse_client_version(ClickhouseClient *client, GError **error);

/* Creates what is missing of the tables, in the dialect that the server's version understands. */
gboolean clickhouse_client_create(ClickhouseClient *client, GError **error);

/* Whether other rows might be taken where these got ANSWER, the text of an error: also of one that is not ClickHouse's.
 */
gboolean clickhouse_blames_rows(const char *answer);

/* "INSERT INTO database." INTO, with the rows in BODY. */
gboolean clickhouse_client_insert(ClickhouseClient *client, const char *into, const GString *body, ExportReply *reply,
                                  GError **error);

/* The answer to SQL as text, to be freed; EXPORT_ERROR if no answer came, or with ClickHouse's message. */
GString *clickhouse_client_ask(ClickhouseClient *client, const char *sql, GError **error);

#endif
