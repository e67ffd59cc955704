/* SPDX-License-Identifier: Apache-2.0 */
#include "history/dumps.h"

#include "history/database.h"
#include "wire/transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

enum {
    LEVEL = 3, /* dumps are repetitive text: higher levels save little */
    CHUNK = 256 * 1024,
    STORED_MAX = HISTORY_DUMP_MAX, /* limit for a dump that does not compress */
    RECORDINGS_OF_USER = 4096,     /* any number of targets may be a user's */
};

static gboolean
fail_system(const char *what, GError **error)
{
    g_set_error(error, HISTORY_ERROR, HISTORY_ERROR_FAILED, "cannot %s: %s", what, g_strerror(errno));
    return FALSE;
}

static gboolean
compress_chunk(ZSTD_CCtx *context, ZSTD_inBuffer *in, ZSTD_EndDirective end, GByteArray *out)
{
    char room[64 * 1024];
    for (gsize left = 1; left != 0 && (end == ZSTD_e_end || in->pos < in->size);) {
        ZSTD_outBuffer target = {.dst = room, .size = sizeof(room)};
        left = ZSTD_compressStream2(context, &target, in, end);
        if (ZSTD_isError(left) || out->len + target.pos > STORED_MAX)
            return FALSE;
        g_byte_array_append(out, target.dst, (guint)target.pos);
    }
    return TRUE;
}

static gboolean
set_too_large(GError **error)
{
    g_set_error(error, HISTORY_ERROR, HISTORY_ERROR_FAILED,
                "the dump is larger than the %d MiB that are kept; take it with 'jescope dump'",
                HISTORY_DUMP_MAX / (1024 * 1024));
    return FALSE;
}

static gboolean
compress_all(ZSTD_CCtx *context, int descriptor, GByteArray *out, guint64 *bytes, GError **error)
{
    g_autofree char *chunk = g_malloc(CHUNK);
    for (guint64 offset = 0;; offset = *bytes) {
        ssize_t length = pread(descriptor, chunk, CHUNK, (off_t)offset);
        if (length < 0 && errno == EINTR)
            continue;
        if (length < 0)
            return fail_system("read the dump", error);
        *bytes = offset + (guint64)length;
        ZSTD_inBuffer in = {.src = chunk, .size = (gsize)length};
        if (*bytes > HISTORY_DUMP_MAX || !compress_chunk(context, &in, length > 0 ? ZSTD_e_continue : ZSTD_e_end, out))
            return set_too_large(error);
        if (length == 0)
            return TRUE;
    }
}

static GByteArray *
compress_file(int descriptor, guint64 *bytes, GError **error)
{
    g_autoptr(GByteArray) out = g_byte_array_new();
    ZSTD_CCtx *context = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, LEVEL);
    *bytes = 0;
    gboolean ok = compress_all(context, descriptor, out, bytes, error);
    ZSTD_freeCCtx(context);
    return ok ? g_steal_pointer(&out) : NULL;
}

void
history_packed_dump_clear(HistoryPackedDump *packed)
{
    g_clear_pointer(&packed->name, g_free);
    g_clear_pointer(&packed->content, g_bytes_unref);
}

gboolean
history_dump_pack(int descriptor, HistoryPackedDump *packed, GError **error)
{
    guint64 bytes;
    GByteArray *content = compress_file(descriptor, &bytes, error);
    if (content == NULL)
        return FALSE;
    *packed = (HistoryPackedDump){
        .name = g_strdup("the dump"), .bytes = bytes, .content = g_byte_array_free_to_bytes(content)};
    return TRUE;
}

static gboolean
add_dump(History *history, gint64 incarnation, GBytes *content, RouteDump *dump, GError **error)
{
    sqlite3_stmt *statement = database_statement(history, SQL_DUMP_ADD, error);
    database_bind(statement, incarnation, dump->recording, dump->taken_ms, (gint64)dump->bytes);
    database_bind_bytes(statement, 5, content);
    if (!database_step_row(history, statement, error))
        return FALSE;
    dump->id = (guint64)sqlite3_column_int64(statement, 0);
    return database_run(history, statement, error);
}

gboolean
history_dump_add_packed(History *history, gint64 incarnation, const HistoryPackedDump *packed, RouteDump *dump,
                        GError **error)
{
    RouteDump kept = *dump;
    gboolean mine;
    kept.bytes = packed->bytes;
    if (!database_begin(history, &mine, error) ||
        !database_end(history, mine, add_dump(history, incarnation, packed->content, &kept, error), error))
        return FALSE;
    *dump = kept;
    return TRUE;
}

GArray *
history_dumps(History *history, gint64 incarnation, guint max, GError **error)
{
    g_autoptr(GArray) dumps = g_array_new(FALSE, FALSE, sizeof(RouteDump));
    sqlite3_stmt *statement = database_statement(history, SQL_DUMPS, error);
    gboolean ok;
    database_bind(statement, incarnation, max);
    while (database_next(history, statement, &ok, error)) {
        RouteDump dump = {
            .id = (guint64)sqlite3_column_int64(statement, 0),
            .recording = (guint64)sqlite3_column_int64(statement, 1),
            .taken_ms = (guint64)sqlite3_column_int64(statement, 2),
            .bytes = (guint64)sqlite3_column_int64(statement, 3),
        };
        g_array_append_val(dumps, dump);
    }
    return ok ? g_steal_pointer(&dumps) : NULL;
}

static gboolean
set_damaged(const HistoryPackedDump *packed, GError **error)
{
    g_set_error(error, HISTORY_ERROR, HISTORY_ERROR_DAMAGED, "%s is damaged", packed->name);
    return FALSE;
}

/* FALSE with errno, or with *LEFT nonzero for a malformed frame. */
static gboolean
decompress(ZSTD_DCtx *context, ZSTD_inBuffer in, int descriptor, guint64 *left)
{
    g_autofree char *chunk = g_malloc(CHUNK);
    gsize wanted = 1;
    while (wanted != 0) {
        ZSTD_outBuffer out = {.dst = chunk, .size = CHUNK};
        gsize before = in.pos;
        wanted = ZSTD_decompressStream(context, &out, &in);
        if (ZSTD_isError(wanted) || out.pos > *left || (out.pos == 0 && in.pos == before && wanted != 0)) {
            *left = MAX(*left, 1);
            return FALSE;
        }
        *left -= out.pos;
        if (!transfer_write(descriptor, chunk, out.pos)) {
            *left = 0;
            return FALSE;
        }
    }
    return *left == 0;
}

/* Sets the time of the dump: the symbolizer ignores files that are newer. */
static gboolean
date(int descriptor, gint64 ms)
{
    const struct timespec taken = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    const struct timespec times[] = {taken, taken};
    return futimens(descriptor, times) == 0;
}

gboolean
history_dump_write(const HistoryPackedDump *packed, int descriptor, GError **error)
{
    guint64 left = packed->bytes;
    ZSTD_inBuffer in = {.src = g_bytes_get_data(packed->content, NULL), .size = g_bytes_get_size(packed->content)};
    if (left > HISTORY_DUMP_MAX || in.src == NULL)
        return set_damaged(packed, error);
    ZSTD_DCtx *context = ZSTD_createDCtx();
    gboolean ok = decompress(context, in, descriptor, &left);
    ZSTD_freeDCtx(context);
    if (ok)
        return TRUE;
    return left != 0 ? set_damaged(packed, error) : fail_system("write a memory file", error);
}

static gboolean
unpack(const HistoryPackedDump *packed, int descriptor, GError **error)
{
    if (!history_dump_write(packed, descriptor, error))
        return FALSE;
    if (lseek(descriptor, 0, SEEK_SET) == 0 && date(descriptor, packed->taken_ms) &&
        fcntl(descriptor, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) == 0)
        return TRUE;
    return fail_system("write a memory file", error);
}

int
history_dump_unpack(const HistoryPackedDump *packed, GError **error)
{
    int descriptor = memfd_create("jescope-dump", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (descriptor < 0) {
        fail_system("make a memory file", error);
        return -1;
    }
    if (unpack(packed, descriptor, error))
        return descriptor;
    close(descriptor);
    return -1;
}

static gboolean
set_missing(guint64 id, GError **error)
{
    g_set_error(error, HISTORY_ERROR, HISTORY_ERROR_MISSING, "there is no dump %" G_GUINT64_FORMAT " (any more)", id);
    return FALSE;
}

gboolean
history_dump_find(History *history, guint64 id, gint64 *incarnation, gint64 *user, GError **error)
{
    gboolean ok;
    sqlite3_stmt *statement = database_statement(history, SQL_DUMP_LIFE, error);
    database_bind(statement, (gint64)id);
    if (!database_next(history, statement, &ok, error))
        return ok && set_missing(id, error);
    *incarnation = sqlite3_column_int64(statement, 0);
    *user = sqlite3_column_int64(statement, 1);
    sqlite3_reset(statement);
    return TRUE;
}

gboolean
history_dump_read_packed(History *history, gint64 incarnation, guint64 id, HistoryPackedDump *packed, GError **error)
{
    gboolean ok;
    sqlite3_stmt *statement = database_statement(history, SQL_DUMP_READ, error);
    database_bind(statement, incarnation, id);
    if (!database_next(history, statement, &ok, error))
        return ok && set_missing(id, error);
    *packed = (HistoryPackedDump){
        .name = g_strdup_printf("dump %" G_GUINT64_FORMAT " in %s", id, history->path),
        .bytes = (guint64)sqlite3_column_int64(statement, 0),
        .content = g_bytes_new(sqlite3_column_blob(statement, 1), (gsize)sqlite3_column_bytes(statement, 1)),
        .taken_ms = sqlite3_column_int64(statement, 2),
    };
    sqlite3_reset(statement);
    return TRUE;
}

static gboolean
put_recording(History *history, gint64 incarnation, const HistoryRecording *recording, GError **error)
{
    sqlite3_stmt *statement = database_statement(history, SQL_RECORDING_PUT, error);
    database_bind(statement, incarnation, recording->id, recording->begin_ms, (gint64)recording->duration_ms,
                  recording->state, recording->dump, recording->error);
    database_bind_text(statement, 8, recording->why);
    return database_run(history, statement, error);
}

gboolean
history_recording_put(History *history, gint64 incarnation, const HistoryRecording *recording, GError **error)
{
    gboolean mine;
    return database_begin(history, &mine, error) &&
           database_end(history, mine, put_recording(history, incarnation, recording, error), error);
}

static void
clear_recording(gpointer data)
{
    g_free(((HistoryRecording *)data)->why);
}

GArray *
history_recordings(History *history, gint64 incarnation, guint max, GError **error)
{
    g_autoptr(GArray) recordings = g_array_new(FALSE, TRUE, sizeof(HistoryRecording));
    g_array_set_clear_func(recordings, clear_recording);
    sqlite3_stmt *statement = database_statement(history, SQL_RECORDINGS, error);
    gboolean ok;
    database_bind(statement, incarnation, max);
    while (database_next(history, statement, &ok, error)) {
        HistoryRecording recording = {
            .id = (guint64)sqlite3_column_int64(statement, 0),
            .begin_ms = sqlite3_column_int64(statement, 1),
            .duration_ms = (guint64)sqlite3_column_int64(statement, 2),
            .state = (guint32)sqlite3_column_int(statement, 3),
            .dump = (guint64)sqlite3_column_int64(statement, 4),
            .error = sqlite3_column_int(statement, 5),
            .why = g_strdup((const char *)sqlite3_column_text(statement, 6)),
        };
        g_array_append_val(recordings, recording);
    }
    return ok ? g_steal_pointer(&recordings) : NULL;
}

/* The ids of dumps to remove, of gint64. */
static GArray *
dumps_too_many(History *history, gint64 incarnation, const HistoryDumpRetention *retention, gint64 now_us,
               GError **error)
{
    g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(gint64));
    gint64 oldest_ms = retention->keep_us > 0 ? (now_us - (gint64)retention->keep_us) / 1000 : G_MININT64;
    guint64 bytes = 0;
    sqlite3_stmt *statement = database_statement(history, SQL_DUMPS_OF_TARGET, error);
    gboolean ok;
    database_bind(statement, incarnation);
    for (guint n = 0; database_next(history, statement, &ok, error); n++) {
        gint64 id = sqlite3_column_int64(statement, 0);
        bytes += (guint64)sqlite3_column_int64(statement, 2);
        if (n > 0 && ((retention->count > 0 && n >= retention->count) ||
                      (retention->max_bytes > 0 && bytes > retention->max_bytes) ||
                      sqlite3_column_int64(statement, 1) < oldest_ms))
            g_array_append_val(ids, id);
    }
    return ok ? g_steal_pointer(&ids) : NULL;
}

static gboolean
run_with(History *history, Sql id, gint64 first, gint64 second, GError **error)
{
    sqlite3_stmt *statement = database_statement(history, id, error);
    database_bind(statement, first, second);
    return database_run(history, statement, error);
}

static gboolean
remove_recordings(History *history, gint64 incarnation, const HistoryDumpRetention *retention, gint64 now_us,
                  GError **error)
{
    gint64 oldest_ms = (now_us - (gint64)retention->keep_us) / 1000;
    if (retention->keep_us > 0 && !run_with(history, SQL_RECORDINGS_OLD, incarnation, oldest_ms, error))
        return FALSE;
    return retention->count == 0 || run_with(history, SQL_RECORDINGS_BEYOND, incarnation, retention->count, error);
}

static gboolean
remove_dumps(History *history, const GArray *ids, GError **error)
{
    for (guint i = 0; i < ids->len; i++)
        if (!run_with(history, SQL_DUMP_DELETE, g_array_index(ids, gint64, i), 0, error))
            return FALSE;
    return TRUE;
}

/* Removes dumps of all targets beyond TOTAL_BYTES. */
static gboolean
remove_beyond(History *history, guint64 total_bytes, GError **error)
{
    sqlite3_stmt *statement = database_statement(history, SQL_DUMPS_BEYOND, error);
    database_bind(statement, MIN(total_bytes, G_MAXINT64));
    g_autoptr(GArray) ids = database_ids(history, statement, error);
    return ids != NULL && remove_dumps(history, ids, error);
}

/* Keeps to the limits of the target of INCARNATION. */
static gboolean
retain_of_target(History *history, gint64 incarnation, const HistoryDumpRetention *retention, gint64 now_us,
                 GError **error)
{
    g_autoptr(GArray) ids = dumps_too_many(history, incarnation, retention, now_us, error);
    return ids != NULL && remove_dumps(history, ids, error) &&
           remove_recordings(history, incarnation, retention, now_us, error);
}

/* Keeps to the limits for all targets. */
static gboolean
retain_in_all(History *history, const HistoryDumpRetention *retention, GError **error)
{
    return (retention->total_bytes == 0 || remove_beyond(history, retention->total_bytes, error)) &&
           (retention->count == 0 || run_with(history, SQL_RECORDINGS_OF_USERS, RECORDINGS_OF_USER, 0, error));
}

static gboolean
retain(History *history, gint64 incarnation, const HistoryDumpRetention *retention, gint64 now_us, GError **error)
{
    return retain_of_target(history, incarnation, retention, now_us, error) && retain_in_all(history, retention, error);
}

/* Includes targets that no longer give dumps. */
static gboolean
retain_each(History *history, const HistoryDumpRetention *retention, gint64 now_us, GError **error)
{
    sqlite3_stmt *statement = database_statement(history, SQL_KEPT_TARGETS, error);
    g_autoptr(GArray) lives = database_ids(history, statement, error);
    for (guint i = 0; lives != NULL && i < lives->len; i++)
        if (!retain_of_target(history, g_array_index(lives, gint64, i), retention, now_us, error))
            return FALSE;
    return lives != NULL && retain_in_all(history, retention, error);
}

gboolean
history_retain_dumps(History *history, gint64 incarnation, const HistoryDumpRetention *retention, gint64 now_us,
                     GError **error)
{
    gboolean mine;
    if (!database_begin(history, &mine, error) ||
        !database_end(history, mine, retain(history, incarnation, retention, now_us, error), error))
        return FALSE;
    /* Optional, so a lock or a full disk is not an error here. */
    sqlite3_exec(history->db, "PRAGMA incremental_vacuum", NULL, NULL, NULL);
    return TRUE;
}

gboolean
history_retain_all_dumps(History *history, const HistoryDumpRetention *retention, gint64 now_us, GError **error)
{
    gboolean mine;
    if (!database_begin(history, &mine, error) ||
        !database_end(history, mine, retain_each(history, retention, now_us, error), error))
        return FALSE;
    sqlite3_exec(history->db, "PRAGMA incremental_vacuum", NULL, NULL, NULL);
    return TRUE;
}

static void
clear_kept(gpointer data)
{
    HistoryKept *kept = data;
    g_free(kept->target);
    g_free(kept->boot);
}

GArray *
history_kept_lives(History *history, guint max, GError **error)
{
    g_autoptr(GArray) lives = g_array_new(FALSE, TRUE, sizeof(HistoryKept));
    g_array_set_clear_func(lives, clear_kept);
    sqlite3_stmt *statement = database_statement(history, SQL_KEPT_LIVES, error);
    gboolean ok;
    database_bind(statement, max);
    while (database_next(history, statement, &ok, error)) {
        HistoryKept kept = {
            .incarnation = sqlite3_column_int64(statement, 0),
            .target = g_strdup(database_text(statement, 1)),
            .pid = sqlite3_column_int64(statement, 2),
            .start_ticks = (guint64)sqlite3_column_int64(statement, 3),
            .boot = g_strdup(database_text(statement, 4)),
        };
        g_array_append_val(lives, kept);
    }
    return ok ? g_steal_pointer(&lives) : NULL;
}
