/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/sample-bytes.h"

#include "stats/intern.h"
#include "wire/transfer.h"

#include <string.h>

#define ABSENT G_MAXUINT64 /* instead of a length: no text or table */

/* Writing ---------------------------------------------------------------------------------------------------------- */

static void
put_words(GByteArray *bytes, const uint64_t *words, gsize count)
{
    g_byte_array_append(bytes, (const guint8 *)words, (guint)(count * sizeof(*words)));
}

static void
put(GByteArray *bytes, uint64_t word)
{
    put_words(bytes, &word, 1);
}

static void
put_text(GByteArray *bytes, const char *text)
{
    put(bytes, text != NULL ? strlen(text) : ABSENT);
    if (text != NULL)
        g_byte_array_append(bytes, (const guint8 *)text, (guint)strlen(text));
}

static void
put_values(GByteArray *bytes, const StatsValues *values, StatsScope scope)
{
    put(bytes, values->present);
    put_words(bytes, values->values, stats_scope_count(scope));
}

static void
put_table(GByteArray *bytes, const StatsTable *table)
{
    put(bytes, table != NULL ? table->count : ABSENT);
    for (guint i = 0; table != NULL && i < table->count; i++) {
        if (table->scope == STATS_SCOPE_MUTEX)
            put_text(bytes, table->names[i]);
        put_values(bytes, stats_table_row(table, i), table->scope);
    }
}

static void
put_arena(GByteArray *bytes, const StatsArena *arena)
{
    put(bytes, arena->index);
    put_text(bytes, arena->name);
    put_text(bytes, arena->dss);
    put_values(bytes, arena->values, STATS_SCOPE_ARENA);
    put_table(bytes, arena->bins);
    put_table(bytes, arena->large);
    put_table(bytes, arena->mutexes);
}

void
sample_bytes_write(const StatsSample *sample, GByteArray *bytes)
{
    put(bytes, (uint64_t)sample->time_us);
    put(bytes, sample->source);
    put(bytes, sample->line);
    put_text(bytes, sample->version);
    put_text(bytes, sample->stream);
    put_values(bytes, sample->totals, STATS_SCOPE_TOTALS);
    put_table(bytes, sample->mutexes);
    for (guint i = 0; i < sample->arenas->len; i++)
        put_arena(bytes, sample->arenas->pdata[i]);
}

/* Reading ---------------------------------------------------------------------------------------------------------- */

typedef struct {
    const guint8 *at;
    gsize left;
    gboolean failed; /* if set, everything read afterwards is 0 or absent */
} Bytes;

static void
take(Bytes *bytes, gpointer to, gsize length)
{
    bytes->failed = bytes->failed || length > bytes->left;
    memset(to, 0, length);
    if (bytes->failed)
        return;
    memcpy(to, bytes->at, length);
    bytes->at += length;
    bytes->left -= length;
}

static uint64_t
take_word(Bytes *bytes)
{
    uint64_t word;
    take(bytes, &word, sizeof(word));
    return word;
}

/* A new reference, or NULL. */
static const char *
take_text(Bytes *bytes)
{
    uint64_t length = take_word(bytes);
    if (length == ABSENT || bytes->failed)
        return NULL;
    bytes->failed = length > bytes->left;
    if (bytes->failed)
        return NULL;
    const char *text = stats_intern((const char *)bytes->at, length);
    bytes->at += length;
    bytes->left -= length;
    return text;
}

static void
take_values(Bytes *bytes, StatsValues *values, StatsScope scope)
{
    guint count = stats_scope_count(scope);
    values->present = take_word(bytes) & (G_MAXUINT64 >> (64 - count));
    take(bytes, values->values, count * sizeof(uint64_t));
}

static StatsTable *
take_table(Bytes *bytes, StatsScope scope)
{
    const guint most = scope == STATS_SCOPE_MUTEX ? STATS_MUTEXES_MAX : STATS_CLASSES_MAX;
    uint64_t count = take_word(bytes);
    if (count == ABSENT || bytes->failed)
        return NULL;
    bytes->failed = count > most;
    StatsTable *table = stats_table_new(scope);
    while (!bytes->failed && table->count < count) {
        const char *name = scope == STATS_SCOPE_MUTEX ? take_text(bytes) : NULL;
        take_values(bytes, stats_table_add(table, name != NULL ? name : "?"), scope);
        stats_intern_unref(name);
    }
    return table;
}

/* Arenas are in ascending order. */
static void
take_arena(Bytes *bytes, StatsSample *sample)
{
    uint64_t index = take_word(bytes);
    guint count = sample->arenas->len;
    const StatsArena *last = count > 0 ? sample->arenas->pdata[count - 1] : NULL;
    bytes->failed = bytes->failed || index > STATS_ARENA_DESTROYED || (last != NULL && index <= last->index);
    if (bytes->failed)
        return;
    StatsArena *arena = stats_sample_arena(sample, (guint)index);
    arena->name = take_text(bytes);
    arena->dss = take_text(bytes);
    take_values(bytes, arena->values, STATS_SCOPE_ARENA);
    arena->bins = take_table(bytes, STATS_SCOPE_BIN);
    arena->large = take_table(bytes, STATS_SCOPE_LARGE);
    arena->mutexes = take_table(bytes, STATS_SCOPE_MUTEX);
}

StatsSample *
sample_bytes_read(gconstpointer from, gsize length)
{
    Bytes bytes = {.at = from, .left = length};
    gint64 time_us = (gint64)take_word(&bytes);
    uint64_t source = take_word(&bytes);
    bytes.failed = bytes.failed || source > STATS_SOURCE_HISTORY;
    g_autoptr(StatsSample) sample = stats_sample_new(bytes.failed ? STATS_SOURCE_TEXT : (StatsSource)source);
    sample->time_us = time_us;
    sample->line = take_word(&bytes);
    sample->version = take_text(&bytes);
    sample->stream = take_text(&bytes);
    take_values(&bytes, sample->totals, STATS_SCOPE_TOTALS);
    sample->mutexes = take_table(&bytes, STATS_SCOPE_MUTEX);
    while (!bytes.failed && bytes.left > 0)
        take_arena(&bytes, sample);
    return bytes.failed ? NULL : g_steal_pointer(&sample);
}

/* Files ------------------------------------------------------------------------------------------------------------ */

struct SampleBytesFile {
    GPtrArray *samples; /* of GByteArray, each beginning with its length */
    gsize size;
};

SampleBytesFile *
sample_bytes_file_new(void)
{
    SampleBytesFile *file = g_new0(SampleBytesFile, 1);
    file->samples = g_ptr_array_new_with_free_func((GDestroyNotify)g_byte_array_unref);
    return file;
}

void
sample_bytes_file_free(SampleBytesFile *file)
{
    g_ptr_array_unref(file->samples);
    g_free(file);
}

/* Drops every second sample, except the first and the last. */
static void
thin(SampleBytesFile *file)
{
    for (guint i = 1; i + 1 < file->samples->len; i++) {
        file->size -= ((const GByteArray *)file->samples->pdata[i])->len;
        g_ptr_array_remove_index(file->samples, i);
    }
}

void
sample_bytes_file_add(SampleBytesFile *file, const StatsSample *sample)
{
    GByteArray *bytes = g_byte_array_new();
    put(bytes, 0);
    sample_bytes_write(sample, bytes);
    const uint64_t length = bytes->len - sizeof(length);
    memcpy(bytes->data, &length, sizeof(length));
    g_ptr_array_add(file->samples, bytes);
    file->size += bytes->len;
    while (file->size > SAMPLE_BYTES_FILE_MAX && file->samples->len > 2)
        thin(file);
}

gboolean
sample_bytes_file_write(const SampleBytesFile *file, int fd)
{
    gboolean written = transfer_write(fd, SAMPLE_BYTES_MAGIC, strlen(SAMPLE_BYTES_MAGIC));
    for (guint i = 0; written && i < file->samples->len; i++) {
        const GByteArray *bytes = file->samples->pdata[i];
        written = transfer_write(fd, bytes->data, bytes->len);
    }
    return written;
}

gboolean
sample_bytes_file_read(gconstpointer from, gsize length, StatsSampleFunc func, gpointer data, GError **error)
{
    const gsize begin = strlen(SAMPLE_BYTES_MAGIC);
    Bytes bytes = {.at = (const guint8 *)from + begin, .left = length - begin};
    if (length < begin || memcmp(from, SAMPLE_BYTES_MAGIC, begin) != 0)
        bytes = (Bytes){.failed = TRUE};
    while (!bytes.failed && bytes.left > 0) {
        uint64_t size = take_word(&bytes);
        g_autoptr(StatsSample) sample = size <= bytes.left ? sample_bytes_read(bytes.at, size) : NULL;
        bytes.failed = bytes.failed || sample == NULL;
        if (bytes.failed)
            break;
        bytes.at += size;
        bytes.left -= size;
        if (!func(sample, data, error))
            return FALSE;
    }
    if (bytes.failed)
        g_set_error(error, STATS_ERROR, STATS_ERROR_FORMAT, "the samples that were handed over are damaged");
    return !bytes.failed;
}
