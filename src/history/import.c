/* SPDX-License-Identifier: Apache-2.0 */
#include "history/import.h"

#include "confine/keyed-hash.h"
#include "history/store.h"
#include "stats/log-reader.h"

#include <string.h>
#include <sys/stat.h>

enum {
    DIGEST_BYTES = 16,
    SINKS_MAX = 64,          /* incarnations whose blocks are under construction */
    LIVES_KEPT = 1024,       /* a log may have any number of writers and versions */
    WORDS_MAX = 32 << 20,    /* of all their blocks: 256 MiB */
    DIFFERENT_MAX = 1 << 20, /* digests of a file: 150 MiB */
};

/* The metrics that identify a sample: every jemalloc prints them and every reader parses them. */
static const StatsMetric identity_totals[] = {STATS_ALLOCATED, STATS_ACTIVE, STATS_MAPPED};
static const StatsMetric identity_arena[] = {STATS_ARENA_ALLOCATED, STATS_ARENA_MAPPED, STATS_ARENA_SMALL_NMALLOC,
                                             STATS_ARENA_LARGE_NMALLOC};

/* Where samples of one writer and version belong. Several versions may share an incarnation. */
typedef struct {
    gint64 incarnation;
    gint64 target;
} Life;

/* Collects samples of one incarnation for a block. */
typedef struct {
    Life life;
    Block *block;
    GPtrArray *digests; /* of GBytes: digests of the rows of block */
} Sink;

typedef struct {
    History *history;
    const char *path;
    const ImportOptions *options;
    ImportResult *result;
    char *name;
    GHashTable *lives;       /* writer and version -> Life */
    GHashTable *sinks;       /* incarnation -> Sink; the keys are the sinks' */
    GHashTable *occurrences; /* GBytes, digest without count -> guint, occurrences */
    gint64 next_us;          /* time for the next sample without one; STATS_TIME_UNKNOWN: not known yet */
} Import;

char *
import_target_name(const char *path)
{
    static const char *const endings[] = {".gz", ".log", ".txt", ".json", ".out"};
    if (strcmp(path, "-") == 0)
        return g_strdup("stdin");
    char *name = g_path_get_basename(path);
    for (size_t i = 0; i < G_N_ELEMENTS(endings); i++)
        if (g_str_has_suffix(name, endings[i]) && strlen(name) > strlen(endings[i]))
            name[strlen(name) - strlen(endings[i])] = '\0';
    return name;
}

static void
free_sink(gpointer data)
{
    Sink *sink = data;
    block_free(sink->block);
    g_ptr_array_unref(sink->digests);
    g_free(sink);
}

static void
unref_bytes(gpointer data)
{
    g_bytes_unref(data);
}

static gboolean
store_sink(Import *import, Sink *sink, GError **error)
{
    for (guint i = 0; i < sink->digests->len; i++)
        if (!store_note_digest(import->history, sink->life.target, sink->digests->pdata[i], error))
            return FALSE;
    return block_write(sink->block, import->history, STORE_LEVEL_PACKED, error);
}

static gboolean
flush_sink(Import *import, Sink *sink, GError **error)
{
    gboolean mine;
    guint rows = block_rows(sink->block);
    if (rows == 0)
        return TRUE;
    if (!database_begin(import->history, &mine, error) ||
        !database_end(import->history, mine, store_sink(import, sink, error), error))
        return FALSE;
    import->result->added += rows;
    g_clear_pointer(&sink->block, block_free);
    sink->block = block_new(sink->life.target, sink->life.incarnation);
    g_ptr_array_set_size(sink->digests, 0);
    return TRUE;
}

static gboolean
flush_all(Import *import, GError **error)
{
    GHashTableIter iter;
    gpointer sink;
    g_hash_table_iter_init(&iter, import->sinks);
    while (g_hash_table_iter_next(&iter, NULL, &sink))
        if (!flush_sink(import, sink, error))
            return FALSE;
    return TRUE;
}

static gboolean
make_room(Import *import, GError **error)
{
    if (g_hash_table_size(import->sinks) < SINKS_MAX)
        return TRUE;
    if (!flush_all(import, error))
        return FALSE;
    g_hash_table_remove_all(import->sinks);
    return TRUE;
}

static guint64
words_of_all(const Import *import)
{
    GHashTableIter iter;
    gpointer sink;
    guint64 words = 0;
    g_hash_table_iter_init(&iter, import->sinks);
    while (g_hash_table_iter_next(&iter, NULL, &sink))
        words += block_words(((const Sink *)sink)->block);
    return words;
}

static gboolean
begin_life(Import *import, const StatsSample *sample, Life *begun, GError **error)
{
    g_autofree char *name = history_log_target(import->history, import->name, sample->stream);
    g_autofree char *boot = history_log_life(sample);
    HistoryLife life = {
        .target = name,
        .source = HISTORY_SOURCE_IMPORT,
        .boot = boot,
        .version = sample->version,
    };
    return history_begin(import->history, &life, &begun->incarnation, error) &&
           database_find_target(import->history, name, &begun->target, error);
}

static const Life *
find_life(Import *import, const StatsSample *sample, GError **error)
{
    g_autofree char *key = history_log_life(sample);
    Life *life = g_hash_table_lookup(import->lives, key), begun = {0};
    if (life != NULL)
        return life;
    if (!begin_life(import, sample, &begun, error))
        return NULL;
    if (g_hash_table_size(import->lives) >= LIVES_KEPT)
        g_hash_table_remove_all(import->lives);
    life = g_memdup2(&begun, sizeof(begun));
    g_hash_table_insert(import->lives, g_steal_pointer(&key), life);
    return life;
}

static Sink *
find_sink(Import *import, const StatsSample *sample, GError **error)
{
    const Life *life = find_life(import, sample, error);
    Sink *sink = life != NULL ? g_hash_table_lookup(import->sinks, &life->incarnation) : NULL;
    if (life == NULL || sink != NULL)
        return sink;
    if (!make_room(import, error))
        return NULL;
    sink = g_new0(Sink, 1);
    sink->life = *life;
    sink->block = block_new(life->target, life->incarnation);
    sink->digests = g_ptr_array_new_with_free_func(unref_bytes);
    g_hash_table_insert(import->sinks, &sink->life.incarnation, sink);
    return sink;
}

static void
hash_number(GChecksum *checksum, guint64 number)
{
    guint64 fixed = GUINT64_TO_LE(number);
    g_checksum_update(checksum, (const guchar *)&fixed, sizeof(fixed));
}

static void
hash_values(GChecksum *checksum, const StatsValues *values, const StatsMetric *metrics, gsize count)
{
    for (gsize i = 0; i < count; i++)
        hash_number(checksum, stats_values_or(values, metrics[i], G_MAXUINT64));
}

static GBytes *
finish_digest(GChecksum *checksum)
{
    guint8 digest[32];
    gsize length = sizeof(digest);
    g_checksum_get_digest(checksum, digest, &length);
    return g_bytes_new(digest, DIGEST_BYTES);
}

static guint
count_occurrence(Import *import, GBytes *digest)
{
    guint count = GPOINTER_TO_UINT(g_hash_table_lookup(import->occurrences, digest));
    g_hash_table_insert(import->occurrences, g_bytes_ref(digest), GUINT_TO_POINTER(count + 1));
    return count;
}

static GBytes *
sample_digest(Import *import, const StatsSample *sample)
{
    g_autoptr(GChecksum) checksum = g_checksum_new(G_CHECKSUM_SHA256);
    hash_number(checksum, (guint64)sample->time_us);
    if (sample->stream != NULL)
        g_checksum_update(checksum, (const guchar *)sample->stream, -1);
    hash_values(checksum, sample->totals, identity_totals, G_N_ELEMENTS(identity_totals));
    for (guint i = 0; i < sample->arenas->len; i++) {
        const StatsArena *arena = sample->arenas->pdata[i];
        hash_number(checksum, arena->index);
        hash_values(checksum, arena->values, identity_arena, G_N_ELEMENTS(identity_arena));
    }
    g_autoptr(GChecksum) counted = g_checksum_copy(checksum);
    g_autoptr(GBytes) plain = finish_digest(checksum);
    hash_number(counted, count_occurrence(import, plain));
    return finish_digest(counted);
}

static gboolean
count_timeless(StatsSample *sample, gpointer data, GError **error)
{
    guint64 *count = data;
    *count += sample->time_us == STATS_TIME_UNKNOWN;
    return TRUE;
}

/* The time of the first of COUNT samples, EVERY_US apart, of which the last one has the time END_S; of one that is too
 * far from any, G_MAXINT64. */
static gint64
time_before(gint64 end_s, guint64 count, guint64 every_us)
{
    gint64 end_us, whole_us, start_us;
    const gboolean too_far = __builtin_mul_overflow(end_s, G_USEC_PER_SEC, &end_us) ||
                             __builtin_mul_overflow(MAX(count, 1) - 1, every_us, &whole_us) ||
                             __builtin_sub_overflow(end_us, whole_us, &start_us);
    return too_far ? G_MAXINT64 : start_us;
}

/* Assumes that the last sample of a log was written at its last modification, and the others before it. */
static gboolean
find_start(Import *import, GError **error)
{
    struct stat status;
    guint64 count = 0;
    import->next_us = import->options->start_us;
    if (import->next_us != STATS_TIME_UNKNOWN)
        return TRUE;
    import->next_us = g_get_real_time();
    if (strcmp(import->path, "-") == 0 || stat(import->path, &status) != 0)
        return TRUE;
    if (!log_reader_read(import->path, count_timeless, &count, NULL, error))
        return FALSE;
    import->next_us = time_before(status.st_mtim.tv_sec, count, import->options->every_us);
    return TRUE;
}

static gboolean
give_time(Import *import, StatsSample *sample, GError **error)
{
    if (import->next_us == STATS_TIME_UNKNOWN && !find_start(import, error))
        return FALSE;
    sample->time_us = import->next_us;
    if (__builtin_add_overflow(import->next_us, import->options->every_us, &import->next_us))
        import->next_us = G_MAXINT64;
    return TRUE;
}

/* Samples in a block ascend in time: an earlier one begins another block. */
static gboolean
add_sample(Import *import, Sink *sink, StatsSample *sample, GBytes *digest, GError **error)
{
    if (!block_takes(sink->block, sample->time_us, stats_sample_values(sample)) && !flush_sink(import, sink, error))
        return FALSE;
    g_ptr_array_add(sink->digests, g_bytes_ref(digest));
    return block_append(sink->block, import->history, sample, HISTORY_EVERYTHING, error) &&
           (words_of_all(import) <= WORDS_MAX || flush_all(import, error));
}

static gboolean
import_sample(StatsSample *sample, gpointer data, GError **error)
{
    Import *import = data;
    Sink *sink = find_sink(import, sample, error);
    gboolean seen, timeless = sample->time_us == STATS_TIME_UNKNOWN;
    if (sink == NULL)
        return FALSE;
    g_autoptr(GBytes) digest = sample_digest(import, sample);
    const guint most = import->options->different_max != 0 ? import->options->different_max : DIFFERENT_MAX;
    if (g_hash_table_size(import->occurrences) > most) {
        g_set_error(error, STATS_ERROR, STATS_ERROR_OVERFLOW,
                    "%s has more than %u different samples; split it into several files", import->path, most);
        return FALSE;
    }
    if (!store_knows_digest(import->history, sink->life.target, digest, &seen, error) ||
        (timeless && !give_time(import, sample, error)))
        return FALSE;
    const gboolean misdated = !seen && !stats_time_is_known(sample->time_us);
    import->result->known += seen;
    import->result->misdated += misdated;
    if (!seen && !misdated && !add_sample(import, sink, sample, digest, error))
        return FALSE;
    import->result->timeless += timeless && !seen && !misdated;
    if (import->options->progress != NULL)
        import->options->progress(import->result->known + import->result->added, sample->time_us,
                                  import->options->data);
    return TRUE;
}

gboolean
import_file(History *history, const char *path, const ImportOptions *options, ImportResult *result, GError **error)
{
    ImportResult done = {0};
    Import import = {
        .history = history,
        .path = path,
        .options = options,
        .result = &done,
        .name = options->target != NULL ? g_strdup(options->target) : import_target_name(path),
        .lives = g_hash_table_new_full(keyed_hash_string, g_str_equal, g_free, g_free),
        .sinks = g_hash_table_new_full(keyed_hash_int64, g_int64_equal, NULL, free_sink),
        .occurrences = g_hash_table_new_full(g_bytes_hash, g_bytes_equal, unref_bytes, NULL),
        .next_us = STATS_TIME_UNKNOWN,
    };
    gboolean ok = log_reader_read(path, import_sample, &import, &done.report, error) && flush_all(&import, error);
    g_free(import.name);
    g_hash_table_unref(import.lives);
    g_hash_table_unref(import.sinks);
    g_hash_table_unref(import.occurrences);
    if (ok)
        *result = done;
    return ok;
}
