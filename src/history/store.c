/* SPDX-License-Identifier: Apache-2.0 */
#include "history/store.h"

#include "history/forget.h"

enum {
    LOOSE_MAX = 256,   /* unpacked samples of an incarnation that trigger packing */
    COUNTS_MAX = 4096, /* incarnations of which their number is remembered; processes may be any number */
    CLAIMS = 1024,     /* new names after which those of users with too many are forgotten */
};

gboolean
store_target(History *history, const char *name, gint64 *id, GError **error)
{
    sqlite3_stmt *statement = database_statement(history, SQL_TARGET_ADD, error);
    database_bind_text(statement, 1, name);
    return database_run(history, statement, error) && database_find_target(history, name, id, error);
}

static gboolean
add_owner(History *history, const char *name, const HistoryOwner *owner, GError **error)
{
    sqlite3_stmt *statement = database_statement(history, SQL_OWNER_ADD, error);
    database_bind(statement, 0, owner->user);
    database_bind_text(statement, 1, name);
    database_bind_text(statement, 3, owner->unit);
    return database_run(history, statement, error) && (++history->claims % CLAIMS != 0 || forget_names(history, error));
}

static gboolean
is_owner(sqlite3_stmt *statement, const HistoryOwner *owner)
{
    const char *unit = (const char *)sqlite3_column_text(statement, 1);
    gboolean same_unit = unit == NULL || *unit == '\0' || *owner->unit == '\0' || g_str_equal(unit, owner->unit);
    return sqlite3_column_int64(statement, 0) == owner->user && same_unit;
}

gboolean
history_claim(History *history, const char *name, const HistoryOwner *owner, gboolean *granted, GError **error)
{
    sqlite3_stmt *statement = database_statement(history, SQL_OWNER_FIND, error);
    gboolean ok;
    database_bind_text(statement, 1, name);
    gboolean row = database_next(history, statement, &ok, error);
    *granted = !row || is_owner(statement, owner);
    sqlite3_reset(statement);
    return row || (ok && add_owner(history, name, owner, error));
}

char *
history_boot(void)
{
    char *boot = NULL;
    return g_file_get_contents("/proc/sys/kernel/random/boot_id", &boot, NULL, NULL) ? g_strstrip(boot) : g_strdup("");
}

static void
bind_life(sqlite3_stmt *statement, gint64 target, const HistoryLife *life)
{
    database_bind(statement, target, life->source, life->pid, life->start_ticks);
    database_bind_text(statement, 5, life->boot);
}

gboolean
history_find_series(History *history, const HistoryLife *life, char **series, GError **error)
{
    g_autofree char *prefix = g_strconcat(life->target, "/", NULL);
    sqlite3_stmt *statement = database_statement(history, SQL_LIFE_SERIES, error);
    gboolean ok;
    bind_life(statement, 0, life);
    database_bind_text(statement, 1, life->target);
    database_bind_text(statement, 6, prefix);
    *series = NULL;
    while (database_next(history, statement, &ok, error))
        *series = g_strdup((const char *)sqlite3_column_text(statement, 0));
    return ok;
}

static gboolean
find_life(History *history, gint64 target, const HistoryLife *life, gint64 *id, GError **error)
{
    sqlite3_stmt *statement = database_statement(history, SQL_LIFE_FIND, error);
    gboolean ok;
    bind_life(statement, target, life);
    *id = database_next(history, statement, &ok, error) ? sqlite3_column_int64(statement, 0) : 0;
    sqlite3_reset(statement);
    return ok;
}

char *
history_target_of(History *history, const HistoryLife *life, GError **error)
{
    sqlite3_stmt *statement = database_statement(history, SQL_LIFE_NAME, error);
    char *name = NULL;
    gboolean ok;
    bind_life(statement, 0, life);
    database_bind_text(statement, 1, life->target);
    while (database_next(history, statement, &ok, error))
        name = g_strdup((const char *)sqlite3_column_text(statement, 0));
    if (ok && name == NULL)
        g_set_error(error, HISTORY_ERROR, HISTORY_ERROR_MISSING,
                    "%s has no samples of process %" G_GINT64_FORMAT "%s%s, which 'jescope collect' writes",
                    history_path(history), life->pid, life->target != NULL ? " under the name " : "",
                    life->target != NULL ? life->target : "");
    return name;
}

static gboolean
update_life(History *history, gint64 id, const HistoryLife *life, GError **error)
{
    sqlite3_stmt *statement = database_statement(history, SQL_LIFE_UPDATE, error);
    database_bind(statement, id, 0, life->every_us);
    database_bind_text(statement, 2, life->version);
    return database_run(history, statement, error);
}

static gboolean
add_life(History *history, gint64 target, const HistoryLife *life, gint64 *id, GError **error)
{
    sqlite3_stmt *statement = database_statement(history, SQL_LIVES_LOOSE, error);
    database_bind(statement, target);
    g_autoptr(GArray) earlier = database_ids(history, statement, error);
    if (earlier == NULL)
        return FALSE;
    for (guint i = 0; i < earlier->len; i++)
        if (!store_pack(history, g_array_index(earlier, gint64, i), error))
            return FALSE;
    statement = database_statement(history, SQL_LIFE_ADD, error);
    bind_life(statement, target, life);
    database_bind_text(statement, 6, life->version);
    if (statement != NULL)
        sqlite3_bind_int64(statement, 7, life->every_us);
    if (!database_run(history, statement, error))
        return FALSE;
    *id = sqlite3_last_insert_rowid(history->db);
    return TRUE;
}

/* Replaces the texts: a process may execute another program. */
static gboolean
put_process(History *history, gint64 id, const HistoryProcess *process, GError **error)
{
    const char *const texts[] = {process->user, process->arguments, process->group};
    sqlite3_stmt *statement;
    if (process->user == NULL)
        return TRUE;
    statement = database_statement(history, SQL_PROCESS_PUT, error);
    database_bind(statement, id);
    for (guint i = 0; i < G_N_ELEMENTS(texts); i++)
        database_bind_text(statement, (int)i + 2, texts[i] != NULL ? texts[i] : "");
    return database_run(history, statement, error);
}

static gboolean
add_note(History *history, const char *target, gint64 time_us, const char *text, GError **error)
{
    gint64 id;
    if (!store_target(history, target, &id, error))
        return FALSE;
    sqlite3_stmt *statement = database_statement(history, SQL_NOTE_ADD, error);
    database_bind(statement, id, time_us);
    database_bind_text(statement, 3, text);
    return database_run(history, statement, error);
}

gboolean
history_note(History *history, const char *target, gint64 time_us, const char *text, GError **error)
{
    gboolean mine;
    return database_begin(history, &mine, error) &&
           database_end(history, mine, add_note(history, target, time_us, text, error), error);
}

static gboolean
count_lives(History *history, gint64 target, const HistoryLife *life, gint64 *count, gint64 *last, GError **error)
{
    sqlite3_stmt *statement = database_statement(history, SQL_LIVES_OF_WRITER, error);
    database_bind(statement, target, life->source, 0, HISTORY_LIVES_OF_WRITER);
    database_bind_text(statement, 3, life->boot);
    if (!database_step_row(history, statement, error))
        return FALSE;
    *count = sqlite3_column_int64(statement, 0);
    *last = sqlite3_column_int64(statement, 1);
    sqlite3_reset(statement);
    return TRUE;
}

/* Each version that a log names is a life, and its writer may name any number. */
static gboolean
add_life_of_log(History *history, gint64 target, const HistoryLife *life, gint64 *id, GError **error)
{
    gint64 count;
    if (!count_lives(history, target, life, &count, id, error))
        return FALSE;
    if (count >= HISTORY_LIVES_OF_WRITER)
        return TRUE;
    g_autofree char *full = g_strdup_printf("its log has named %d versions of jemalloc; samples of further ones are "
                                            "kept as those of the last",
                                            HISTORY_LIVES_OF_WRITER);
    return add_life(history, target, life, id, error) &&
           (count + 1 < HISTORY_LIVES_OF_WRITER || history_note(history, life->target, g_get_real_time(), full, error));
}

static gboolean
begin(History *history, const HistoryLife *life, gint64 *id, GError **error)
{
    gint64 target;
    if (!store_target(history, life->target, &target, error) || !find_life(history, target, life, id, error))
        return FALSE;
    const gboolean known = *id != 0;
    return (known                                 ? update_life(history, *id, life, error)
            : life->source == HISTORY_SOURCE_LIVE ? add_life(history, target, life, id, error)
                                                  : add_life_of_log(history, target, life, id, error)) &&
           put_process(history, *id, &life->process, error);
}

gboolean
history_begin(History *history, const HistoryLife *life, gint64 *incarnation, GError **error)
{
    gboolean mine;
    gint64 id = 0;
    if (!database_begin(history, &mine, error) || !database_end(history, mine, begin(history, life, &id, error), error))
        return FALSE;
    *incarnation = id;
    return TRUE;
}

gboolean
history_has(History *history, gint64 incarnation)
{
    sqlite3_stmt *statement = database_statement(history, SQL_LIFE_TARGET, NULL);
    gboolean ok;
    database_bind(statement, incarnation);
    const gboolean has = database_next(history, statement, &ok, NULL);
    if (statement != NULL)
        sqlite3_reset(statement);
    return has;
}

char *
history_log_life(const StatsSample *sample)
{
    return g_strdup_printf("%s\n%s", sample->version != NULL ? sample->version : "",
                           sample->stream != NULL ? sample->stream : "");
}

char *
history_log_target(History *history, const char *name, const char *stream)
{
    sqlite3_stmt *statement = database_statement(history, SQL_LIFE_WRITERS, NULL);
    gboolean ok;
    database_bind_text(statement, 1, name);
    database_bind_text(statement, 2, stream != NULL ? stream : "");
    gboolean others = database_next(history, statement, &ok, NULL) && sqlite3_column_int(statement, 0) > 0 &&
                      sqlite3_column_int(statement, 1) == 0;
    if (statement != NULL)
        sqlite3_reset(statement);
    return others && stream != NULL ? g_strconcat(name, "/", stream, NULL) : g_strdup(name);
}

static gboolean
life_target(History *history, gint64 incarnation, gint64 *target, GError **error)
{
    sqlite3_stmt *statement = database_statement(history, SQL_LIFE_TARGET, error);
    database_bind(statement, incarnation);
    if (!database_step_row(history, statement, error))
        return FALSE;
    *target = sqlite3_column_int64(statement, 0);
    sqlite3_reset(statement);
    return TRUE;
}

static gboolean
add_block(History *history, gint64 incarnation, const StatsSample *sample, HistoryParts parts, GError **error)
{
    gint64 target;
    if (!life_target(history, incarnation, &target, error))
        return FALSE;
    g_autoptr(Block) block = block_new(target, incarnation);
    return block_append(block, history, sample, parts, error) && block_write(block, history, STORE_LEVEL_LOOSE, error);
}

static GArray *
loose_blocks(History *history, gint64 incarnation, GError **error)
{
    sqlite3_stmt *statement = database_statement(history, SQL_BLOCKS_LOOSE, error);
    database_bind(statement, incarnation);
    return database_ids(history, statement, error);
}

/* Moves the loose block ID to the end of *PACKED, which is first written if it is full. A damaged block is left
 * unchanged. */
static gboolean
pack_block(History *history, gint64 id, Block **packed, GError **error)
{
    g_autoptr(GError) cause = NULL;
    g_autoptr(Block) loose = block_read(history, id, HISTORY_EVERYTHING, &cause);
    if (loose == NULL || !block_load(loose, &cause)) {
        if (g_error_matches(cause, HISTORY_ERROR, HISTORY_ERROR_DAMAGED))
            return TRUE;
        g_propagate_error(error, g_steal_pointer(&cause));
        return FALSE;
    }
    if (*packed != NULL && !block_takes(*packed, block_time(loose, 0), block_columns(loose))) {
        if (!block_write(*packed, history, STORE_LEVEL_PACKED, error))
            return FALSE;
        g_clear_pointer(packed, block_free);
    }
    if (*packed == NULL)
        *packed = block_new(loose->target, loose->incarnation);
    block_copy_row(*packed, loose, 0);
    return block_delete(history, id, error);
}

static gboolean
pack_all(History *history, GArray *ids, GError **error)
{
    Block *packed = NULL;
    gboolean ok = TRUE;
    for (guint i = 0; ok && i < ids->len; i++)
        ok = pack_block(history, g_array_index(ids, gint64, i), &packed, error);
    ok = ok && (packed == NULL || block_write(packed, history, STORE_LEVEL_PACKED, error));
    block_free(packed);
    return ok;
}

gboolean
store_pack(History *history, gint64 incarnation, GError **error)
{
    gboolean mine;
    if (!database_begin(history, &mine, error))
        return FALSE;
    g_autoptr(GArray) ids = loose_blocks(history, incarnation, error);
    gboolean ok = ids != NULL && (ids->len < 2 || pack_all(history, ids, error));
    g_hash_table_remove(history->loose, &incarnation);
    return database_end(history, mine, ok, error);
}

static guint *
loose_count(History *history, gint64 incarnation)
{
    guint *count = g_hash_table_lookup(history->loose, &incarnation);
    if (count == NULL) {
        if (g_hash_table_size(history->loose) >= COUNTS_MAX)
            g_hash_table_remove_all(history->loose);
        g_autoptr(GArray) ids = loose_blocks(history, incarnation, NULL);
        count = g_new(guint, 1);
        *count = ids != NULL ? ids->len : 0;
        g_hash_table_insert(history->loose, g_memdup2(&incarnation, sizeof(incarnation)), count);
    }
    return count;
}

/* The sample is stored; if packing fails, it is retried with the next sample. */
static void
note_loose(History *history, gint64 incarnation)
{
    guint *loose = g_hash_table_lookup(history->loose, &incarnation);
    if (loose != NULL)
        ++*loose;
    else
        loose = loose_count(history, incarnation);
    if (*loose >= LOOSE_MAX && !history->in_transaction)
        store_pack(history, incarnation, NULL);
}

gboolean
history_add(History *history, gint64 incarnation, const StatsSample *sample, HistoryParts parts, GError **error)
{
    gboolean mine;
    g_return_val_if_fail(sample->time_us != STATS_TIME_UNKNOWN, FALSE);
    if (!database_begin(history, &mine, error) ||
        !database_end(history, mine, add_block(history, incarnation, sample, parts, error), error))
        return FALSE;
    note_loose(history, incarnation);
    return TRUE;
}

gboolean
history_record(History *history, const HistoryLife *life, const StatsSample *sample, HistoryParts parts, GError **error)
{
    gboolean mine;
    gint64 id = 0;
    g_return_val_if_fail(sample->time_us != STATS_TIME_UNKNOWN, FALSE);
    if (!database_begin(history, &mine, error) ||
        !database_end(history, mine, begin(history, life, &id, error) && add_block(history, id, sample, parts, error),
                      error))
        return FALSE;
    note_loose(history, id);
    return TRUE;
}

static sqlite3_stmt *
digest_statement(History *history, Sql id, gint64 target, GBytes *digest, GError **error)
{
    sqlite3_stmt *statement = database_statement(history, id, error);
    database_bind(statement, target);
    database_bind_bytes(statement, 2, digest);
    return statement;
}

gboolean
store_knows_digest(History *history, gint64 target, GBytes *digest, gboolean *known, GError **error)
{
    sqlite3_stmt *statement = digest_statement(history, SQL_SEEN_FIND, target, digest, error);
    gboolean ok;
    *known = database_next(history, statement, &ok, error);
    sqlite3_reset(statement);
    return ok;
}

gboolean
store_note_digest(History *history, gint64 target, GBytes *digest, GError **error)
{
    return database_run(history, digest_statement(history, SQL_SEEN_ADD, target, digest, error), error);
}
