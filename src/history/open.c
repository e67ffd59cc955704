/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a history file: finds, checks and migrates it. */
#include "history/database.h"

#include "confine/account.h"
#include "confine/keyed-hash.h"
#include "confine/rights.h"
#include "confine/walk.h"
#include "history/guarded-files.h"
#include "history/handed-internal.h"
#include "history/schema.h"
#include "stats/intern.h"
#include "text/printable.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    WAIT_MS = 2000, /* maximum wait for another process's transaction */
    SET_UP_AGAIN_US = 5000,
    FILE_MODE = 0600,
};

char *
history_default_path(void)
{
    const char *named = g_getenv("JESCOPE_HISTORY");
    if (named != NULL && *named != '\0')
        return g_strdup(named);
    g_autofree char *state = rights_state_directory();
    return g_build_filename(state, "jescope", "history.db", NULL);
}

static gboolean
execute(History *history, const char *sql, GError **error)
{
    if (sqlite3_exec(history->db, sql, NULL, NULL, NULL) == SQLITE_OK)
        return TRUE;
    database_fail(history, error);
    return FALSE;
}

static gboolean
read_pragma(History *history, const char *sql, gint64 *value, GError **error)
{
    sqlite3_stmt *statement = NULL;
    gboolean ok;
    if (sqlite3_prepare_v2(history->db, sql, -1, &statement, NULL) != SQLITE_OK) {
        database_fail(history, error);
        return FALSE;
    }
    if (database_next(history, statement, &ok, error))
        *value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return ok;
}

/* Checks that the file is a history; *VERSION is 0 if it is empty. */
static gboolean
check_file(History *history, gint64 *version, GError **error)
{
    gint64 application = 0, tables = 0;
    if (!read_pragma(history, "PRAGMA application_id", &application, error) ||
        !read_pragma(history, "PRAGMA user_version", version, error) ||
        !read_pragma(history, "SELECT count(*) FROM sqlite_schema", &tables, error))
        return FALSE;
    if (application != SCHEMA_APPLICATION && (tables > 0 || history->mode == HISTORY_READ)) {
        g_set_error(error, HISTORY_ERROR, HISTORY_ERROR_NOT_HISTORY,
                    "%s is not a history file; name another with --history FILE", history->path);
        return FALSE;
    }
    if (*version > schema_version) {
        g_set_error(
            error, HISTORY_ERROR, HISTORY_ERROR_NEWER,
            "%s was written by a newer jescope (schema %d, this one knows %d); upgrade, or use another --history FILE",
            history->path, (int)*version, schema_version);
        return FALSE;
    }
    return TRUE;
}

static gboolean
run_steps(History *history, GError **error)
{
    /* Another process may have migrated it since. */
    gint64 version = 0;
    if (!check_file(history, &version, error))
        return FALSE;
    for (int step = (int)version; step < schema_version; step++)
        if (!execute(history, schema_steps[step], error))
            return FALSE;
    g_autofree char *stamps =
        g_strdup_printf("PRAGMA application_id = %d; PRAGMA user_version = %d", SCHEMA_APPLICATION, schema_version);
    return execute(history, stamps, error);
}

static gboolean
migrate(History *history, GError **error)
{
    if (!execute(history, "BEGIN IMMEDIATE", error))
        return FALSE;
    if (run_steps(history, error) && execute(history, "COMMIT", error))
        return TRUE;
    sqlite3_exec(history->db, "ROLLBACK", NULL, NULL, NULL);
    return FALSE;
}

/* In one transaction, so that a file that another process is creating appears either empty or complete. */
static gboolean
check_snapshot(History *history, gint64 *version, GError **error)
{
    if (!execute(history, "BEGIN", error))
        return FALSE;
    gboolean ok = check_file(history, version, error);
    sqlite3_exec(history->db, "ROLLBACK", NULL, NULL, NULL);
    return ok;
}

static gboolean
try_set_up_writer(History *history, GError **error)
{
    gint64 version = 0;
    if (!check_snapshot(history, &version, error))
        return FALSE;
    /* auto_vacuum can only be set before tables are created. */
    if (version == 0 && !execute(history, "PRAGMA auto_vacuum = INCREMENTAL", error))
        return FALSE;
    if (!execute(history, "PRAGMA journal_mode = WAL", error))
        return FALSE;
    if (version < schema_version && !migrate(history, error))
        return FALSE;
    return execute(history, "PRAGMA synchronous = NORMAL", error);
}

/* While another connection switches an empty file to WAL mode, SQLite fails without waiting for the busy timeout. */
static gboolean
set_up_writer(History *history, GError **error)
{
    gint64 until_us = g_get_monotonic_time() + (gint64)WAIT_MS * 1000;
    for (;;) {
        g_autoptr(GError) cause = NULL;
        if (try_set_up_writer(history, &cause))
            return TRUE;
        if (!g_error_matches(cause, HISTORY_ERROR, HISTORY_ERROR_LOCKED) || g_get_monotonic_time() >= until_us) {
            g_propagate_error(error, g_steal_pointer(&cause));
            return FALSE;
        }
        g_usleep(SET_UP_AGAIN_US);
    }
}

/* Uses one snapshot for all reads, so that concurrent packing has no effect. */
static gboolean
set_up_reader(History *history, GError **error)
{
    gint64 version = 0;
    /* A confined process cannot create temporary files for sorting. */
    if (handed_is_confined() && !execute(history, "PRAGMA temp_store = MEMORY", error))
        return FALSE;
    if (!execute(history, "BEGIN", error) || !check_file(history, &version, error))
        return FALSE;
    if (version >= schema_readable)
        return TRUE;
    g_set_error(error, HISTORY_ERROR, HISTORY_ERROR_FAILED,
                "%s was written by an older jescope (schema %d, this one knows %d); 'jescope import' or 'jescope "
                "collect' brings it up to date",
                history->path, (int)version, schema_version);
    return FALSE;
}

static gboolean
make_directory(const char *path, GError **error)
{
    g_autofree char *directory = g_path_get_dirname(path);
    const int made = walk_open_directory(directory, WALK_MAKES_DIRECTORIES);
    if (made >= 0) {
        close(made);
        return TRUE;
    }
    g_set_error(error, HISTORY_ERROR, HISTORY_ERROR_FAILED, "cannot create the directory %s: %s", directory,
                walk_strerror(errno));
    return FALSE;
}

static gboolean
check_path(const char *path, HistoryMode mode, GError **error)
{
    struct stat status;
    if (handed_stat(handed_place(path), &status) != 0) {
        if (mode == HISTORY_WRITE && errno == ENOENT)
            return make_directory(path, error);
        g_set_error(error, HISTORY_ERROR, errno == ENOENT ? HISTORY_ERROR_MISSING : HISTORY_ERROR_FAILED,
                    "cannot open %s: %s%s", path,
                    errno == ESTALE ? "another file has taken its place; start again" : walk_strerror(errno),
                    errno == ENOENT ? "; 'jescope collect' and 'jescope import' create one" : "");
        return FALSE;
    }
    if (S_ISREG(status.st_mode) && (status.st_size > 0 || mode == HISTORY_WRITE))
        return TRUE;
    g_set_error(error, HISTORY_ERROR, HISTORY_ERROR_NOT_HISTORY,
                "%s is not a history file; name another with --history FILE", path);
    return FALSE;
}

/* A file that another user has created may contain triggers, views and function calls: disables these. */
static void
refuse_programs(sqlite3 *db)
{
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
}

static void
to_printable(sqlite3_context *context, int n, sqlite3_value **values)
{
    const char *text = (const char *)sqlite3_value_text(values[0]);
    if (text != NULL)
        sqlite3_result_text(context, text_printable(text), -1, g_free);
}

/* NULL, or what another user has written instead of a number, is its own account. */
static void
to_account(sqlite3_context *context, int n, sqlite3_value **values)
{
    const gint64 user = sqlite3_value_int64(values[0]);
    if (sqlite3_value_type(values[0]) == SQLITE_INTEGER && user >= 0 && user <= G_MAXUINT32)
        sqlite3_result_int64(context, account_of((uid_t)user));
    else
        sqlite3_result_value(context, values[0]);
}

static gboolean
connect_database(History *history, const char *name, int flags, GError **error)
{
    g_clear_pointer(&history->db, sqlite3_close_v2);
    if (sqlite3_open_v2(name, &history->db, flags | SQLITE_OPEN_NOMUTEX, guarded_files()) != SQLITE_OK) {
        database_fail(history, error);
        return FALSE;
    }
    refuse_programs(history->db);
    sqlite3_create_function(history->db, "printable", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY, NULL,
                            to_printable, NULL, NULL);
    sqlite3_create_function(history->db, "account", 1, SQLITE_UTF8 | SQLITE_DIRECTONLY, NULL, to_account, NULL, NULL);
    sqlite3_busy_timeout(history->db, WAIT_MS);
    return TRUE;
}

/* A WAL database on a read-only file system cannot be opened normally. If its log is empty, it can be read as
 * immutable. */
static gboolean
connect_immutable(History *history, GError **error)
{
    const char *place = handed_place(history->path);
    g_autofree char *log = g_strconcat(place, "-wal", NULL);
    struct stat status;
    if (handed_stat(log, &status) == 0 && status.st_size > 0) {
        g_set_error(error, HISTORY_ERROR, HISTORY_ERROR_READ_ONLY,
                    "%s has unfinished writes (%s) but is read-only; copy both files to a writable place",
                    history->path, log);
        return FALSE;
    }
    g_autofree char *absolute = g_canonicalize_filename(place, NULL);
    g_autofree char *plain = g_filename_to_uri(absolute, NULL, error);
    if (plain == NULL)
        return FALSE;
    g_autofree char *uri = g_strconcat(plain, "?immutable=1", NULL);
    return connect_database(history, uri, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, error) &&
           set_up_reader(history, error);
}

static gboolean
open_reader(History *history, GError **error)
{
    g_autoptr(GError) cause = NULL;
    if (connect_database(history, handed_place(history->path), SQLITE_OPEN_READONLY, &cause) &&
        set_up_reader(history, &cause))
        return TRUE;
    int result = sqlite3_errcode(history->db) & 0xff;
    const gboolean refused = sqlite3_system_errno(history->db) == GUARDED_FILES_REFUSED;
    if ((result == SQLITE_CANTOPEN && !refused) || result == SQLITE_READONLY)
        return connect_immutable(history, error);
    g_propagate_error(error, g_steal_pointer(&cause));
    return FALSE;
}

/* Creates the file readable only by its owner, whatever the umask, since it describes what memory is used for; SQLite
 * gives its auxiliary files the same mode. */
static gboolean
make_private_file(const char *path, GError **error)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, FILE_MODE);
    if (fd < 0 && errno != EEXIST) {
        g_set_error(error, HISTORY_ERROR, HISTORY_ERROR_FAILED, "cannot make %s: %s", path, g_strerror(errno));
        return FALSE;
    }
    if (fd >= 0)
        close(fd);
    return TRUE;
}

/* The name of the file to write, without links, to be freed. In a directory of another user, a link of his would have a
 * file made, or written to, wherever he likes. */
static char *
place_to_write(const char *path, GError **error)
{
    struct stat status;
    Walk walk;
    const gboolean link = lstat(path, &status) == 0 && S_ISLNK(status.st_mode);
    g_autofree char *parent = g_path_get_dirname(path), *name = g_path_get_basename(path);
    int code = walk_to(&walk, parent, WALK_FAILS);
    if (code == 0 && link && !walk.led) {
        walk_end(&walk);
        code = walk_to(&walk, path, WALK_FAILS);
    }
    g_autofree char *whole = code == 0 && !walk.led ? walk_name(walk.at) : NULL;
    walk_end(&walk);
    if (whole != NULL)
        return link ? g_steal_pointer(&whole) : g_build_filename(whole, name, NULL);
    if (walk.led)
        g_set_error(error, HISTORY_ERROR, HISTORY_ERROR_FAILED,
                    "%s is a link of another user, or one leads there; name the file itself with --history FILE", path);
    else
        g_set_error(error, HISTORY_ERROR, HISTORY_ERROR_FAILED, "cannot open %s: %s", path, g_strerror(code));
    return NULL;
}

/* Whether no others can write to PATH, which leads through no link, or it does not exist. A group of a user's own is
 * his matter. */
static gboolean
is_safe(const char *path)
{
    struct stat status;
    const mode_t of_others = geteuid() == 0 ? S_IWGRP | S_IWOTH : S_IWOTH;
    if (lstat(path, &status) != 0)
        return errno == ENOENT;
    return rights_are_trusted(status.st_uid) && (status.st_mode & of_others) == 0;
}

/* SQLite opens, maps and locks files beside the database by their names, and cannot be told to distrust them: who can
 * put them there, or write to them, ends or blocks the process. SQLite gives them the owner and mode of the database.
 */
static gboolean
check_files(const char *place, GError **error)
{
    static const char *const endings[] = {"", "-wal", "-shm", "-journal"};
    g_autofree char *directory = g_path_get_dirname(place);
    if (!is_safe(directory)) {
        g_set_error(
            error, HISTORY_ERROR, HISTORY_ERROR_FAILED,
            "cannot write %s: other users can write to its directory, and could stop jescope by files that they put "
            "beside it; name a file in another directory with --history FILE",
            place);
        return FALSE;
    }
    for (gsize i = 0; i < G_N_ELEMENTS(endings); i++) {
        g_autofree char *file = g_strconcat(place, endings[i], NULL);
        if (is_safe(file))
            continue;
        g_set_error(error, HISTORY_ERROR, HISTORY_ERROR_FAILED,
                    "cannot write %s: other users can write to %s, and could stop jescope by that; change its owner "
                    "and mode, or name another file with --history FILE",
                    place, file);
        return FALSE;
    }
    return TRUE;
}

static gboolean
open_writer(History *history, GError **error)
{
    /* SQLite would silently open the file read-only. */
    if (g_access(history->path, F_OK) == 0 && g_access(history->path, W_OK) != 0) {
        g_set_error(error, HISTORY_ERROR, HISTORY_ERROR_READ_ONLY,
                    "%s may not be written to (%s); use another --history FILE", history->path, g_strerror(errno));
        return FALSE;
    }
    g_autofree char *place = place_to_write(history->path, error);
    if (place == NULL || !check_files(place, error) || !make_private_file(place, error))
        return FALSE;
    return connect_database(history, place, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW, error) &&
           set_up_writer(history, error);
}

static History *
new_history(const char *path, HistoryMode mode)
{
    History *history = g_new0(History, 1);
    history->path = g_strdup(path);
    history->mode = mode;
    history->dictionary.numbers =
        g_hash_table_new_full(keyed_hash_string, g_str_equal, (GDestroyNotify)stats_intern_unref, NULL);
    /* Another user may have chosen the numbers. */
    history->dictionary.words =
        g_hash_table_new_full(keyed_hash_pointer, NULL, NULL, (GDestroyNotify)stats_intern_unref);
    history->dictionary.metrics = g_hash_table_new(keyed_hash_pointer, NULL);
    history->loose = g_hash_table_new_full(keyed_hash_int64, g_int64_equal, g_free, g_free);
    return history;
}

History *
history_open_in_memory(GError **error)
{
    g_autoptr(History) history = new_history("the history in memory", HISTORY_WRITE);
    if (!connect_database(history, ":memory:", SQLITE_OPEN_READWRITE, error) || !set_up_writer(history, error))
        return NULL;
    return g_steal_pointer(&history);
}

History *
history_open(const char *path, HistoryMode mode, GError **error)
{
    if (!check_path(path, mode, error))
        return NULL;
    g_autoptr(History) history = new_history(path, mode);
    if (!(mode == HISTORY_READ ? open_reader(history, error) : open_writer(history, error)) ||
        !database_load_words(history, error))
        return NULL;
    return g_steal_pointer(&history);
}

void
history_close(History *history)
{
    if (history == NULL)
        return;
    for (int i = 0; i < SQL_COUNT; i++)
        sqlite3_finalize(history->statements[i]);
    sqlite3_close_v2(history->db);
    g_hash_table_unref(history->dictionary.numbers);
    g_hash_table_unref(history->dictionary.words);
    g_hash_table_unref(history->dictionary.metrics);
    g_hash_table_unref(history->loose);
    g_clear_pointer(&history->targets, g_hash_table_unref);
    g_free(history->path);
    g_free(history);
}
