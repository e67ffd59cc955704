/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables that jescope keeps in ClickHouse: docs/fleet.md, "Tables", explains each column. Rows are only inserted;
 * the same row may be inserted again, and counts once.
 */
#ifndef JESCOPE_EXPORT_CLICKHOUSE_SCHEMA_H
#define JESCOPE_EXPORT_CLICKHOUSE_SCHEMA_H

#include <glib.h>

/* What a server understands. */
typedef enum {
    CLICKHOUSE_BASIC,  /* 18.16, Debian's: no codecs, no LowCardinality */
    CLICKHOUSE_CODECS, /* 21.1 and later */
} ClickhouseDialect;

ClickhouseDialect clickhouse_dialect(const char *version); /* of SELECT version() */

/* The values that are kept of each stack, by their names in reports; a column NAME and a column NAME_variance each. */
enum { CLICKHOUSE_VALUES = 4 };
extern const char *const clickhouse_values[CLICKHOUSE_VALUES];

enum {
    CLICKHOUSE_FULL_SECONDS = 3600, /* after that a process's next dump is sent whole, not as changes */
    CLICKHOUSE_HOUR_SECONDS = 3600, /* of the column `hour` */
};

typedef struct {
    const char *database; /* sql_is_name() */
    ClickhouseDialect dialect;
    const char *cluster; /* NULL: one server. Else tables NAME_local, and NAME over those of all servers of it */
    gboolean replicated; /* of a cluster: the local tables are replicated, by the macros {shard} and {replica} */
} ClickhouseSchema;

/* The statements that create the database and its tables where they are missing, for each server of a cluster the same:
 * NULL-terminated, to be freed. */
GStrv clickhouse_schema_statements(const ClickhouseSchema *schema);

/* The names of the tables, of one server and of one of a cluster, as a list of SQL literals; to be freed. */
char *clickhouse_schema_tables(void);

#endif
