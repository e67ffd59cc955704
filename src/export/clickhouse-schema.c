/* SPDX-License-Identifier: Apache-2.0 */
#include "export/clickhouse-schema.h"

#include <string.h>

const char *const clickhouse_values[CLICKHOUSE_VALUES] = {"alloc_objects", "alloc_space", "inuse_objects",
                                                          "inuse_space"};

enum {
    FIRST_WITH_CODECS = 20, /* year of the release; later ones have codecs */
    WHOLE_GRANULE = 128,
};

ClickhouseDialect
clickhouse_dialect(const char *version)
{
    return g_ascii_strtoull(version, NULL, 10) > FIRST_WITH_CODECS ? CLICKHOUSE_CODECS : CLICKHOUSE_BASIC;
}

/* A column; CURRENT replaces TYPE if the server supports codecs. */
typedef struct {
    const char *name, *type, *current;
} Column;

#define TEXT     "LowCardinality(String)"
#define RISING   "UInt64 CODEC(Delta, ZSTD(1))"
#define NUMBER   "UInt64 CODEC(ZSTD(1))"
#define ESTIMATE "Float64 CODEC(ZSTD(1))"
#define VARIANCE "Float32 CODEC(ZSTD(1))"
#define MOMENT   "DateTime ALIAS toDateTime(intDiv(time, 1000000))"

#define VALUE_COLUMNS(name)                                                                                            \
    {name, "Float64", ESTIMATE},                                                                                       \
    {                                                                                                                  \
        name "_variance", "Float32", VARIANCE                                                                          \
    }

static const Column stack_columns[] = {
    {"day", "Date", NULL},
    {"service", "String", TEXT},
    {"hash", "UInt64", NULL},
    {"functions", "Array(String)", "Array(LowCardinality(String)) CODEC(ZSTD(1))"},
    {"names", "Array(String)", "Array(String) CODEC(ZSTD(1))"},
    {"files", "Array(String)", "Array(LowCardinality(String)) CODEC(ZSTD(1))"},
    {"builds", "Array(String)", "Array(LowCardinality(String)) CODEC(ZSTD(1))"},
    {"offsets", "Array(UInt64)", "Array(UInt64) CODEC(ZSTD(1))"},
    {0},
};

static const Column sample_columns[] = {
    {"day", "Date", NULL},           {"service", "String", TEXT},    {"hour", "UInt32", NULL},
    {"target", "UInt64", NUMBER},    {"hash", "UInt64", NUMBER},     {"time", "UInt64", RISING},
    {"base", "UInt64", RISING},      VALUE_COLUMNS("alloc_objects"), VALUE_COLUMNS("alloc_space"),
    VALUE_COLUMNS("inuse_objects"),  VALUE_COLUMNS("inuse_space"),   {"births", "Float64", ESTIMATE},
    {"deaths", "Float64", ESTIMATE}, {"moment", MOMENT, NULL},       {0},
};

#define VALUE_ARRAYS(name)                                                                                             \
    {name, "Array(Float64)", "Array(Float64) CODEC(ZSTD(1))"},                                                         \
    {                                                                                                                  \
        name "_variance", "Array(Float32)", "Array(Float32) CODEC(ZSTD(1))"                                            \
    }

static const Column whole_columns[] = {
    {"day", "Date", NULL},
    {"service", "String", TEXT},
    {"hour", "UInt32", NULL},
    {"target", "UInt64", NUMBER},
    {"base", "UInt64", RISING},
    {"hashes", "Array(UInt64)", "Array(UInt64) CODEC(ZSTD(1))"},
    VALUE_ARRAYS("alloc_objects"),
    VALUE_ARRAYS("alloc_space"),
    VALUE_ARRAYS("inuse_objects"),
    VALUE_ARRAYS("inuse_space"),
    {"births", "Array(Float64)", "Array(Float64) CODEC(ZSTD(1))"},
    {"deaths", "Array(Float64)", "Array(Float64) CODEC(ZSTD(1))"},
    {"moment", "DateTime ALIAS toDateTime(intDiv(base, 1000000))", NULL},
    {0},
};

static const Column dump_columns[] = {
    {"day", "Date", NULL},
    {"service", "String", TEXT},
    {"time", "UInt64", RISING},
    {"target", "UInt64", NUMBER},
    {"base", "UInt64", RISING},
    {"id", "String", "String CODEC(ZSTD(1))"},
    {"host", "String", TEXT},
    {"version", "String", TEXT},
    {"zone", "String", TEXT},
    {"labels", "Nested(name String, value String)",
     "Nested(name LowCardinality(String), value LowCardinality(String))"},
    {"program", "String", TEXT},
    {"build", "String", TEXT},
    {"pid", "UInt64", NUMBER},
    {"start", "UInt64", NUMBER},
    {"since", "UInt64", NUMBER},
    {"period", "UInt64", NUMBER},
    {"stacks", "UInt32", NULL},
    {"folded", "UInt64", NUMBER},
    {"cumulative", "UInt8", NULL},
    VALUE_COLUMNS("alloc_objects"),
    VALUE_COLUMNS("alloc_space"),
    VALUE_COLUMNS("inuse_objects"),
    VALUE_COLUMNS("inuse_space"),
    {"allocated", "Float64", ESTIMATE},
    {"resident", "Float64", ESTIMATE},
    {"moment", MOMENT, NULL},
    {0},
};

static const Column ledger_columns[] = {
    {"day", "Date", NULL},
    {"service", "String", TEXT},
    {"time", "UInt64", RISING},
    {"target", "UInt64", NUMBER},
    {"line", "String", TEXT},
    {"bytes", "Int64", "Int64 CODEC(ZSTD(1))"},
    {"low", "Int64", "Int64 CODEC(ZSTD(1))"},
    {"high", "Int64", "Int64 CODEC(ZSTD(1))"},
    {"moment", MOMENT, NULL},
    {0},
};

static const struct {
    const char *name;
    const Column *columns;
    const char *order; /* sorting key: rows equal in it are duplicates */
    const char *shard; /* sharding key of a cluster */
    guint granule;     /* index granularity; 0: ClickHouse's 8192, which is too large if a row is a dump */
} tables[] = {
    {"stack", stack_columns, "service, hash", "hash", 0},
    {"whole", whole_columns, "service, hour, target, base", "target", WHOLE_GRANULE},
    {"sample", sample_columns, "service, hour, target, hash, time, base", "target", 0},
    {"dump", dump_columns, "service, time, target, base", "target", 0},
    {"ledger", ledger_columns, "service, time, target, line", "target", 0},
};

static void
append_columns(GString *sql, const Column *columns, ClickhouseDialect dialect)
{
    for (const Column *column = columns; column->name != NULL; column++) {
        const char *type = dialect == CLICKHOUSE_CODECS && column->current != NULL ? column->current : column->type;
        g_string_append_printf(sql, "%s\n    %s %s", column == columns ? "" : ",", column->name, type);
    }
}

static char *
create_table(const ClickhouseSchema *schema, guint n)
{
    GString *sql = g_string_new(NULL);
    g_string_append_printf(sql, "CREATE TABLE IF NOT EXISTS %s.%s%s", schema->database, tables[n].name,
                           schema->cluster != NULL ? "_local" : "");
    g_string_append(sql, " (");
    append_columns(sql, tables[n].columns, schema->dialect);
    g_string_append(sql, "\n) ENGINE = ");
    if (schema->replicated)
        g_string_append_printf(sql, "ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/%s/%s', '{replica}')",
                               schema->database, tables[n].name);
    else
        g_string_append(sql, "ReplacingMergeTree");
    g_string_append_printf(sql, "\nPARTITION BY day\nORDER BY (%s)", tables[n].order);
    if (tables[n].granule != 0)
        g_string_append_printf(sql, "\nSETTINGS index_granularity = %u", tables[n].granule);
    return g_string_free(sql, FALSE);
}

static char *
create_distributed(const ClickhouseSchema *schema, guint n)
{
    GString *sql = g_string_new(NULL);
    g_string_append_printf(sql, "CREATE TABLE IF NOT EXISTS %s.%s", schema->database, tables[n].name);
    g_string_append(sql, " (");
    append_columns(sql, tables[n].columns, schema->dialect);
    g_string_append_printf(sql, "\n) ENGINE = Distributed(%s, %s, %s_local, %s)", schema->cluster, schema->database,
                           tables[n].name, tables[n].shard);
    return g_string_free(sql, FALSE);
}

char *
clickhouse_schema_tables(void)
{
    g_autoptr(GString) list = g_string_new(NULL);
    for (guint n = 0; n < G_N_ELEMENTS(tables); n++)
        g_string_append_printf(list, "%s'%s', '%s_local'", n > 0 ? ", " : "", tables[n].name, tables[n].name);
    return g_string_free(g_steal_pointer(&list), FALSE);
}

gboolean
clickhouse_schema_has_table(const char *name)
{
    for (guint n = 0; n < G_N_ELEMENTS(tables); n++) {
        const gsize length = strlen(tables[n].name);
        if (strncmp(name, tables[n].name, length) == 0 &&
            (name[length] == '\0' || g_str_equal(name + length, "_local")))
            return TRUE;
    }
    return FALSE;
}

GStrv
clickhouse_schema_statements(const ClickhouseSchema *schema)
{
    g_autoptr(GStrvBuilder) statements = g_strv_builder_new();
    g_autofree char *database = g_strdup_printf("CREATE DATABASE IF NOT EXISTS %s", schema->database);
    g_strv_builder_add(statements, database);
    for (guint n = 0; n < G_N_ELEMENTS(tables); n++) {
        g_autofree char *table = create_table(schema, n);
        g_strv_builder_add(statements, table);
        if (schema->cluster == NULL)
            continue;
        g_autofree char *distributed = create_distributed(schema, n);
        g_strv_builder_add(statements, distributed);
    }
    return g_strv_builder_end(statements);
}
