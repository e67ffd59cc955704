/* SPDX-License-Identifier: Apache-2.0 */
#include "history/database.h"

#include "confine/keyed-hash.h"
#include "history/guarded-files.h"
#include "stats/intern.h"

#include <errno.h>
#include <string.h>

G_DEFINE_QUARK(jescope_history_error, history_error)

static const char unknown_name[] = "?";

/* The mutexes and the precedences of sbrk(2), which every sample may have. */
static const char *const names_of_jemalloc[] = {"background_thread",
                                                "max_per_bg_thd",
                                                "ctl",
                                                "prof",
                                                "prof_thds_data",
                                                "prof_dump",
                                                "prof_recent_alloc",
                                                "prof_recent_dump",
                                                "prof_stats",
                                                "large",
                                                "extent_avail",
                                                "extents_dirty",
                                                "extents_muzzy",
                                                "extents_retained",
                                                "decay_dirty",
                                                "decay_muzzy",
                                                "base",
                                                "tcache_list",
                                                "hpa_shard",
                                                "hpa_shard_grow",
                                                "hpa_sec",
                                                "disabled",
                                                "primary",
                                                "secondary",
                                                NULL};

static const char *const statement_texts[SQL_COUNT] = {
#define STATEMENT(id, sql) [SQL_##id] = sql,
#include "history/statements.def"
#undef STATEMENT
};

/* Messages for SQLite results: %1$s is the path, %2$s SQLite's message. */
static const struct {
    int result;
    HistoryError code;
    const char *format;
} failures[] = {
    {SQLITE_BUSY, HISTORY_ERROR_LOCKED, "%1$s is locked by another process; try again when that is done"},
    {SQLITE_LOCKED, HISTORY_ERROR_LOCKED, "%1$s is locked by another process; try again when that is done"},
    {SQLITE_PROTOCOL, HISTORY_ERROR_LOCKED, "%1$s is locked by another process; try again when that is done"},
    {SQLITE_FULL, HISTORY_ERROR_FULL, "no space left for %1$s; free some, or use another --history FILE"},
    {SQLITE_READONLY, HISTORY_ERROR_READ_ONLY, "%1$s may not be written to; use another --history FILE"},
    {SQLITE_PERM, HISTORY_ERROR_READ_ONLY, "%1$s may not be written to; use another --history FILE"},
    {SQLITE_NOTADB, HISTORY_ERROR_NOT_HISTORY, "%1$s is not a history file; name another with --history FILE"},
    {SQLITE_CORRUPT, HISTORY_ERROR_DAMAGED,
     "%1$s is damaged (%2$s); move it away, or recover its data with: sqlite3 %1$s .recover"},
};

/* SQLite reports a file size limit (RLIMIT_FSIZE) or a quota as a plain I/O error, and its clean-up may overwrite the
 * cause. A file that can be read but not extended is treated as full. */
static int
plain_result(sqlite3 *db)
{
    static const int full[] = {SQLITE_IOERR_WRITE, SQLITE_IOERR_SHMSIZE, SQLITE_IOERR_SHMMAP, SQLITE_IOERR_FSYNC};
    int extended = sqlite3_extended_errcode(db);
    for (size_t i = 0; i < G_N_ELEMENTS(full); i++)
        if (extended == full[i] && sqlite3_system_errno(db) != EIO)
            return SQLITE_FULL;
    return extended & 0xff;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
void
database_fail(History *history, GError **error)
{
    int result = plain_result(history->db);
    for (size_t i = 0; i < G_N_ELEMENTS(failures); i++)
        if (failures[i].result == result) {
            g_set_error(error, HISTORY_ERROR, failures[i].code, failures[i].format, history->path,
                        sqlite3_errmsg(history->db));
            return;
        }
    int cause = sqlite3_system_errno(history->db);
    if (result == SQLITE_CANTOPEN && cause == GUARDED_FILES_REFUSED) {
        g_set_error(error, HISTORY_ERROR, HISTORY_ERROR_DAMAGED,
                    "a journal of %s belongs to another user or names a further file, and is not replayed; remove it "
                    "if it is not yours",
                    history->path);
        return;
    }
    gboolean from_system = (result == SQLITE_IOERR || result == SQLITE_CANTOPEN) && cause != 0;
    g_set_error(error, HISTORY_ERROR, HISTORY_ERROR_FAILED, "%s: %s", history->path,
                from_system ? g_strerror(cause) : sqlite3_errmsg(history->db));
}
#pragma GCC diagnostic pop

sqlite3_stmt *
database_statement(History *history, Sql id, GError **error)
{
    sqlite3_stmt **statement = &history->statements[id];
    if (*statement == NULL && sqlite3_prepare_v3(history->db, statement_texts[id], -1, SQLITE_PREPARE_PERSISTENT,
                                                 statement, NULL) != SQLITE_OK) {
        database_fail(history, error);
        return NULL;
    }
    sqlite3_reset(*statement);
    sqlite3_clear_bindings(*statement);
    return *statement;
}

void
database_bind_integers(sqlite3_stmt *statement, const gint64 *values, guint count)
{
    for (guint i = 0; statement != NULL && i < count; i++)
        sqlite3_bind_int64(statement, (int)i + 1, values[i]);
}

void
database_bind_text(sqlite3_stmt *statement, int parameter, const char *text)
{
    if (statement != NULL)
        sqlite3_bind_text(statement, parameter, text, -1, SQLITE_TRANSIENT);
}

void
database_bind_bytes(sqlite3_stmt *statement, int parameter, GBytes *bytes)
{
    if (statement != NULL)
        sqlite3_bind_blob64(statement, parameter, g_bytes_get_data(bytes, NULL), g_bytes_get_size(bytes),
                            SQLITE_TRANSIENT);
}

gboolean
database_next(History *history, sqlite3_stmt *statement, gboolean *ok, GError **error)
{
    int result = statement != NULL ? sqlite3_step(statement) : SQLITE_MISUSE;
    *ok = result == SQLITE_ROW || result == SQLITE_DONE;
    if (statement != NULL && !*ok)
        database_fail(history, error);
    if (result != SQLITE_ROW)
        sqlite3_reset(statement);
    return result == SQLITE_ROW;
}

gboolean
database_run(History *history, sqlite3_stmt *statement, GError **error)
{
    gboolean ok;
    while (database_next(history, statement, &ok, error))
        continue;
    return ok;
}

GArray *
database_ids(History *history, sqlite3_stmt *statement, GError **error)
{
    g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(gint64));
    gboolean ok;
    while (database_next(history, statement, &ok, error)) {
        gint64 id = sqlite3_column_int64(statement, 0);
        g_array_append_val(ids, id);
    }
    return ok ? g_steal_pointer(&ids) : NULL;
}

/* Words added in a transaction that is rolled back are lost. */
static void
forget_words(Dictionary *dictionary)
{
    g_hash_table_remove_all(dictionary->numbers);
    g_hash_table_remove_all(dictionary->words);
    g_hash_table_remove_all(dictionary->metrics);
    memset(dictionary->of_metric, 0, sizeof(dictionary->of_metric));
}

/* A word too long for a name, of a file that something else has made, stays unknown. */
static void
remember_word(History *history, guint64 number, const char *text)
{
    Dictionary *dictionary = &history->dictionary;
    const char *word = stats_intern(text, strlen(text));
    if (word == NULL)
        return;
    g_hash_table_insert(dictionary->numbers, (gpointer)(guintptr)stats_intern_ref(word), GSIZE_TO_POINTER(number));
    g_hash_table_insert(dictionary->words, GSIZE_TO_POINTER(number), (gpointer)(guintptr)word);
    StatsMetric metric;
    if (number <= G_MAXUINT16 && stats_metric_by_name(word, &metric)) {
        g_hash_table_insert(dictionary->metrics, GSIZE_TO_POINTER(number), GUINT_TO_POINTER((guint)metric + 1));
        dictionary->of_metric[metric] = (guint16)number;
    }
}

const char *
database_text(sqlite3_stmt *statement, int column)
{
    const char *text = (const char *)sqlite3_column_text(statement, column);
    return text != NULL ? text : "";
}

gboolean
database_load_words(History *history, GError **error)
{
    sqlite3_stmt *statement = database_statement(history, SQL_WORDS, error);
    gboolean ok;
    while (database_next(history, statement, &ok, error))
        remember_word(history, (guint64)sqlite3_column_int64(statement, 0), database_text(statement, 1));
    return ok;
}

gboolean
database_step_row(History *history, sqlite3_stmt *statement, GError **error)
{
    gboolean ok, row = database_next(history, statement, &ok, error);
    if (ok && !row)
        g_set_error(error, HISTORY_ERROR, HISTORY_ERROR_DAMAGED,
                    "%s is damaged (a row that others refer to is missing); move it away and begin a new one",
                    history->path);
    return row;
}

gboolean
dictionary_number(History *history, const char *text, guint64 *number, GError **error)
{
    gpointer known = g_hash_table_lookup(history->dictionary.numbers, text);
    if (known != NULL) {
        *number = GPOINTER_TO_SIZE(known);
        return TRUE;
    }
    sqlite3_stmt *statement = database_statement(history, SQL_WORD_ADD, error);
    database_bind_text(statement, 1, text);
    if (!database_run(history, statement, error))
        return FALSE;
    statement = database_statement(history, SQL_WORD_FIND, error);
    database_bind_text(statement, 1, text);
    if (!database_step_row(history, statement, error))
        return FALSE;
    *number = (guint64)sqlite3_column_int64(statement, 0);
    sqlite3_reset(statement);
    remember_word(history, *number, text);
    return TRUE;
}

gboolean
dictionary_name(History *history, const char *text, guint64 *number, GError **error)
{
    gboolean full = FALSE;
    if (!g_hash_table_contains(history->dictionary.numbers, text) && !g_strv_contains(names_of_jemalloc, text)) {
        sqlite3_stmt *statement = database_statement(history, SQL_WORD_LAST, error);
        if (!database_step_row(history, statement, error))
            return FALSE;
        full = sqlite3_column_int64(statement, 0) >= DICTIONARY_NAMES_MAX;
        sqlite3_reset(statement);
    }
    return dictionary_number(history, full ? unknown_name : text, number, error);
}

gboolean
dictionary_metric(History *history, StatsMetric metric, guint16 *number, GError **error)
{
    *number = history->dictionary.of_metric[metric];
    if (*number != 0)
        return TRUE;
    guint64 wide;
    if (!dictionary_number(history, stats_metrics[metric].name, &wide, error))
        return FALSE;
    if (wide > G_MAXUINT16) {
        g_set_error(error, HISTORY_ERROR, HISTORY_ERROR_FAILED,
                    "%s has no number left for metric '%s'; begin a new file with --history FILE", history->path,
                    stats_metrics[metric].name);
        return FALSE;
    }
    *number = (guint16)wide;
    return TRUE;
}

const char *
dictionary_word(const History *history, guint64 number)
{
    return g_hash_table_lookup(history->dictionary.words, GSIZE_TO_POINTER(number));
}

gboolean
dictionary_is_metric(const History *history, guint16 number, StatsMetric *metric)
{
    guint found = GPOINTER_TO_UINT(g_hash_table_lookup(history->dictionary.metrics, GSIZE_TO_POINTER(number)));
    if (found == 0)
        return FALSE;
    *metric = (StatsMetric)(found - 1);
    return TRUE;
}

gboolean
database_begin(History *history, gboolean *mine, GError **error)
{
    *mine = !history->in_transaction;
    if (*mine && !database_run(history, database_statement(history, SQL_BEGIN_WRITE, error), error))
        return FALSE;
    history->in_transaction = TRUE;
    return TRUE;
}

gboolean
database_end(History *history, gboolean mine, gboolean ok, GError **error)
{
    if (!mine)
        return ok;
    history->in_transaction = FALSE;
    if (ok && database_run(history, database_statement(history, SQL_COMMIT, error), error))
        return TRUE;
    /* Fails if SQLite has rolled back itself (disk full); that error is of no interest. */
    database_run(history, database_statement(history, SQL_ROLLBACK, NULL), NULL);
    forget_words(&history->dictionary);
    database_load_words(history, NULL);
    return FALSE;
}

const char *
history_path(const History *history)
{
    return history->path;
}

guint
history_damaged_blocks(const History *history)
{
    return history->damaged;
}

char **
database_target_names(History *history, GError **error)
{
    g_autoptr(GStrvBuilder) names = g_strv_builder_new();
    sqlite3_stmt *statement = database_statement(history, SQL_TARGETS, error);
    gboolean ok;
    while (database_next(history, statement, &ok, error))
        g_strv_builder_add(names, database_text(statement, 1));
    return ok ? g_strv_builder_end(names) : NULL;
}

static char *
target_names(History *history)
{
    g_auto(GStrv) names = database_target_names(history, NULL);
    return names != NULL ? g_strjoinv(", ", names) : g_strdup("");
}

static gboolean
find_only_target(History *history, gint64 *id, GError **error)
{
    g_autoptr(GArray) ids = database_ids(history, database_statement(history, SQL_TARGETS, error), error);
    if (ids == NULL)
        return FALSE;
    if (ids->len == 1) {
        *id = g_array_index(ids, gint64, 0);
        return TRUE;
    }
    g_autofree char *names = target_names(history);
    g_set_error(error, HISTORY_ERROR, HISTORY_ERROR_MISSING,
                ids->len > 0 ? "%s holds several targets; choose one with --target: %s" : "%s holds no samples%s",
                history->path, names);
    return FALSE;
}

/* All targets of a history that is only read, which does not change. A look-up of each one would take a time that grows
 * with the square of their number, if the file has no index, or names that are not printable. */
static GHashTable *
read_targets(History *history, GError **error)
{
    g_autoptr(GHashTable) targets = g_hash_table_new_full(keyed_hash_string, g_str_equal, g_free, g_free);
    sqlite3_stmt *statement = database_statement(history, SQL_TARGETS_BY_NAME, error);
    gboolean ok;
    while (database_next(history, statement, &ok, error)) {
        const char *name = database_text(statement, 1);
        const gint64 id = sqlite3_column_int64(statement, 0);
        /* The one that is really called so comes before those that are only shown so. */
        if (sqlite3_column_int(statement, 2) != 0 || !g_hash_table_contains(targets, name))
            g_hash_table_replace(targets, g_strdup(name), g_memdup2(&id, sizeof(id)));
    }
    return ok ? g_steal_pointer(&targets) : NULL;
}

static gboolean
look_up_target(History *history, const char *target, gint64 *id, gboolean *ok, GError **error)
{
    if (history->targets == NULL)
        history->targets = read_targets(history, error);
    *ok = history->targets != NULL;
    const gint64 *found = *ok ? g_hash_table_lookup(history->targets, target) : NULL;
    if (found != NULL)
        *id = *found;
    return found != NULL;
}

static gboolean
query_target(History *history, const char *target, gint64 *id, gboolean *ok, GError **error)
{
    sqlite3_stmt *statement = database_statement(history, SQL_TARGET_FIND, error);
    database_bind_text(statement, 1, target);
    if (!database_next(history, statement, ok, error))
        return FALSE;
    *id = sqlite3_column_int64(statement, 0);
    sqlite3_reset(statement);
    return TRUE;
}

gboolean
database_find_target(History *history, const char *target, gint64 *id, GError **error)
{
    gboolean ok;
    if (target == NULL)
        return find_only_target(history, id, error);
    if ((history->mode == HISTORY_READ ? look_up_target : query_target)(history, target, id, &ok, error))
        return TRUE;
    if (!ok)
        return FALSE;
    g_autofree char *names = target_names(history);
    g_set_error(error, HISTORY_ERROR, HISTORY_ERROR_MISSING, "no target '%s' in %s%s%s", target, history->path,
                *names != '\0' ? "; it holds " : ", which is empty", names);
    return FALSE;
}

gboolean
history_check_target(History *history, const char *target, GError **error)
{
    gint64 id;
    return database_find_target(history, target, &id, error);
}
