/* SPDX-License-Identifier: Apache-2.0 */
/* What waits while the history cannot be written. */
#include "service/shared-history.h"

#include <glib/gstdio.h>
#include <signal.h>
#include <sys/resource.h>

enum {
    HONEST = 5002,
    OTHER = 5001,
    ARENAS = 1000,
};

typedef struct {
    char *directory;
    char *path;
    SharedHistory *history;
    gint64 time_us;
} Fixture;

/* Files of this process do not grow beyond BYTES. */
static void
limit_files(rlim_t bytes)
{
    struct rlimit limit;
    g_assert_cmpint(getrlimit(RLIMIT_FSIZE, &limit), ==, 0);
    limit.rlim_cur = MIN(bytes, limit.rlim_max);
    g_assert_cmpint(setrlimit(RLIMIT_FSIZE, &limit), ==, 0);
}

static void
set_up(Fixture *fixture, gconstpointer data)
{
    const HistoryRules rules = {.parts = HISTORY_EVERYTHING};
    g_autoptr(GError) error = NULL;
    fixture->directory = g_dir_make_tmp("jescope-shared-history-XXXXXX", NULL);
    fixture->path = g_build_filename(fixture->directory, "h.db", NULL);
    fixture->history = shared_history_new(fixture->path, &rules, &error);
    fixture->time_us = g_get_real_time();
    g_assert_no_error(error);
    limit_files(0);
}

static void
tear_down(Fixture *fixture, gconstpointer data)
{
    static const char *const suffixes[] = {"", "-wal", "-shm"};
    shared_history_free(fixture->history);
    limit_files(RLIM_INFINITY);
    for (gsize i = 0; i < G_N_ELEMENTS(suffixes); i++) {
        g_autofree char *path = g_strconcat(fixture->path, suffixes[i], NULL);
        g_unlink(path);
    }
    g_rmdir(fixture->directory);
    g_free(fixture->path);
    g_free(fixture->directory);
}

static HistoryLife
life_of(const Fixture *fixture, uid_t account)
{
    return (HistoryLife){.target = account == HONEST ? "honest" : "other",
                         .source = HISTORY_SOURCE_LIVE,
                         .pid = (gint64)account,
                         .start_ticks = 1,
                         .boot = shared_history_boot(fixture->history)};
}

/* Adds a sample that cannot be written. */
static void
add(Fixture *fixture, uid_t account, guint arenas)
{
    g_autoptr(StatsSample) sample = stats_sample_new(STATS_SOURCE_LIVE);
    g_autoptr(GError) error = NULL;
    const HistoryLife life = life_of(fixture, account);
    sample->time_us = fixture->time_us += G_USEC_PER_SEC;
    for (guint i = 0; i < arenas; i++)
        stats_sample_arena(sample, i);
    g_assert_false(shared_history_add_sample(fixture->history, &life, account, sample, &error));
    g_assert_nonnull(error);
}

static gboolean
has_samples(const Fixture *fixture, uid_t account)
{
    g_autoptr(HistoryHold) hold = shared_history_hold(fixture->history);
    const HistoryLife life = life_of(fixture, account);
    g_autofree char *series = NULL;
    g_assert_true(history_find_series(hold->history, &life, &series, NULL));
    return series != NULL;
}

/* Samples of thousands of arenas are bounded in bytes, and displace none of another account. */
static void
test_bytes(Fixture *fixture, gconstpointer data)
{
    enum { N = 400 };
    g_autoptr(StatsSample) sample = stats_sample_new(STATS_SOURCE_LIVE);
    for (guint i = 0; i < ARENAS; i++)
        stats_sample_arena(sample, i);
    const guint64 room_for = SHARED_HISTORY_WAITING_BYTES / stats_sample_bytes(sample);
    g_assert_cmpuint(room_for, <, N);
    add(fixture, HONEST, 1);
    for (guint i = 0; i < N; i++)
        add(fixture, OTHER, ARENAS);
    SharedHistoryCounts counts = shared_history_counts(fixture->history);
    g_assert_cmpuint(counts.waiting, <=, room_for + 1);
    g_assert_cmpuint(counts.waiting + counts.lost, ==, N + 1);
    limit_files(RLIM_INFINITY);
    g_assert_true(shared_history_flush(fixture->history, NULL));
    g_assert_cmpuint(shared_history_counts(fixture->history).written, ==, counts.waiting);
    g_assert_cmpuint(shared_history_counts(fixture->history).waiting, ==, 0);
    g_assert_true(has_samples(fixture, HONEST));
}

static void
test_entries(Fixture *fixture, gconstpointer data)
{
    add(fixture, HONEST, 1);
    add(fixture, OTHER, 1);
    for (guint i = 0; i < SHARED_HISTORY_WAITING; i++)
        shared_history_add_note(fixture->history, "other", OTHER, "note");
    SharedHistoryCounts counts = shared_history_counts(fixture->history);
    g_assert_cmpuint(counts.waiting, ==, 1);
    g_assert_cmpuint(counts.lost, ==, 1);
}

#define TEST(name) g_test_add("/service/shared-history/" #name, Fixture, NULL, set_up, test_##name, tear_down)

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    signal(SIGXFSZ, SIG_IGN);
    TEST(bytes);
    TEST(entries);
    return g_test_run();
}
