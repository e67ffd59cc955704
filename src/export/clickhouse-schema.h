/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables that jescope keeps in ClickHouse: docs/fleet.md, "Tables", explains each column. Rows are only inserted;
 * duplicate rows count once.
 */
#ifndef JESCOPE_EXPORT_CLICKHOUSE_SCHEMA_H
#define JESCOPE_EXPORT_CLICKHOUSE_SCHEMA_H

#include <glib.h>

/* The SQL dialect of a server. */
typedef enum {
    CLICKHOUSE_BASIC,  /* 18.16, Debian's: no codecs, no LowCardinality */
    CLICKHOUSE_CODECS, /* 21.1 and later */
} ClickhouseDialect;

ClickhouseDialect clickhouse_dialect(const char *version); /* from SELECT version() */

/* The values stored for each stack, by their names in reports; each has the columns NAME and NAME_variance. */
enum { CLICKHOUSE_VALUES = 4 };
extern const char *const clickhouse_values[CLICKHOUSE_VALUES];

enum {
    CLICKHOUSE_FULL_SECONDS = 3600, /* after this time, a process's next dump is sent in full, not as changes */
    CLICKHOUSE_HOUR_SECONDS = 3600, /* unit of the column `hour` */
};

typedef struct {
    const char *database; /* sql_is_name() */
    ClickhouseDialect dialect;
    const char *cluster; /* NULL: a single server. Otherwise each server has tables NAME_local, and a distributed table
                          * NAME */
    gboolean replicated; /* in a cluster: the local tables are replicated, with the macros {shard} and {replica} */
} ClickhouseSchema;

/* The statements that create the database and its tables if missing, the same for each server of a cluster.
 * NULL-terminated, to be freed. */
GStrv clickhouse_schema_statements(const ClickhouseSchema *schema);

/* The names of the tables, on a single server and in a cluster, as a list of SQL literals; to be freed. */
char *clickhouse_schema_tables(void);

/* Whether NAME is one of them. */
gboolean clickhouse_schema_has_table(const char *name);

#endif
