/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/material.h"

#include "cli/analyses.h"
#include "cli/command.h"
#include "cli/confined-work.h"
#include "cli/kept.h"

#include "confine/input-file.h"
#include "history/handed.h"
#include "history/history.h"
#include "stats/sample-bytes.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { MOST_MOMENTS = 480 }; /* with more, every second one is dropped */

static gsize
read_start(const char *path, char *start, gsize size)
{
    gssize n = input_file_peek(path, start, size - 1);

    start[MAX(n, 0)] = '\0';
    return (gsize)MAX(n, 0);
}

gboolean
material_may_be(const char *path)
{
    char start[SELFMAG + 1];

    return read_start(path, start, sizeof(start)) != SELFMAG || memcmp(start, ELFMAG, SELFMAG) != 0;
}

/* A compressed file is recognised by its name. */
static gboolean
is_dump(const char *path)
{
    static const char *const beginnings[] = {"heap_v2/", "heap profile:", "--- symbol"};
    static const char *const suffixes[] = {".heap", ".heap.gz", ".heap.zst"};
    char start[32];

    read_start(path, start, sizeof(start));
    for (gsize i = 0; i < G_N_ELEMENTS(beginnings); i++)
        if (g_str_has_prefix(start, beginnings[i]))
            return TRUE;
    for (gsize i = 0; i < G_N_ELEMENTS(suffixes); i++)
        if (g_str_has_suffix(path, suffixes[i]))
            return TRUE;
    return FALSE;
}

static gboolean
is_samples(const char *path)
{
    char start[sizeof(SAMPLE_BYTES_MAGIC)];

    read_start(path, start, sizeof(start));
    return g_str_equal(start, SAMPLE_BYTES_MAGIC);
}

gboolean
material_is_history(const char *path)
{
    return is_samples(path) || analyses_is_history(path);
}

static gboolean
open_samples(Material *material, const char *path, GError **error)
{
    int fd = stats_open_file(path, error);

    if (fd >= 0 && material->samples > 0)
        close(material->samples);
    material->samples = MAX(fd, 0);
    return fd >= 0;
}

static gboolean
open_file(Material *material, const char *path, GPtrArray *dumps, GError **error)
{
    if (is_samples(path))
        return open_samples(material, path, error);
    if (is_dump(path)) {
        g_ptr_array_add(dumps, g_strdup(path));
        return TRUE;
    }
    if (analyses_is_history(path)) {
        if (material->history != NULL) {
            g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "doctor: %s and %s: one history file at a time",
                        material->history, path);
            return FALSE;
        }
        material->history = g_strdup(path);
        return TRUE;
    }
    StatsFile file = {.path = g_strdup(path)};
    g_ptr_array_add(material->paths, (gpointer)(guintptr)file.path);
    file.fd = stats_open_file(path, error);
    if (file.fd < 0)
        return FALSE;
    g_array_append_val(material->files, file);
    return TRUE;
}

static gint
by_name(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Hidden files and subdirectories are ignored. */
static gboolean
open_directory(Material *material, const char *path, GPtrArray *dumps, GError **error)
{
    g_autoptr(GDir) directory = g_dir_open(path, 0, error);
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    const char *name;

    if (directory == NULL)
        return FALSE;
    while ((name = g_dir_read_name(directory)) != NULL)
        if (name[0] != '.')
            g_ptr_array_add(names, g_build_filename(path, name, NULL));
    g_ptr_array_sort(names, by_name);
    for (guint i = 0; i < names->len; i++)
        if (g_file_test(names->pdata[i], G_FILE_TEST_IS_REGULAR) && !g_str_has_suffix(names->pdata[i], "-wal") &&
            !g_str_has_suffix(names->pdata[i], "-shm") && !open_file(material, names->pdata[i], dumps, error))
            return FALSE;
    if (dumps->len > 0 || material->files->len > 0 || material->history != NULL)
        return TRUE;
    g_set_error(error, CLI_ERROR, CLI_ERROR_FAILED, "%s holds no files", path);
    return FALSE;
}

static uint64_t
made_of(const StatsSample *sample)
{
    const StatsArena *merged = stats_sample_find(sample, STATS_ARENA_MERGED);

    return merged != NULL ? stats_values_or(merged->values, STATS_ARENA_SMALL_NMALLOC, 0) : 0;
}

/* The moments of a series. */
typedef struct {
    GArray *moments;  /* of DoctorMoment */
    guint64 timeless; /* samples without a time that were left out */
} Series;

static gboolean
is_timed(const StatsSample *sample)
{
    return sample->time_us != STATS_TIME_UNKNOWN;
}

static gboolean
continues(const StatsSample *sample, const StatsSample *before)
{
    return sample->time_us > before->time_us && made_of(sample) >= made_of(before);
}

/* A counter that has fallen belongs to another process. A sample without a time is alone, and gives way to any other
 * one; it is neither the first of a series nor a part of it. */
static gboolean
add_sample(StatsSample *sample, gpointer data, GError **error)
{
    Series *series = data;
    GArray *moments = series->moments;
    const StatsSample *before = moments->len > 0 ? g_array_index(moments, DoctorMoment, moments->len - 1).sample : NULL;

    series->timeless += before != NULL && (!is_timed(before) || !is_timed(sample));
    if (before != NULL && is_timed(before) && !is_timed(sample))
        return TRUE;
    if (before != NULL && (!is_timed(before) || !continues(sample, before)))
        g_array_set_size(moments, 0);
    /* The first one is kept: the times of all others are relative to it. */
    if (moments->len == MOST_MOMENTS)
        for (guint i = MOST_MOMENTS / 2; i > 0; i--)
            g_array_remove_index(moments, 2 * i - 1);
    gint64 first = moments->len > 0 ? g_array_index(moments, DoctorMoment, 0).sample->time_us : sample->time_us;
    DoctorMoment moment = {.seconds = ((gdouble)sample->time_us - (gdouble)first) / G_USEC_PER_SEC,
                           .sample = stats_sample_ref(sample),
                           .rss = stats_values_or(sample->totals, STATS_RSS, G_MAXUINT64),
                           .peak = G_MAXUINT64,
                           .threads = G_MAXUINT64,
                           .descriptors = G_MAXUINT64,
                           .processor_ms = G_MAXUINT64};
    g_array_append_val(moments, moment);
    return TRUE;
}

static gboolean
read_history(Material *material, GArray *moments, GError **error)
{
    history_take_handed();
    g_autoptr(History) history = history_open(material->history, HISTORY_READ, error);
    const HistoryLife life = {
        .target = material->target, .pid = material->pid, .start_ticks = material->start_time, .boot = material->boot};
    g_autofree char *own = history != NULL && material->pid != 0 ? history_target_of(history, &life, error) : NULL;
    if (history == NULL || (material->pid != 0 && own == NULL))
        return FALSE;
    StatsIterator *iterator = history_iterator_new(history, own != NULL ? own : material->target, HISTORY_ALL_TIME,
                                                   HISTORY_TOTALS | HISTORY_ARENAS | HISTORY_CLASSES, error);
    if (iterator == NULL)
        return FALSE;
    Series series = {.moments = moments};
    gboolean fine = iterator->each(iterator, add_sample, &series, error);
    iterator->free(iterator);
    material->partial = kept_warn(material->history, history_damaged_blocks(history));
    return fine;
}

/* Runs in a child: writes the moments of the history as a SampleBytesFile. */
static int
extract_history(gpointer data, GOutputStream *out, GError **error)
{
    Material *material = data;
    g_autoptr(SampleBytesFile) file = sample_bytes_file_new();
    g_auto(DoctorEvidence) evidence = {0};
    doctor_evidence_init(&evidence);
    if (!read_history(material, evidence.moments, error))
        return STATUS_FAILED;
    for (guint i = 0; i < evidence.moments->len; i++)
        sample_bytes_file_add(file, g_array_index(evidence.moments, DoctorMoment, i).sample);
    if (sample_bytes_file_write(file, STDOUT_FILENO))
        return material->partial ? STATUS_PARTIAL : STATUS_DONE;
    g_set_error(error, CLI_ERROR, CLI_ERROR_FAILED, "%s: its samples cannot be written: %s", material->history,
                g_strerror(errno));
    return STATUS_FAILED;
}

/* How long it takes to read is up to the owner of the file. The limit must not count what is read of others, so it has
 * a child of its own. */
static gboolean
open_history(Material *material, GError **error)
{
    history_hand_over(material->history);
    material->boot = history_boot();
    const Confined confined = {.work = extract_history,
                               .data = material,
                               .memory = CONFINED_WORK_STATISTICS,
                               .seconds = history_handed_seconds()};
    g_autofree char *doing = g_strdup_printf("reading %s", material->history);
    int extract = -1;
    const int status = confined_work_run(&confined, doing, &extract, error);
    material->extract = MAX(extract, 0);
    material->partial = status == STATUS_PARTIAL;
    return status == STATUS_DONE || status == STATUS_PARTIAL;
}

gboolean
material_open(Material *material, char *const *names, const char *target, GPtrArray *dumps, GError **error)
{
    *material = (Material){.files = g_array_new(FALSE, FALSE, sizeof(StatsFile)),
                           .paths = g_ptr_array_new_with_free_func(g_free),
                           .target = target,
                           .pid = material->pid,
                           .start_time = material->start_time};
    for (; *names != NULL; names++) {
        gboolean directory = g_file_test(*names, G_FILE_TEST_IS_DIR);
        if (!(directory ? open_directory : open_file)(material, *names, dumps, error))
            return FALSE;
    }
    return material->history == NULL || open_history(material, error);
}

/* A file with more than the allowed number is damaged, too. */
static gboolean
read_samples(int fd, GArray *moments, GError **error)
{
    enum { PIECE = 1 << 16 };
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    ssize_t n = 1;

    while (n > 0 && bytes->len <= SAMPLE_BYTES_FILE_MAX + PIECE) {
        const guint before = bytes->len;
        g_byte_array_set_size(bytes, before + PIECE);
        n = read(fd, bytes->data + before, PIECE);
        g_byte_array_set_size(bytes, before + (guint)MAX(n, 0));
    }
    Series series = {.moments = moments};
    return sample_bytes_file_read(bytes->data, bytes->len, add_sample, &series, error);
}

static gboolean
read_file(Material *material, const StatsFile *file, GArray *moments, GError **error)
{
    StatsReport report;
    Series series = {.moments = moments};
    const guint before = moments->len;

    if (!stats_read_file(file, add_sample, &series, &report, error))
        return FALSE;
    material->partial = analyses_warn(file->path, &report) || material->partial;
    if (series.timeless > 0)
        command_say("%s: left out %" G_GUINT64_FORMAT " snapshots without a time: growth is that between times",
                    file->path, series.timeless);
    if (moments->len > 0 || before > 0)
        return TRUE;
    g_set_error(error, CLI_ERROR, CLI_ERROR_FAILED, "%s holds neither a heap dump nor jemalloc statistics", file->path);
    return FALSE;
}

gboolean
material_read(Material *material, DoctorEvidence *evidence, GError **error)
{
    if (material->files == NULL)
        return TRUE;
    if (material->samples > 0 && !read_samples(material->samples, evidence->moments, error))
        return FALSE;
    for (guint i = 0; i < material->files->len; i++)
        if (!read_file(material, &g_array_index(material->files, StatsFile, i), evidence->moments, error))
            return FALSE;
    return material->extract <= 0 || read_samples(material->extract, evidence->moments, error);
}

void
material_descriptors(const Material *material, GArray *descriptors)
{
    for (guint i = 0; material->files != NULL && i < material->files->len; i++)
        g_array_append_val(descriptors, g_array_index(material->files, StatsFile, i).fd);
    if (material->samples > 0)
        g_array_append_val(descriptors, material->samples);
    if (material->extract > 0)
        g_array_append_val(descriptors, material->extract);
}

void
material_clear(Material *material)
{
    for (guint i = 0; material->files != NULL && i < material->files->len; i++)
        close(g_array_index(material->files, StatsFile, i).fd);
    if (material->samples > 0)
        close(material->samples);
    if (material->extract > 0)
        close(material->extract);
    material->samples = material->extract = 0;
    g_clear_pointer(&material->files, g_array_unref);
    g_clear_pointer(&material->paths, g_ptr_array_unref);
    g_clear_pointer(&material->history, g_free);
    g_clear_pointer(&material->boot, g_free);
}
