/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts batches to rows of the tables of clickhouse-schema.h. The first dump of a process, and then one per hour, is
 * written in full, as one row; the dumps between have rows only for stacks whose values have changed since the previous
 * dump. A row's base is the time of the full dump that it is based on: the state at any time is, for each process and
 * stack, the latest row with that base. Rows may be inserted twice and in any order without being counted twice. A
 * ClickhouseRows is used by one thread at a time.
 */
#ifndef JESCOPE_EXPORT_CLICKHOUSE_ROWS_H
#define JESCOPE_EXPORT_CLICKHOUSE_ROWS_H

#include "export/batch.h"
#include "export/clickhouse-schema.h"

typedef struct ClickhouseRows ClickhouseRows;

/* Bodies of INSERT statements. Queries see a dump only once its row in `dump` exists, so that is inserted last. */
typedef struct {
    GString *stack;  /* FORMAT JSONEachRow */
    GString *whole;  /* FORMAT RowBinary, CLICKHOUSE_WHOLE_COLUMNS: one row per dump written in full */
    GString *sample; /* FORMAT RowBinary, CLICKHOUSE_SAMPLE_COLUMNS: one row per changed stack */
    GString *ledger; /* FORMAT JSONEachRow */
    GString *dump;   /* FORMAT JSONEachRow */
} ClickhouseBodies;

#define CLICKHOUSE_FIGURE_COLUMNS                                                                                      \
    "alloc_objects, alloc_objects_variance, alloc_space, alloc_space_variance, inuse_objects, "                        \
    "inuse_objects_variance, inuse_space, inuse_space_variance, births, deaths"
#define CLICKHOUSE_WHOLE_COLUMNS  "day, service, hour, target, base, hashes, " CLICKHOUSE_FIGURE_COLUMNS
#define CLICKHOUSE_SAMPLE_COLUMNS "day, service, hour, target, hash, time, base, " CLICKHOUSE_FIGURE_COLUMNS

void clickhouse_bodies_init(ClickhouseBodies *bodies);
void clickhouse_bodies_clear(ClickhouseBodies *bodies);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(ClickhouseBodies, clickhouse_bodies_clear)

/* MOST_KNOWN limits the stacks that are remembered for all processes together, 180 bytes each. Beyond it, the process
 * with the most stacks is forgotten, and its next dump is written in full. */
ClickhouseRows *clickhouse_rows_new(gsize most_known);
void clickhouse_rows_free(ClickhouseRows *rows);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ClickhouseRows, clickhouse_rows_free)

/* Appends the rows of BATCH, whose dump must have a time, and assumes that they will be inserted. */
void clickhouse_rows_add(ClickhouseRows *rows, const Batch *batch, ClickhouseBodies *bodies);

/* To be called if rows may not have been inserted: the next dump of every process is written in full, with all its
 * stacks. */
void clickhouse_rows_forget(ClickhouseRows *rows);

/* The identity of BATCH's process, the same for all its dumps. */
guint64 clickhouse_target(const Batch *batch);

#endif
