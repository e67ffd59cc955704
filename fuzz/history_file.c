/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A history file of another user: opened for reading, listed, and its samples, series, dumps and recordings read; then
 * opened for writing, where a sample, a note, a dump and a recording are added and old ones removed.
 */
#include "history/database.h"
#include "history/dumps.h"
#include "history/history.h"
#include "history/series.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    TARGETS_MAX = 4,
    SAMPLES_MAX = 256,
    KEPT_MAX = 8,
    DUMP_READ_MAX = 1 << 20, /* bytes read of a dump that expands to more */
};

static const gint64 now_us = G_GINT64_CONSTANT(1700000000000000);

static char *directory;
static char *path;

/* Removes SQLite's auxiliary files. */
static void
remove_logs(void)
{
    static const char *const endings[] = {"-wal", "-shm", "-journal"};
    for (gsize i = 0; i < G_N_ELEMENTS(endings); i++) {
        g_autofree char *name = g_strconcat(path, endings[i], NULL);
        g_unlink(name);
    }
}

static void
remove_directory(void)
{
    remove_logs();
    g_unlink(path);
    g_rmdir(directory);
    g_free(path);
    g_free(directory);
}

/* Uses a file system in memory if there is one, to avoid waiting for a disk. */
static void
make_directory(void)
{
    directory = g_strdup("/dev/shm/jescope-fuzz-XXXXXX");
    if (g_mkdtemp(directory) == NULL) {
        g_free(directory);
        directory = g_dir_make_tmp("jescope-fuzz-XXXXXX", NULL);
    }
    g_assert_nonnull(directory);
    path = g_build_filename(directory, "history.db", NULL);
    atexit(remove_directory);
}

static void
write_file(const uint8_t *data, size_t size)
{
    remove_logs();
    int fd = g_open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    g_assert_cmpint(fd, >=, 0);
    g_assert_cmpint(write(fd, data, size), ==, (gssize)size);
    close(fd);
}

static gboolean
count_sample(StatsSample *sample, gpointer data, GError **error)
{
    guint *count = data;
    if (++*count < SAMPLES_MAX)
        return TRUE;
    g_set_error_literal(error, STATS_ERROR, STATS_ERROR_STOPPED, "enough");
    return FALSE;
}

static void
read_samples(History *history, const char *target)
{
    guint count = 0;
    StatsIterator *iterator = history_iterator_new(history, target, HISTORY_ALL_TIME, HISTORY_EVERYTHING, NULL);
    if (iterator == NULL)
        return;
    iterator->each(iterator, count_sample, &count, NULL);
    iterator->free(iterator);
}

/* Reads the series one by one, since an error ends a query. */
static void
read_series(History *history, const char *target)
{
    static const char *const selectors[] = {"allocated", "arena.mapped@all", "bin.curregs@merged",
                                            "mutex.num_ops@global"};
    const char *targets[] = {target, NULL};
    for (gsize i = 0; i < G_N_ELEMENTS(selectors); i++) {
        const char *words[] = {selectors[i], NULL};
        SeriesQuery query = {.targets = targets,
                             .selectors = words,
                             .range = HISTORY_ALL_TIME,
                             .step_us = i % 2 * G_USEC_PER_SEC,
                             .each = (SeriesEach)i,
                             .rate = i / 2};
        GPtrArray *series = series_read(history, &query, NULL);
        g_clear_pointer(&series, g_ptr_array_unref);
    }
}

static void
read_target(History *history, const HistoryTarget *target)
{
    GPtrArray *metrics = history_metrics(history, target->name, HISTORY_ALL_TIME, NULL);
    if (metrics != NULL)
        g_ptr_array_unref(metrics);
    read_samples(history, target->name);
    read_series(history, target->name);
}

static void
read_dump(History *history, gint64 incarnation, const RouteDump *dump)
{
    guint8 head[4096];
    g_auto(HistoryPackedDump) packed = {0};
    if (dump->bytes > DUMP_READ_MAX || !history_dump_read_packed(history, incarnation, dump->id, &packed, NULL))
        return;
    int fd = history_dump_unpack(&packed, NULL);
    if (fd < 0)
        return;
    g_assert_cmpint(read(fd, head, sizeof(head)), >=, 0);
    close(fd);
}

static void
read_life(History *history, gint64 incarnation)
{
    g_autoptr(GArray) dumps = history_dumps(history, incarnation, KEPT_MAX, NULL);
    for (guint i = 0; dumps != NULL && i < dumps->len; i++)
        read_dump(history, incarnation, &g_array_index(dumps, RouteDump, i));
    g_autoptr(GArray) recordings = history_recordings(history, incarnation, KEPT_MAX, NULL);
    g_assert_true(recordings == NULL || recordings->len <= KEPT_MAX);
}

static void
read_lives(History *history)
{
    g_autoptr(GArray) lives = history_kept_lives(history, KEPT_MAX, NULL);
    for (guint i = 0; lives != NULL && i < lives->len; i++)
        read_life(history, g_array_index(lives, HistoryKept, i).incarnation);
}

static void
read_history(void)
{
    g_autoptr(History) history = history_open(path, HISTORY_READ, NULL);
    if (history == NULL)
        return;
    g_autoptr(GPtrArray) targets = history_targets(history, NULL);
    for (guint i = 0; targets != NULL && i < MIN(targets->len, TARGETS_MAX); i++)
        read_target(history, targets->pdata[i]);
    read_lives(history);
}

static void
add_sample(History *history, gint64 incarnation)
{
    g_autoptr(StatsSample) sample = stats_sample_new(STATS_SOURCE_LIVE);
    sample->time_us = now_us;
    stats_values_set(sample->totals, STATS_ALLOCATED, 1);
    history_add(history, incarnation, sample, HISTORY_EVERYTHING, NULL);
}

static void
add_dump(History *history, gint64 incarnation)
{
    static int memory = -1;
    RouteDump dump = {.taken_ms = now_us / 1000};
    if (memory < 0) {
        memory = memfd_create("dump", MFD_CLOEXEC);
        g_assert_cmpint(write(memory, "heap_v2/1\n", 10), ==, 10);
    }
    g_auto(HistoryPackedDump) packed = {0};
    if (history_dump_pack(memory, &packed, NULL) &&
        history_dump_add_packed(history, incarnation, &packed, &dump, NULL)) {
        HistoryRecording recording = {.id = dump.id, .duration_ms = 1000, .dump = dump.id};
        history_recording_put(history, incarnation, &recording, NULL);
        read_life(history, incarnation);
    }
}

static void
remove_old(History *history, gint64 incarnation)
{
    static const HistoryRetention samples = {.keep_us = 1, .thin_after_us = 1, .thin_step_us = G_USEC_PER_SEC};
    static const HistoryDumpRetention dumps = {.count = 1, .keep_us = 1, .max_bytes = 1, .total_bytes = 1};
    HistoryRetained retained;
    history_retain_dumps(history, incarnation, &dumps, now_us, NULL);
    history_retain(history, &samples, now_us, &retained, NULL);
}

static void
write_history(void)
{
    static const HistoryLife life = {.target = "log", .pid = 7, .start_ticks = 7, .boot = "", .every_us = 1};
    static const HistoryOwner owner = {.user = 7, .unit = ""};
    gint64 incarnation;
    gboolean granted;
    g_autoptr(History) history = history_open(path, HISTORY_WRITE, NULL);
    if (history == NULL)
        return;
    sqlite3_exec(history->db, "PRAGMA max_page_count = 1024", NULL, NULL, NULL);
    history_claim(history, life.target, &owner, &granted, NULL);
    history_note(history, life.target, now_us, "a note", NULL);
    if (!history_begin(history, &life, &incarnation, NULL))
        return;
    add_sample(history, incarnation);
    add_dump(history, incarnation);
    remove_old(history, incarnation);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (path == NULL)
        make_directory();
    write_file(data, size);
    read_history();
    write_history();
    return 0;
}
