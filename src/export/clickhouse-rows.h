/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches as rows of the tables of clickhouse-schema.h. Of a process only the first dump, and one in an hour after it,
 * is written whole, as one row; those between them have rows only for stacks whose values are others than in the dump
 * before. A row's base is the time of the whole dump that it builds on, so that the state at any time is, of each
 * process and stack, the latest of what the rows with that base say. Whole dumps and changes may come twice and in any
 * mixture without being counted twice. A ClickhouseRows belongs to one thread at a time.
 */
#ifndef JESCOPE_EXPORT_CLICKHOUSE_ROWS_H
#define JESCOPE_EXPORT_CLICKHOUSE_ROWS_H

#include "export/batch.h"
#include "export/clickhouse-schema.h"

typedef struct ClickhouseRows ClickhouseRows;

/* Bodies of INSERT statements. A dump is part of an answer only once its row of `dump` is there: it goes last. */
typedef struct {
    GString *stack;  /* FORMAT JSONEachRow */
    GString *whole;  /* FORMAT RowBinary, of CLICKHOUSE_WHOLE_COLUMNS: one a dump that is written whole */
    GString *sample; /* FORMAT RowBinary, of CLICKHOUSE_SAMPLE_COLUMNS: one a stack that has changed */
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

/* MOST_KNOWN: stacks that are remembered, of all processes together, 180 bytes each. Beyond it the process with most of
 * them is forgotten, and its next dump written whole. */
ClickhouseRows *clickhouse_rows_new(gsize most_known);
void clickhouse_rows_free(ClickhouseRows *rows);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ClickhouseRows, clickhouse_rows_free)

/* Appends the rows of BATCH, whose dump has a time, and takes them for inserted. */
void clickhouse_rows_add(ClickhouseRows *rows, const Batch *batch, ClickhouseBodies *bodies);

/* What was added may be missing there: the next dump of every process is written whole, with all its stacks. */
void clickhouse_rows_forget(ClickhouseRows *rows);

/* The process of BATCH: the same for all its dumps. */
guint64 clickhouse_target(const Batch *batch);

#endif
