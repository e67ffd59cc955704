/* SPDX-License-Identifier: Apache-2.0 */
/* Internal to this directory: the open database, its statements and its dictionary of words. */
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

/* Maps words to numbers and back. Names of metrics, mutexes and arenas are stored as numbers of this dictionary. */
typedef struct {
    GHashTable *numbers;                   /* stats_intern() -> number */
    GHashTable *words;                     /* number -> stats_intern() */
    GHashTable *metrics;                   /* number -> StatsMetric + 1, for words that name a metric */
    guint16 of_metric[STATS_METRIC_COUNT]; /* number of each metric; 0: not known yet */
} Dictionary;

struct History {
    char *path;
    HistoryMode mode;
    sqlite3 *db;
    sqlite3_stmt *statements[SQL_COUNT];
    Dictionary dictionary;
    GHashTable *targets; /* of a history that is only read: printable name -> id; NULL: not looked up yet */
    GHashTable *loose;   /* incarnation -> number of unpacked samples, for incarnations that this process writes to */
    guint claims;        /* names that this process has claimed */
    gboolean in_transaction;
    guint damaged;
};

/* Sets ERROR from SQLite's latest error. */
void database_fail(History *history, GError **error);

/* Returns the statement, reset and ready for binding; it is prepared at first use. NULL with ERROR set. The functions
 * below accept NULL and fail, so that callers need not check. */
sqlite3_stmt *database_statement(History *history, Sql id, GError **error);

/* Binds integers to the first parameters, in order. */
#define database_bind(statement, ...)                                                                                  \
    database_bind_integers((statement), (const gint64[]){__VA_ARGS__}, G_N_ELEMENTS(((const gint64[]){__VA_ARGS__})))
void database_bind_integers(sqlite3_stmt *statement, const gint64 *values, guint count);
void database_bind_text(sqlite3_stmt *statement, int parameter, const char *text); /* TEXT may be NULL */
void database_bind_bytes(sqlite3_stmt *statement, int parameter, GBytes *bytes);

/* Runs a statement to its end, ignoring its rows. */
gboolean database_run(History *history, sqlite3_stmt *statement, GError **error);

/* Steps to the next row. FALSE at the end, with *OK TRUE, or on failure, with *OK FALSE. A statement that is not run to
 * its end must be reset. */
gboolean database_next(History *history, sqlite3_stmt *statement, gboolean *ok, GError **error);

/* The first column of all rows, as gint64. */
GArray *database_ids(History *history, sqlite3_stmt *statement, GError **error);

/* A column that is NOT NULL in the schema; "" if a damaged file has NULL. */
const char *database_text(sqlite3_stmt *statement, int column);

/* Steps to a row that must exist; HISTORY_ERROR_DAMAGED if it is missing. */
gboolean database_step_row(History *history, sqlite3_stmt *statement, GError **error);

/* Begins a transaction. If one is open already, does nothing: its owner ends it. Sets *MINE. */
gboolean database_begin(History *history, gboolean *mine, GError **error);

/* Ends what database_begin() began: if MINE, commits if OK, otherwise rolls back. Returns whether OK and the commit
 * succeeded. */
gboolean database_end(History *history, gboolean mine, gboolean ok, GError **error);

/* Reads the words of the dictionary. */
gboolean database_load_words(History *history, GError **error);

/* Sets *NUMBER to that of TEXT, which is added if new; must be called in a transaction. */
gboolean dictionary_number(History *history, const char *text, guint64 *number, GError **error);

enum {
    DICTIONARY_NAMES_MAX = 32768, /* words beyond which the dictionary takes no name but those of jemalloc's own */
};

/* The same for the name of an arena or mutex, which a program chooses. Once the dictionary is full, a new one that is
 * not jemalloc's own is stored as "?": words are never removed, and each metric needs a number of 16 bits. */
gboolean dictionary_name(History *history, const char *text, guint64 *number, GError **error);

/* Sets *NUMBER to that of METRIC's name; like dictionary_number(). */
gboolean dictionary_metric(History *history, StatsMetric metric, guint16 *number, GError **error);

/* The word with NUMBER, which the dictionary holds (stats/intern.h), or NULL. */
const char *dictionary_word(const History *history, guint64 number);

/* Sets *METRIC to that with NUMBER; FALSE if it is not a metric that this version knows. */
gboolean dictionary_is_metric(const History *history, guint16 number, StatsMetric *metric);

/* Sets *ID to that of TARGET; NULL means the only target. The message of HISTORY_ERROR_MISSING lists the targets. */
gboolean database_find_target(History *history, const char *target, gint64 *id, GError **error);

/* The names of all targets, NULL-terminated. */
char **database_target_names(History *history, GError **error);

#endif
