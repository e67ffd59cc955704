/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of this room: the open database, its statements and its dictionary of words. */
#ifndef JESCOPE_HISTORY_DATABASE_H
#define JESCOPE_HISTORY_DATABASE_H

#include "history/history.h"

#include <sqlite3.h>

typedef enum {
#define STATEMENT(id, sql) SQL_##id,
#include "history/statements.def"
#undef STATEMENT
    SQL_COUNT,
} Sql;

/* Words by number and back. Metric names, mutex names and arena names are stored as numbers of this dictionary. */
typedef struct {
    GHashTable *numbers;                   /* interned text -> number */
    GHashTable *words;                     /* number -> interned text */
    GHashTable *metrics;                   /* number -> StatsMetric + 1, of the words that name one */
    guint16 of_metric[STATS_METRIC_COUNT]; /* 0: not known yet */
} Dictionary;

struct History {
    char *path;
    HistoryMode mode;
    sqlite3 *db;
    sqlite3_stmt *statements[SQL_COUNT];
    Dictionary dictionary;
    GHashTable *loose; /* incarnation -> samples not yet packed, of those this process writes to */
    gboolean in_transaction;
    guint damaged;
};

/* Sets ERROR from what SQLite said last. */
void database_fail(History *history, GError **error);

/* The statement, ready to be bound; prepared at first use. NULL with ERROR set, which the following take for what it
 * is: a failure that needs no check of its own. */
sqlite3_stmt *database_statement(History *history, Sql id, GError **error);

/* Binds integers to the parameters from the first on. */
#define database_bind(statement, ...)                                                                                  \
    database_bind_integers((statement), (const gint64[]){__VA_ARGS__}, G_N_ELEMENTS(((const gint64[]){__VA_ARGS__})))
void database_bind_integers(sqlite3_stmt *statement, const gint64 *values, guint count);
void database_bind_text(sqlite3_stmt *statement, int parameter, const char *text); /* NULL for NULL */
void database_bind_bytes(sqlite3_stmt *statement, int parameter, GBytes *bytes);

/* Runs a statement to its end. Rows are left out. */
gboolean database_run(History *history, sqlite3_stmt *statement, GError **error);

/* Steps to the next row. FALSE: there is none, *OK, or the step failed. A statement that is left before that must be
 * reset. */
gboolean database_next(History *history, sqlite3_stmt *statement, gboolean *ok, GError **error);

/* The first column of all rows, of gint64. */
GArray *database_ids(History *history, sqlite3_stmt *statement, GError **error);

/* A column that the schema calls NOT NULL; "" where a damaged file has NULL all the same. */
const char *database_text(sqlite3_stmt *statement, int column);

/* Steps to a row that every whole file has; HISTORY_ERROR_DAMAGED where it is missing. */
gboolean database_step_row(History *history, sqlite3_stmt *statement, GError **error);

/* A transaction, unless one is open already : then nothing, and its owner decides. */
gboolean database_begin(History *history, gboolean *mine, GError **error);

/* Ends what database_begin() began: commits if OK and MINE, rolls back if not OK and MINE. Returns whether all is
 * well. */
gboolean database_end(History *history, gboolean mine, gboolean ok, GError **error);

/* The number of TEXT, added if it is new (to be called in a transaction). */
gboolean dictionary_number(History *history, const char *text, guint64 *number, GError **error);

/* The number of METRIC's name. */
gboolean dictionary_metric(History *history, StatsMetric metric, guint16 *number, GError **error);

/* The word (interned), or NULL. */
const char *dictionary_word(const History *history, guint64 number);

/* FALSE: not a metric this program knows. */
gboolean dictionary_is_metric(const History *history, guint16 number, StatsMetric *metric);

/* The id of TARGET; NULL means the only one. HISTORY_ERROR_MISSING lists the targets. */
gboolean database_find_target(History *history, const char *target, gint64 *id, GError **error);

/* The names of all targets. */
char **database_target_names(History *history, GError **error);

#endif
