/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/replay-source.h"

#include "confine/confined.h"
#include "confine/rights.h"
#include "history/handed.h"
#include "stats/sample-bytes.h"
#include "text/printable.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What a child writes, as GVariants: their readers take any bytes. */
#define TARGETS_TYPE "a(sxxt)"
#define SAMPLES_TYPE "a(uuay)"
#define DUMPS_TYPE   "a(xtttt)"

enum {
    TARGETS_MAX = 4096,
    LIVES_MAX = 4096, /* with kept dumps */
    DUMPS_MAX = 4096, /* of one, and of all that are taken from the child */
    EVERY_LEAST_US = 1000,
};

static const gint64 every_most_us = G_GINT64_CONSTANT(86400) * G_USEC_PER_SEC;
static const gint64 time_most_us = G_GINT64_CONSTANT(1) << 60;

struct ReplaySource {
    char *path;
    GArray *targets; /* of ReplayTarget */
};

/* In the child ------------------------------------------------------------------------------------------------------
 */

/* Takes VALUE. */
static gboolean
write_value(GVariant *value, GOutputStream *out, GError **error)
{
    g_autoptr(GVariant) whole = g_variant_ref_sink(value);
    return g_output_stream_write_all(out, g_variant_get_data(whole), g_variant_get_size(whole), NULL, NULL, error);
}

static History *
open_handed(const ReplaySource *source, GError **error)
{
    history_take_handed();
    return history_open(source->path, HISTORY_READ, error);
}

static int
write_targets(gpointer data, GOutputStream *out, GError **error)
{
    g_autoptr(History) history = open_handed(data, error);
    g_autoptr(GPtrArray) targets = history != NULL ? history_targets(history, error) : NULL;
    GVariantBuilder rows;
    if (targets == NULL)
        return -1;
    g_variant_builder_init(&rows, G_VARIANT_TYPE(TARGETS_TYPE));
    for (guint i = 0; i < MIN(targets->len, TARGETS_MAX); i++) {
        const HistoryTarget *target = targets->pdata[i];
        if (target->samples > 0)
            g_variant_builder_add(&rows, "(sxxt)", target->name, target->first_us, target->last_us, target->every_us);
    }
    return write_value(g_variant_builder_end(&rows), out, error) ? 0 : -1;
}

typedef struct {
    const ReplaySource *source;
    const ReplayWindow *window;
    StatsSample **moments; /* of the target that is read */
} Reading;

static gint64
end_of(const ReplayWindow *window)
{
    return window->from_us + window->step_us * window->count;
}

static gboolean
keep_sample(StatsSample *sample, gpointer data, GError **error)
{
    const Reading *reading = data;
    const ReplayWindow *window = reading->window;
    if (sample->time_us <= window->from_us || sample->time_us > end_of(window))
        return TRUE;
    gint64 moment = (sample->time_us - window->from_us + window->step_us - 1) / window->step_us - 1;
    if (reading->moments[moment] != NULL)
        stats_sample_unref(reading->moments[moment]);
    reading->moments[moment] = stats_sample_ref(sample);
    return TRUE;
}

static void
add_sample(GVariantBuilder *rows, guint target, guint moment, const StatsSample *sample)
{
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    sample_bytes_write(sample, bytes);
    g_variant_builder_add(rows, "(uu@ay)", target, moment,
                          g_variant_new_fixed_array(G_VARIANT_TYPE_BYTE, bytes->data, bytes->len, 1));
}

static void
read_target(Reading *reading, History *history, guint index, GVariantBuilder *rows)
{
    const ReplayWindow *window = reading->window;
    const ReplayTarget *target = &g_array_index(reading->source->targets, ReplayTarget, index);
    const HistoryRange range = {window->from_us + 1, end_of(window) + 1};
    StatsIterator *iterator = history_iterator_new(history, target->name, range, window->parts, NULL);
    if (iterator == NULL)
        return;
    iterator->each(iterator, keep_sample, reading, NULL);
    iterator->free(iterator);
    for (guint i = 0; i < window->count; i++)
        if (reading->moments[i] != NULL) {
            add_sample(rows, index, i, reading->moments[i]);
            g_clear_pointer(&reading->moments[i], stats_sample_unref);
        }
}

static gboolean
is_in(const ReplayTarget *target, const ReplayWindow *window)
{
    return window->only != NULL ? strcmp(target->name, window->only) == 0
                                : target->last_us >= window->from_us && target->first_us <= end_of(window);
}

static int
write_samples(gpointer data, GOutputStream *out, GError **error)
{
    Reading *reading = data;
    g_autoptr(History) history = open_handed(reading->source, error);
    GVariantBuilder rows;
    if (history == NULL)
        return -1;
    reading->moments = g_new0(StatsSample *, reading->window->count);
    g_variant_builder_init(&rows, G_VARIANT_TYPE(SAMPLES_TYPE));
    for (guint i = 0; i < reading->source->targets->len; i++)
        if (is_in(&g_array_index(reading->source->targets, ReplayTarget, i), reading->window))
            read_target(reading, history, i, &rows);
    g_free(reading->moments);
    return write_value(g_variant_builder_end(&rows), out, error) ? 0 : -1;
}

typedef struct {
    const ReplaySource *source;
    const char *target;
    gint64 until_us;
    ReplayDump dump; /* the one that is wanted */
} DumpsWanted;

static gboolean
add_dumps(GVariantBuilder *rows, History *history, gint64 incarnation, const DumpsWanted *wanted, GError **error)
{
    g_autoptr(GArray) dumps = history_dumps(history, incarnation, DUMPS_MAX, error);
    for (guint i = 0; dumps != NULL && i < dumps->len; i++) {
        const RouteDump *dump = &g_array_index(dumps, RouteDump, i);
        if (dump->taken_ms <= (guint64)(wanted->until_us / 1000))
            g_variant_builder_add(rows, "(xtttt)", incarnation, dump->id, dump->recording, dump->taken_ms, dump->bytes);
    }
    return dumps != NULL;
}

static int
write_dumps(gpointer data, GOutputStream *out, GError **error)
{
    const DumpsWanted *wanted = data;
    g_autoptr(History) history = open_handed(wanted->source, error);
    g_autoptr(GArray) lives = history != NULL ? history_kept_lives(history, LIVES_MAX, error) : NULL;
    GVariantBuilder rows;
    if (lives == NULL)
        return -1;
    g_variant_builder_init(&rows, G_VARIANT_TYPE(DUMPS_TYPE));
    for (guint i = 0; i < lives->len; i++) {
        const HistoryKept *life = &g_array_index(lives, HistoryKept, i);
        if (g_strcmp0(life->target, wanted->target) == 0 &&
            !add_dumps(&rows, history, life->incarnation, wanted, error))
            return -1;
    }
    return write_value(g_variant_builder_end(&rows), out, error) ? 0 : -1;
}

static int
write_dump(gpointer data, GOutputStream *out, GError **error)
{
    const DumpsWanted *wanted = data;
    g_autoptr(History) history = open_handed(wanted->source, error);
    g_auto(HistoryPackedDump) packed = {0};
    if (history == NULL ||
        !history_dump_read_packed(history, wanted->dump.incarnation, wanted->dump.dump.id, &packed, error))
        return -1;
    return history_dump_write(&packed, STDOUT_FILENO, error) ? 0 : -1;
}

/* In the process itself ---------------------------------------------------------------------------------------------
 */

/* A file with what WORK writes in a child, whose bytes may be anything. -1: it failed. */
static int
run_to_file(ConfinedWork *work, gpointer data, GError **error)
{
    const Confined confined = {.work = work, .data = data};
    ConfinedResult result;
    g_autoptr(GTimeZone) zone G_GNUC_UNUSED = g_time_zone_new_local(); /* is kept; the child cannot read it */
    int status = confined_run(&confined, &result, error);
    if (status < 0 && error != NULL && *error != NULL)
        text_clean((*error)->message, strlen((*error)->message) + 1);
    g_free(result.words);
    if (status == 0)
        return result.output;
    if (result.output >= 0)
        close(result.output);
    return -1;
}

/* The same as a value of TYPE. NULL: it failed. */
static GVariant *
run(ConfinedWork *work, gpointer data, const char *type, GError **error)
{
    int output = run_to_file(work, data, error);
    GVariant *value = NULL;
    g_autoptr(GMappedFile) file = output >= 0 ? g_mapped_file_new_from_fd(output, FALSE, error) : NULL;
    if (file != NULL) {
        g_autoptr(GBytes) bytes = g_mapped_file_get_bytes(file);
        value = g_variant_ref_sink(g_variant_new_from_bytes(G_VARIANT_TYPE(type), bytes, FALSE));
    }
    if (output >= 0)
        close(output);
    return value;
}

static void
clear_target(gpointer target)
{
    g_free(((ReplayTarget *)target)->name);
}

static void
take_target(GArray *targets, const char *name, const gint64 range[2], guint64 every_us)
{
    const gint64 every = (gint64)MIN(every_us, (guint64)every_most_us);
    if (range[0] < 0 || range[0] > range[1] || range[1] > time_most_us || targets->len == TARGETS_MAX)
        return;
    const ReplayTarget target = {text_printable(name), range[0], range[1], every != 0 ? MAX(every, EVERY_LEAST_US) : 0};
    g_array_append_val(targets, target);
}

static gboolean
read_targets(ReplaySource *source, GError **error)
{
    g_autoptr(GVariant) rows = run(write_targets, source, TARGETS_TYPE, error);
    GVariantIter iterator;
    const char *name;
    gint64 range[2];
    guint64 every_us;
    if (rows == NULL)
        return FALSE;
    g_variant_iter_init(&iterator, rows);
    while (g_variant_iter_next(&iterator, "(&sxxt)", &name, &range[0], &range[1], &every_us))
        take_target(source->targets, name, range, every_us);
    if (source->targets->len > 0)
        return TRUE;
    g_set_error(error, HISTORY_ERROR, HISTORY_ERROR_MISSING, "%s has no samples to replay", source->path);
    return FALSE;
}

ReplaySource *
replay_source_new(const char *path, GError **error)
{
    ReplaySource *source = g_new0(ReplaySource, 1);
    source->path = g_strdup(path);
    source->targets = g_array_new(FALSE, FALSE, sizeof(ReplayTarget));
    g_array_set_clear_func(source->targets, clear_target);
    history_hand_over(path);
    if (read_targets(source, error))
        return source;
    replay_source_free(source);
    return NULL;
}

void
replay_source_free(ReplaySource *source)
{
    if (source == NULL)
        return;
    g_array_unref(source->targets);
    g_free(source->path);
    g_free(source);
}

const GArray *
replay_source_targets(const ReplaySource *source)
{
    return source->targets;
}

static void
free_sample(gpointer sample)
{
    if (sample != NULL)
        stats_sample_unref(sample);
}

static StatsSample *
sample_of(GVariant *bytes)
{
    gsize length;
    gconstpointer data = g_variant_get_fixed_array(bytes, &length, 1);
    return sample_bytes_read(data, length);
}

GPtrArray *
replay_source_read(const ReplaySource *source, const ReplayWindow *window)
{
    Reading reading = {.source = source, .window = window};
    g_autoptr(GVariant) rows = run(write_samples, &reading, SAMPLES_TYPE, NULL);
    GVariantIter iterator;
    guint target, moment;
    GVariant *bytes;
    if (rows == NULL)
        return NULL;
    GPtrArray *samples = g_ptr_array_new_with_free_func(free_sample);
    g_ptr_array_set_size(samples, (gint)(source->targets->len * window->count));
    g_variant_iter_init(&iterator, rows);
    while (g_variant_iter_next(&iterator, "(uu@ay)", &target, &moment, &bytes)) {
        gsize at = (gsize)target * window->count + moment;
        if (target < source->targets->len && moment < window->count && samples->pdata[at] == NULL)
            samples->pdata[at] = sample_of(bytes);
        g_variant_unref(bytes);
    }
    return samples;
}

static gint
compare_taken(gconstpointer a, gconstpointer b)
{
    const RouteDump *one = &((const ReplayDump *)a)->dump;
    const RouteDump *other = &((const ReplayDump *)b)->dump;
    return one->taken_ms != other->taken_ms ? (other->taken_ms > one->taken_ms) - (other->taken_ms < one->taken_ms)
                                            : (other->id > one->id) - (other->id < one->id);
}

GArray *
replay_source_dumps(const ReplaySource *source, const char *target, gint64 until_us, GError **error)
{
    DumpsWanted wanted = {.source = source, .target = target, .until_us = until_us};
    g_autoptr(GVariant) rows = run(write_dumps, &wanted, DUMPS_TYPE, error);
    GVariantIter iterator;
    ReplayDump row;
    if (rows == NULL)
        return NULL;
    GArray *dumps = g_array_new(FALSE, FALSE, sizeof(ReplayDump));
    g_variant_iter_init(&iterator, rows);
    while (dumps->len < DUMPS_MAX && g_variant_iter_next(&iterator, "(xtttt)", &row.incarnation, &row.dump.id,
                                                         &row.dump.recording, &row.dump.taken_ms, &row.dump.bytes))
        g_array_append_val(dumps, row);
    g_array_sort(dumps, compare_taken);
    return dumps;
}

/* The user who decides what is in the history; RIGHTS_NOBODY if that may be several. */
static uid_t
author_of(const ReplaySource *source)
{
    struct stat file, parent;
    g_autofree char *directory = g_path_get_dirname(source->path);
    if (stat(source->path, &file) != 0 || stat(directory, &parent) != 0)
        return RIGHTS_NOBODY;
    gboolean is_safe = parent.st_uid == geteuid() && (parent.st_mode & (S_IWGRP | S_IWOTH)) == 0;
    return file.st_uid != geteuid() ? file.st_uid : is_safe ? geteuid() : RIGHTS_NOBODY;
}

/* With the rights of its owner the files are read that the dump names. */
static gboolean
give_to_author(const ReplaySource *source, int dump)
{
    uid_t author = author_of(source);
    return geteuid() != 0 || author == 0 || fchown(dump, author, (gid_t)-1) == 0;
}

int
replay_source_open_dump(const ReplaySource *source, const ReplayDump *dump, GError **error)
{
    DumpsWanted wanted = {.source = source, .dump = *dump};
    const guint64 taken_s = MIN(dump->dump.taken_ms, (guint64)time_most_us / 1000) / 1000;
    const struct timespec times[] = {{.tv_sec = (time_t)taken_s}, {.tv_sec = (time_t)taken_s}};
    int output = run_to_file(write_dump, &wanted, error);
    /* Symbols of files that are younger are not used. */
    if (output >= 0 &&
        (lseek(output, 0, SEEK_SET) != 0 || futimens(output, times) != 0 || !give_to_author(source, output))) {
        close(output);
        g_set_error_literal(error, HISTORY_ERROR, HISTORY_ERROR_FAILED, "the dump cannot be read");
        return -1;
    }
    return output;
}
