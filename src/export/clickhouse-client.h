/* SPDX-License-Identifier: Apache-2.0 */
/* Runs SQL statements in one database of a ClickHouse server, over HTTP. To be used by one thread at a time. */
#ifndef JESCOPE_EXPORT_CLICKHOUSE_CLIENT_H
#define JESCOPE_EXPORT_CLICKHOUSE_CLIENT_H

#include "export/sink.h"

typedef struct ClickhouseClient ClickhouseClient;

/* DESTINATION is clickhouse://HOST[:PORT]/DATABASE and must outlive the client; its token file has the line "USER
 * PASSWORD". */
ClickhouseClient *clickhouse_client_new(const Destination *destination, GError **error);
/* Whether DESTINATION names a database. */
gboolean clickhouse_client_check(const Destination *destination, GError **error);
void clickhouse_client_free(ClickhouseClient *client);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ClickhouseClient, clickhouse_client_free)

/* The name of its database, which needs no quoting in SQL. */
const char *clickhouse_client_database(const ClickhouseClient *client);

/* The server's version: "18.16.1". To be freed. */
char *clickhouse_client_version(ClickhouseClient *client, GError **error);

/* Creates missing tables, in the dialect of the server's version. */
gboolean clickhouse_client_create(ClickhouseClient *client, GError **error);

/* Whether the error text ANSWER may be due to the rows sent, so that other rows might be accepted. TRUE also if the
 * text is not from ClickHouse. */
gboolean clickhouse_blames_rows(const char *answer);

/* Runs "INSERT INTO database." INTO with the rows in BODY. */
gboolean clickhouse_client_insert(ClickhouseClient *client, const char *into, const GString *body, ExportReply *reply,
                                  GError **error);

/* Returns the answer to SQL as text, to be freed. NULL with EXPORT_ERROR if none arrives within DEADLINE_MS, or with
 * ClickHouse's message. */
GString *clickhouse_client_ask(ClickhouseClient *client, const char *sql, guint deadline_ms, GError **error);

#endif
