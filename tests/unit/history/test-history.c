/* SPDX-License-Identifier: Apache-2.0 */
#include "etc-file.h"
#include "fixture.h"

#include "confine/thread-time.h"
#include "history/database.h"
#include "history/series.h"
#include "stats/intern.h"

#include <glib/gstdio.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void
assert_numbers(GPtrArray *samples, guint count)
{
    g_assert_cmpuint(samples->len, ==, count);
    for (guint i = 0; i < count; i++)
        fixture_assert_sample(samples->pdata[i], i);
}

/* More than one packing, a rest that is not packed, and a second reader. */
static void
test_round_trip(void)
{
    char *path = fixture_path();
    g_autoptr(History) history = fixture_open(path);
    fixture_add(history, fixture_begin(history, "redis", 1), SOME_DAY, 600);
    g_autoptr(GPtrArray) here = fixture_read(history, "redis", HISTORY_ALL_TIME);
    assert_numbers(here, 600);
    g_autoptr(History) reader = history_open(path, HISTORY_READ, NULL);
    g_autoptr(GPtrArray) there = fixture_read(reader, NULL, HISTORY_ALL_TIME);
    assert_numbers(there, 600);
    const StatsSample *first = there->pdata[0];
    g_assert_cmpstr(first->version, ==, "5.3.0");
    fixture_remove(path);
}

/* Kept dumps and statistics tell what other users' memory is for: whatever the umask, also of what SQLite keeps beside
 * the file. */
static void
test_files_of_the_owner_alone(void)
{
    static const char *const endings[] = {"", "-wal", "-shm"};
    char *path = fixture_path();
    const mode_t before = umask(0);
    g_autoptr(History) history = fixture_open(path);
    umask(before);
    fixture_add(history, fixture_begin(history, "redis", 1), SOME_DAY, 3);
    for (gsize i = 0; i < G_N_ELEMENTS(endings); i++) {
        g_autofree char *name = g_strconcat(path, endings[i], NULL);
        struct stat status;
        g_assert_cmpint(stat(name, &status), ==, 0);
        g_assert_cmpuint(status.st_mode & 07777, ==, 0600);
    }
    fixture_remove(path);
}

static void
test_range(void)
{
    char *path = fixture_path();
    g_autoptr(History) history = fixture_open(path);
    fixture_add(history, fixture_begin(history, "redis", 1), SOME_DAY, 300);
    HistoryRange range = {.from_us = SOME_DAY + 100 * SECOND, .to_us = SOME_DAY + 130 * SECOND};
    g_autoptr(GPtrArray) samples = fixture_read(history, "redis", range);
    g_assert_cmpuint(samples->len, ==, 3);
    fixture_assert_sample(samples->pdata[0], 10);
    fixture_assert_sample(samples->pdata[2], 12);
    fixture_remove(path);
}

/* The same life found again goes on; another one of the same name is an incarnation of the same target. */
static void
test_restart(void)
{
    char *path = fixture_path();
    {
        g_autoptr(History) history = fixture_open(path);
        fixture_add(history, fixture_begin(history, "redis", 1), SOME_DAY, 5);
    }
    g_autoptr(History) history = fixture_open(path);
    g_autoptr(GError) error = NULL;
    gint64 same = fixture_begin(history, "redis", 1);
    gint64 other = fixture_begin(history, "redis", 2);
    g_assert_cmpint(same, !=, other);
    fixture_add(history, same, SOME_DAY + 50 * SECOND, 5);
    fixture_add(history, other, SOME_DAY + 200 * SECOND, 5);
    history_note(history, "redis", SOME_DAY + 100 * SECOND, "not reachable", &error);
    g_assert_no_error(error);
    g_autoptr(GPtrArray) targets = history_targets(history, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(targets->len, ==, 1);
    const HistoryTarget *target = targets->pdata[0];
    g_assert_cmpstr(target->name, ==, "redis");
    g_assert_cmpuint(target->incarnations, ==, 2);
    g_assert_cmpuint(target->samples, ==, 15);
    g_assert_cmpuint(target->gaps->len, ==, 1);
    const HistoryGap *gap = &g_array_index(target->gaps, HistoryGap, 0);
    g_assert_true(gap->restart);
    g_assert_cmpint(gap->from_us, ==, SOME_DAY + 90 * SECOND);
    g_assert_cmpint(gap->to_us, ==, SOME_DAY + 200 * SECOND);
    g_assert_cmpuint(target->notes->len, ==, 1);
    fixture_remove(path);
}

static void
test_gap(void)
{
    char *path = fixture_path();
    g_autoptr(History) history = fixture_open(path);
    gint64 life = fixture_begin(history, "redis", 1);
    fixture_add(history, life, SOME_DAY, 3);
    fixture_add(history, life, SOME_DAY + 45 * SECOND, 1); /* 25 s: late, but not a gap */
    fixture_add(history, life, SOME_DAY + 71 * SECOND, 1); /* 26 s */
    g_autoptr(GPtrArray) targets = history_targets(history, NULL);
    const HistoryTarget *target = targets->pdata[0];
    g_assert_cmpuint(target->gaps->len, ==, 1);
    g_assert_cmpint(g_array_index(target->gaps, HistoryGap, 0).from_us, ==, SOME_DAY + 45 * SECOND);
    g_assert_false(g_array_index(target->gaps, HistoryGap, 0).restart);
    fixture_remove(path);
}

/* The clock is set back by an hour in the middle: all samples are there, in the order of their times. */
static void
test_clock_back(void)
{
    char *path = fixture_path();
    g_autoptr(History) history = fixture_open(path);
    gint64 life = fixture_begin(history, "redis", 1);
    fixture_add(history, life, SOME_DAY, 360);
    fixture_add(history, life, SOME_DAY + 1800 * SECOND + 1, 360);
    g_autoptr(GPtrArray) samples = fixture_read(history, "redis", HISTORY_ALL_TIME);
    g_assert_cmpuint(samples->len, ==, 720);
    for (guint i = 1; i < samples->len; i++)
        g_assert_cmpint(((StatsSample *)samples->pdata[i])->time_us, >,
                        ((StatsSample *)samples->pdata[i - 1])->time_us);
    fixture_remove(path);
}

static void
test_parts(void)
{
    char *path = fixture_path();
    g_autoptr(History) history = fixture_open(path);
    gint64 life = fixture_begin(history, "redis", 1);
    g_autoptr(StatsSample) sample = fixture_sample(SOME_DAY, 1);
    history_add(history, life, sample, HISTORY_TOTALS, NULL);
    g_autoptr(GPtrArray) samples = fixture_read(history, "redis", HISTORY_ALL_TIME);
    const StatsSample *read = samples->pdata[0];
    g_assert_cmpuint(stats_values_or(read->totals, STATS_ALLOCATED, 0), ==, 1004096);
    g_assert_cmpuint(read->arenas->len, ==, 0);
    g_assert_null(read->mutexes);
    g_autoptr(GPtrArray) metrics = history_metrics(history, "redis", HISTORY_ALL_TIME, NULL);
    g_assert_cmpuint(metrics->len, ==, 2);
    g_assert_cmpstr(metrics->pdata[0], ==, "allocated");
    fixture_remove(path);
}

static gboolean
check_only_mapped(StatsSample *sample, gpointer data, GError **error)
{
    guint *number = data;
    const StatsArena *arena = stats_sample_find(sample, 3);
    g_assert_cmpuint(stats_values_or(arena->values, STATS_ARENA_MAPPED, 0), ==, *number * 1000 + 3);
    g_assert_cmpuint((guint)__builtin_popcountll(arena->values->present), ==, 1);
    g_assert_cmpuint(sample->totals->present, ==, 0);
    g_assert_null(arena->bins);
    ++*number;
    return TRUE;
}

static void
test_only(void)
{
    char *path = fixture_path();
    g_autoptr(History) history = fixture_open(path);
    fixture_add(history, fixture_begin(history, "redis", 1), SOME_DAY, 300);
    static const StatsMetric mapped = STATS_ARENA_MAPPED;
    StatsIterator *iterator = history_iterator_new(history, "redis", HISTORY_ALL_TIME, HISTORY_EVERYTHING, NULL);
    history_iterator_only(iterator, &mapped, 1);
    guint number = 0;
    g_assert_true(iterator->each(iterator, check_only_mapped, &number, NULL));
    g_assert_cmpuint(number, ==, 300);
    iterator->free(iterator);
    fixture_remove(path);
}

/* A transaction that is rolled back leaves nothing, not even its words. */
static void
test_rolled_back(void)
{
    char *path = fixture_path();
    g_autoptr(History) history = fixture_open(path);
    g_autoptr(GError) error = NULL;
    gboolean mine;
    g_assert_true(database_begin(history, &mine, &error));
    fixture_add(history, fixture_begin(history, "redis", 1), SOME_DAY, 3);
    g_assert_false(database_end(history, mine, FALSE, NULL));
    g_assert_false(history_check_target(history, "redis", &error));
    g_assert_error(error, HISTORY_ERROR, HISTORY_ERROR_MISSING);
    fixture_add(history, fixture_begin(history, "redis", 1), SOME_DAY, 3);
    g_autoptr(GPtrArray) samples = fixture_read(history, "redis", HISTORY_ALL_TIME);
    assert_numbers(samples, 3);
    fixture_remove(path);
}

static void
test_two_writers(void)
{
    char *path = fixture_path();
    g_autoptr(History) one = fixture_open(path);
    g_autoptr(History) two = fixture_open(path);
    gint64 a = fixture_begin(one, "a", 1), b = fixture_begin(two, "b", 2);
    for (guint i = 0; i < 300; i++) {
        fixture_add(one, a, SOME_DAY + i * 10 * SECOND, 1);
        fixture_add(two, b, SOME_DAY + i * 10 * SECOND, 1);
    }
    g_autoptr(GPtrArray) of_a = fixture_read(two, "a", HISTORY_ALL_TIME);
    g_autoptr(GPtrArray) of_b = fixture_read(one, "b", HISTORY_ALL_TIME);
    g_assert_cmpuint(of_a->len, ==, 300);
    g_assert_cmpuint(of_b->len, ==, 300);
    fixture_remove(path);
}

static void
assert_opens_with(const char *path, HistoryMode mode, HistoryError code, const char *words)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(History) history = history_open(path, mode, &error);
    g_assert_null(history);
    g_assert_error(error, HISTORY_ERROR, (int)code);
    g_assert_nonnull(strstr(error->message, path));
    g_assert_nonnull(strstr(error->message, words));
}

static void
run_sql(const char *path, const char *sql)
{
    sqlite3 *db = NULL;
    g_assert_cmpint(sqlite3_open(path, &db), ==, SQLITE_OK);
    g_assert_cmpint(sqlite3_exec(db, sql, NULL, NULL, NULL), ==, SQLITE_OK);
    sqlite3_close(db);
}

static void
test_missing(void)
{
    char *path = fixture_path();
    assert_opens_with(path, HISTORY_READ, HISTORY_ERROR_MISSING, "jescope collect");
    fixture_remove(path);
}

static void
test_not_history(void)
{
    char *path = fixture_path();
    g_file_set_contents(path, "", 0, NULL);
    assert_opens_with(path, HISTORY_READ, HISTORY_ERROR_NOT_HISTORY, "not a history file");
    g_file_set_contents(path, "hello, this is a text file and rather long for a header of a database", -1, NULL);
    assert_opens_with(path, HISTORY_READ, HISTORY_ERROR_NOT_HISTORY, "not a history file");
    assert_opens_with(path, HISTORY_WRITE, HISTORY_ERROR_NOT_HISTORY, "not a history file");
    g_unlink(path);
    run_sql(path, "CREATE TABLE bookmarks(url TEXT)");
    assert_opens_with(path, HISTORY_READ, HISTORY_ERROR_NOT_HISTORY, "not a history file");
    assert_opens_with(path, HISTORY_WRITE, HISTORY_ERROR_NOT_HISTORY, "not a history file");
    fixture_remove(path);
}

static void
test_newer(void)
{
    char *path = fixture_path();
    history_close(fixture_open(path));
    run_sql(path, "PRAGMA user_version = 99");
    assert_opens_with(path, HISTORY_READ, HISTORY_ERROR_NEWER, "schema 99");
    assert_opens_with(path, HISTORY_WRITE, HISTORY_ERROR_NEWER, "schema 99");
    fixture_remove(path);
}

static void
take_process(const HistoryProcess *process, gpointer text)
{
    *(char **)text = g_strjoin("|", process->user, process->arguments, process->group, NULL);
}

static void
assert_process(History *history, gint64 life, const char *expected)
{
    g_autofree char *text = NULL;
    g_assert_cmpint(history_process(history, life, take_process, &text), ==, expected != NULL);
    g_assert_cmpstr(text, ==, expected);
}

static gint64
begin_as(History *history, const HistoryProcess *process)
{
    const HistoryLife life = {.target = "redis", .pid = 1, .start_ticks = 100, .boot = "boot", .process = *process};
    gint64 incarnation;
    g_assert_true(history_begin(history, &life, &incarnation, NULL));
    return incarnation;
}

static void
assert_uses_index(const char *path, const char *query, const char *index)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *statement = NULL;
    g_autofree char *sql = g_strconcat("EXPLAIN QUERY PLAN ", query, NULL);
    g_assert_cmpint(sqlite3_open(path, &db), ==, SQLITE_OK);
    g_assert_cmpint(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), ==, SQLITE_OK);
    g_assert_cmpint(sqlite3_step(statement), ==, SQLITE_ROW);
    g_assert_nonnull(strstr((const char *)sqlite3_column_text(statement, 3), index));
    sqlite3_finalize(statement);
    sqlite3_close(db);
}

/* The processes of a series, each of which leaves one sample, whose block each later one looked at. */
static void
test_many_short_lives(void)
{
    enum { LIVES = 2000, PART = LIVES / 10 };
    char *path = fixture_path();
    History *history = fixture_open(path);
    gint64 first_us = 0, last_us = 0;
    for (gint64 i = 0; i < LIVES; i++) {
        const HistoryLife life = {.target = "redis", .pid = 1, .start_ticks = (guint64)i + 1, .boot = "boot"};
        gint64 incarnation;
        const gint64 begun_us = thread_time_us();
        g_assert_true(history_begin(history, &life, &incarnation, NULL));
        first_us += i < PART ? thread_time_us() - begun_us : 0;
        last_us += i >= LIVES - PART ? thread_time_us() - begun_us : 0;
        fixture_add(history, incarnation, SOME_DAY + i, 1);
    }
    g_assert_cmpint(last_us, <, first_us * 20);
    history_close(history);
    assert_uses_index(path, "SELECT id FROM incarnation WHERE source = 0 AND pid = 1 AND start_ticks = 2",
                      "life_by_process");
    fixture_remove(path);
}

/* The samples of a process are found under whatever name they have, and never those of another one. */
static void
test_target_of(void)
{
    char *path = fixture_path();
    History *history = fixture_open(path);
    g_autoptr(GError) error = NULL;
    gint64 incarnation;
    HistoryLife mine = {.target = "redis", .pid = 1, .start_ticks = 7, .boot = "boot"}, other = mine;
    other.target = "sidecar";
    other.pid = 2;
    g_assert_true(history_begin(history, &mine, &incarnation, NULL));
    g_assert_true(history_begin(history, &other, &incarnation, NULL));
    mine.target = NULL;
    g_autofree char *name = history_target_of(history, &mine, NULL);
    g_assert_cmpstr(name, ==, "redis");
    mine.target = "sidecar";
    g_assert_null(history_target_of(history, &mine, &error));
    g_assert_error(error, HISTORY_ERROR, HISTORY_ERROR_MISSING);
    g_clear_error(&error);
    mine.target = NULL;
    mine.start_ticks++;
    g_assert_null(history_target_of(history, &mine, &error));
    g_assert_error(error, HISTORY_ERROR, HISTORY_ERROR_MISSING);
    history_close(history);
    fixture_remove(path);
}

/* What a process was called is kept with each life; a file of an older jescope has none, and gets it when it is
 * written. */
static void
test_process(void)
{
    static const HistoryProcess server = {"me", "redis-server *:6379", "/a.service"},
                                other = {"me", "redis\033[2J", NULL};
    char *path = fixture_path();
    History *history = fixture_open(path);
    gint64 life = begin_as(history, &server);
    assert_process(history, life, "me|redis-server *:6379|/a.service");
    g_assert_cmpint(begin_as(history, &(HistoryProcess){.user = NULL}), ==, life);
    assert_process(history, life, "me|redis-server *:6379|/a.service");
    g_assert_cmpint(begin_as(history, &other), ==, life);
    assert_process(history, life, "me|redis\\u{001B}[2J|");
    assert_process(history, life + 1, NULL);
    fixture_add(history, life, SOME_DAY, 1);
    history_close(history);
    run_sql(path, "DROP TABLE process; PRAGMA user_version = 3");
    History *reader = history_open(path, HISTORY_READ, NULL);
    assert_process(reader, life, NULL);
    history_close(reader);
    history = fixture_open(path);
    assert_process(history, life, NULL);
    g_assert_cmpint(begin_as(history, &server), ==, life);
    assert_process(history, life, "me|redis-server *:6379|/a.service");
    history_close(history);
    fixture_remove(path);
}

static void
test_missing_row(void)
{
    char *path = fixture_path();
    g_autoptr(History) history = fixture_open(path);
    gint64 life = fixture_begin(history, "redis", 1);
    g_autoptr(GError) error = NULL;
    g_autoptr(StatsSample) sample = fixture_sample(SOME_DAY, 0);
    g_assert_false(history_add(history, life + 1, sample, HISTORY_EVERYTHING, &error));
    g_assert_error(error, HISTORY_ERROR, HISTORY_ERROR_DAMAGED);
    g_assert_nonnull(strstr(error->message, "is damaged"));
    /* The file goes on for those whose rows are there. */
    g_assert_true(history_add(history, life, sample, HISTORY_EVERYTHING, NULL));
    fixture_remove(path);
}

static void
test_locked(void)
{
    char *path = fixture_path();
    g_autoptr(History) history = fixture_open(path);
    gint64 life = fixture_begin(history, "redis", 1);
    sqlite3 *other = NULL;
    sqlite3_open(path, &other);
    g_assert_cmpint(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), ==, SQLITE_OK);
    g_autoptr(GError) error = NULL;
    g_autoptr(StatsSample) sample = fixture_sample(SOME_DAY, 0);
    g_assert_false(history_add(history, life, sample, HISTORY_EVERYTHING, &error));
    g_assert_error(error, HISTORY_ERROR, HISTORY_ERROR_LOCKED);
    sqlite3_close(other);
    fixture_add(history, life, SOME_DAY, 1);
    fixture_remove(path);
}

/* A page in the middle is overwritten: readable parts are read, the rest is counted or an error. */
static void
test_damaged_block(void)
{
    char *path = fixture_path();
    g_autoptr(History) history = fixture_open(path);
    fixture_add(history, fixture_begin(history, "redis", 1), SOME_DAY, 260);
    run_sql(path, "UPDATE block SET arenas = x'00ff00ff' WHERE id = (SELECT max(id) FROM block)");
    g_autoptr(GPtrArray) samples = fixture_read(history, "redis", HISTORY_ALL_TIME);
    g_assert_cmpuint(samples->len, <, 260);
    g_assert_cmpuint(samples->len, >, 0);
    g_assert_cmpuint(history_damaged_blocks(history), ==, 1);
    fixture_remove(path);
}

/* A forged block at the end of all times, G_MAXINT64. */
static void
test_damaged_time(void)
{
    char *path = fixture_path();
    g_autoptr(History) history = fixture_open(path);
    fixture_add(history, fixture_begin(history, "redis", 1), SOME_DAY, 1);
    run_sql(path,
            "UPDATE block SET times = x'00120101000000000b00feffffffffffffffff01', last_us = 9223372036854775807");
    g_autoptr(GPtrArray) samples = fixture_read(history, "redis", (HistoryRange){G_MININT64, G_MAXINT64});
    g_assert_cmpuint(samples->len, ==, 0);
    g_assert_cmpuint(history_damaged_blocks(history), ==, 1);
    fixture_remove(path);
}

static void
test_corrupt_file(void)
{
    char *path = fixture_path();
    {
        g_autoptr(History) history = fixture_open(path);
        fixture_add(history, fixture_begin(history, "redis", 1), SOME_DAY, 300);
    }
    g_autofree char *bytes = NULL;
    gsize length;
    g_assert_true(g_file_get_contents(path, &bytes, &length, NULL));
    memset(bytes + 4096, 0x5a, length - 4096);
    g_assert_true(g_file_set_contents(path, bytes, (gssize)length, NULL));
    assert_opens_with(path, HISTORY_READ, HISTORY_ERROR_DAMAGED, ".recover");
    fixture_remove(path);
}

static void
test_full(void)
{
    char *path = fixture_path();
    g_autoptr(History) history = fixture_open(path);
    gint64 life = fixture_begin(history, "redis", 1);
    g_autoptr(GError) error = NULL;
    guint added = 0;
    sqlite3_exec(history->db, "PRAGMA max_page_count = 30", NULL, NULL, NULL);
    while (error == NULL && added < 10000) {
        g_autoptr(StatsSample) sample = fixture_sample(SOME_DAY + added * 10 * SECOND, added);
        added += history_add(history, life, sample, HISTORY_EVERYTHING, &error);
    }
    g_assert_error(error, HISTORY_ERROR, HISTORY_ERROR_FULL);
    g_autoptr(GPtrArray) samples = fixture_read(history, "redis", HISTORY_ALL_TIME);
    assert_numbers(samples, added);
    /* It goes on when there is room again. */
    sqlite3_exec(history->db, "PRAGMA max_page_count = 100000", NULL, NULL, NULL);
    fixture_add(history, life, SOME_DAY + added * 10 * SECOND, 1);
    fixture_remove(path);
}

static guint64
file_size(const char *path)
{
    struct stat status;
    g_assert_cmpint(stat(path, &status), ==, 0);
    return (guint64)status.st_size;
}

static void
test_keep(void)
{
    char *path = fixture_path();
    g_autoptr(History) history = fixture_open(path);
    fixture_add(history, fixture_begin(history, "redis", 1), SOME_DAY, 1024);
    gint64 now_us = SOME_DAY + 10240 * SECOND;
    HistoryRetention retention = {.keep_us = (guint64)(5120 * SECOND)};
    HistoryRetained retained;
    g_assert_true(history_retain(history, &retention, now_us, &retained, NULL));
    /* Whole blocks go. */
    g_assert_cmpuint(retained.removed, >, 0);
    g_assert_cmpuint(retained.removed, <=, 512);
    g_autoptr(GPtrArray) samples = fixture_read(history, "redis", HISTORY_ALL_TIME);
    g_assert_cmpuint(samples->len, ==, 1024 - retained.removed);
    fixture_assert_sample(samples->pdata[0], (guint)retained.removed);
    fixture_remove(path);
}

static void
test_thin(void)
{
    char *path = fixture_path();
    g_autoptr(History) history = fixture_open(path);
    fixture_add(history, fixture_begin(history, "redis", 1), SOME_DAY, 1024);
    gint64 now_us = SOME_DAY + 10240 * SECOND;
    HistoryRetention retention = {.thin_after_us = (guint64)(5120 * SECOND), .thin_step_us = (guint64)(60 * SECOND)};
    HistoryRetained retained;
    g_assert_true(history_retain(history, &retention, now_us, &retained, NULL));
    g_autoptr(GPtrArray) samples = fixture_read(history, "redis", HISTORY_ALL_TIME);
    g_assert_cmpuint(samples->len, ==, 1024 - retained.thinned);
    g_assert_cmpuint(retained.thinned, >, 0);
    g_assert_cmpuint(samples->len, >, 512);
    /* Thinned is not a gap, and not thinned again. */
    g_autoptr(GPtrArray) targets = history_targets(history, NULL);
    g_assert_cmpuint(((HistoryTarget *)targets->pdata[0])->gaps->len, ==, 0);
    g_assert_true(history_retain(history, &retention, now_us, &retained, NULL));
    g_assert_cmpuint(retained.thinned, ==, 0);
    fixture_remove(path);
}

/* Imported samples stay whatever the rule, and the file shrinks. */
static void
test_max_bytes(void)
{
    char *path = fixture_path();
    guint64 before;
    {
        g_autoptr(History) history = fixture_open(path);
        HistoryLife life = {.target = "log", .source = HISTORY_SOURCE_IMPORT, .boot = ""};
        gint64 imported;
        g_assert_true(history_begin(history, &life, &imported, NULL));
        fixture_add(history, imported, SOME_DAY - 10000 * SECOND, 5);
        fixture_add(history, fixture_begin(history, "redis", 1), SOME_DAY, 8192);
    }
    before = file_size(path);
    {
        g_autoptr(History) history = fixture_open(path);
        HistoryRetention retention = {.keep_us = 1, .max_bytes = before / 2};
        HistoryRetained retained;
        g_assert_true(history_retain(history, &retention, SOME_DAY, &retained, NULL));
        g_assert_cmpuint(retained.bytes, <=, before / 2);
        g_assert_cmpuint(retained.removed, >, 0);
        g_autoptr(GPtrArray) kept = fixture_read(history, "log", HISTORY_ALL_TIME);
        g_assert_cmpuint(kept->len, ==, 5);
    }
    g_assert_cmpuint(file_size(path), <, before);
    fixture_remove(path);
}

enum { HONEST_SAMPLES = 300 };

/* Older ones than those of others. */
static void
add_honest_samples(History *history)
{
    gboolean granted;
    g_assert_true(history_claim(history, "redis", &(HistoryOwner){.user = 1000, .unit = ""}, &granted, NULL));
    fixture_add(history, fixture_begin(history, "redis", 1), SOME_DAY - 10000 * SECOND, HONEST_SAMPLES);
}

/* While half of the file is removed. */
static void
assert_honest_samples_stay(const char *path)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(History) history = fixture_open(path);
    HistoryRetention retention = {.max_bytes = file_size(path) / 2};
    HistoryRetained retained;
    g_assert_true(history_retain(history, &retention, SOME_DAY, &retained, &error));
    g_assert_no_error(error);
    g_assert_cmpuint(retained.removed, >, 0);
    g_autoptr(GPtrArray) kept = fixture_read(history, "redis", HISTORY_ALL_TIME);
    g_assert_cmpuint(kept->len, ==, HONEST_SAMPLES);
}

/* A user with much to keep does not push out what another has kept for longer. */
static void
test_max_bytes_is_shared(void)
{
    char *path = fixture_path();
    gboolean granted;
    {
        g_autoptr(History) history = fixture_open(path);
        g_assert_true(history_claim(history, "greedy", &(HistoryOwner){.user = 65534, .unit = ""}, &granted, NULL));
        add_honest_samples(history);
        fixture_add(history, fixture_begin(history, "greedy", 2), SOME_DAY, 8192);
    }
    assert_honest_samples_stay(path);
    fixture_remove(path);
}

/* The same for a user with a target of each of many subordinate ids. */
static void
test_max_bytes_is_shared_with_subordinate_ids(void)
{
    enum { IDS = 32 };
    if (!etc_file_replace("/etc/subuid", "65531:200000:65536\n")) {
        g_test_skip("needs mounts of its own, and /etc/subuid");
        return;
    }
    char *path = fixture_path();
    gboolean granted;
    {
        g_autoptr(History) history = fixture_open(path);
        add_honest_samples(history);
        for (guint i = 0; i < IDS; i++) {
            g_autofree char *target = g_strdup_printf("subordinate-%u", i);
            HistoryOwner owner = {.user = 200000 + i, .unit = ""};
            g_assert_true(history_claim(history, target, &owner, &granted, NULL));
            fixture_add(history, fixture_begin(history, target, 2 + i), SOME_DAY, 8192 / IDS);
        }
    }
    assert_honest_samples_stay(path);
    fixture_remove(path);
}

/* Runs BODY in a process that ends without a check for leaks: GLib keeps the tables of interned strings that it has
 * outgrown. */
static void
run_in_a_child(void (*body)(void))
{
    int status = -1;
    const pid_t pid = fork();
    if (pid == 0) {
        body();
        _exit(0);
    }
    g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
    g_assert_cmpint(status, ==, 0);
}

/* A log names arenas as its writer likes: metrics that were not stored before are stored all the same. */
static void
store_any_number_of_names(void)
{
    enum { PER_SAMPLE = 4000 };
    char *path = fixture_path();
    g_autoptr(GError) error = NULL;
    g_autoptr(History) history = fixture_open(path);
    const gint64 greedy = fixture_begin(history, "greedy", 1);
    for (guint names = 0; names <= G_MAXUINT16; names += PER_SAMPLE) {
        g_autoptr(StatsSample) sample = stats_sample_new(STATS_SOURCE_JSON);
        sample->time_us = SOME_DAY + names * SECOND;
        for (guint i = 0; i < PER_SAMPLE; i++) {
            g_autofree char *name = g_strdup_printf("arena %u", names + i);
            stats_sample_arena(sample, i)->name = stats_intern(name, strlen(name));
        }
        g_assert_true(history_add(history, greedy, sample, HISTORY_EVERYTHING, &error));
        g_assert_no_error(error);
    }
    fixture_add(history, fixture_begin(history, "redis", 2), SOME_DAY, 2);
    g_autoptr(GPtrArray) samples = fixture_read(history, "redis", HISTORY_ALL_TIME);
    for (guint i = 0; i < samples->len; i++) {
        StatsArena *arena = stats_sample_arena(samples->pdata[i], 3);
        g_assert_cmpstr(arena->name, ==, "?");
        stats_intern_replace(&arena->name, "auto 3", 6);
    }
    assert_numbers(samples, 2); /* all but this name is stored */
    g_autoptr(GPtrArray) named = fixture_read(history, "greedy", HISTORY_ALL_TIME);
    const StatsSample *first = named->pdata[0], *last = named->pdata[named->len - 1];
    g_assert_cmpstr(((const StatsArena *)first->arenas->pdata[0])->name, ==, "arena 0");
    g_assert_cmpstr(((const StatsArena *)last->arenas->pdata[0])->name, ==, "?");
    fixture_remove(path);
}

static gint64
query_number(const char *path, const char *sql)
{
    sqlite3 *other = NULL;
    sqlite3_stmt *statement = NULL;
    g_assert_cmpint(sqlite3_open(path, &other), ==, SQLITE_OK);
    g_assert_cmpint(sqlite3_prepare_v2(other, sql, -1, &statement, NULL), ==, SQLITE_OK);
    g_assert_cmpint(sqlite3_step(statement), ==, SQLITE_ROW);
    const gint64 number = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(other);
    return number;
}

/* Its values would make a column each, with room for all the rows before. */
static void
test_wide_sample_after_many(void)
{
    enum { BEFORE = 255, ARENAS = 40 }; /* the next sample has them packed */
    char *path = fixture_path();
    g_autoptr(GError) error = NULL;
    g_autoptr(History) history = fixture_open(path);
    const gint64 life = fixture_begin(history, "wide", 1);
    for (guint i = 0; i <= BEFORE; i++) {
        g_autoptr(StatsSample) sample = stats_sample_new(STATS_SOURCE_JSON);
        sample->time_us = SOME_DAY + i * SECOND;
        stats_values_set(sample->totals, STATS_ALLOCATED, i);
        for (guint j = 0; i == BEFORE && j < ARENAS; j++) {
            StatsArena *arena = stats_sample_arena(sample, j);
            arena->bins = stats_table_new(STATS_SCOPE_BIN);
            for (guint k = 0; k < STATS_CLASSES_MAX; k++)
                stats_values_set(stats_table_add(arena->bins, NULL), STATS_BIN_NMALLOC, 1);
        }
        g_assert_true(history_add(history, life, sample, HISTORY_EVERYTHING, &error));
        g_assert_no_error(error);
    }
    g_autoptr(GPtrArray) samples = fixture_read(history, "wide", HISTORY_ALL_TIME);
    g_assert_cmpuint(samples->len, ==, BEFORE + 1);
    g_assert_cmpuint(((const StatsSample *)samples->pdata[BEFORE])->arenas->len, ==, ARENAS);
    g_assert_cmpint(query_number(path, "SELECT max(rows) FROM block"), ==, BEFORE);
    g_assert_cmpint(query_number(path, "SELECT max(rows) FROM block WHERE classes IS NOT NULL"), ==, 1);
    fixture_remove(path);
}

/* Each of its values makes a column, which takes more than a hundred bytes while it is stored. */
static void
test_sample_of_many_values(void)
{
    enum { ARENAS = HISTORY_VALUES_MAX / STATS_CLASSES_MAX };
    char *path = fixture_path();
    g_autoptr(GError) error = NULL;
    g_autoptr(History) history = fixture_open(path);
    g_autoptr(StatsSample) sample = stats_sample_new(STATS_SOURCE_LIVE);
    const gint64 life = fixture_begin(history, "large", 1);
    sample->time_us = SOME_DAY;
    for (guint i = 0; i <= ARENAS; i++) {
        StatsArena *arena = stats_sample_arena(sample, i < ARENAS ? i : (guint)STATS_ARENA_MERGED);
        stats_values_set(arena->values, STATS_ARENA_THREADS, 1);
        arena->bins = stats_table_new(STATS_SCOPE_BIN);
        for (guint k = 0; k < STATS_CLASSES_MAX; k++)
            stats_values_set(stats_table_add(arena->bins, NULL), STATS_BIN_NMALLOC, 1);
    }
    g_assert_true(history_add(history, life, sample, HISTORY_EVERYTHING, &error));
    g_assert_no_error(error);
    g_autoptr(GPtrArray) samples = fixture_read(history, "large", HISTORY_ALL_TIME);
    const StatsSample *stored = samples->pdata[0];
    g_assert_cmpuint(stored->arenas->len, ==, ARENAS + 1);
    g_assert_null(((const StatsArena *)stored->arenas->pdata[0])->bins);
    g_assert_cmpuint(stats_sample_find(stored, STATS_ARENA_MERGED)->bins->count, ==, STATS_CLASSES_MAX);
    fixture_remove(path);
}

static void
test_any_number_of_names(void)
{
    run_in_a_child(store_any_number_of_names);
}

/* Runs SQL in a history with two samples of one target, as another user may do, and reads all of it. The time is that
 * of a slow machine; it was a multiple of it, growing with the square of what SQL adds. */
static void
read_forged(const char *sql, guint64 values)
{
    static const char *const selectors[] = {"allocated", NULL}, *const every[] = {NULL};
    const SeriesQuery query = {.targets = every, .selectors = selectors, .range = HISTORY_ALL_TIME};
    enum { MOST_SECONDS = 15 };
    char *path = fixture_path();
    g_autoptr(GError) error = NULL;
    g_autoptr(History) history = fixture_open(path);
    sqlite3 *other = NULL;
    fixture_add(history, fixture_begin(history, "one", 1), SOME_DAY, 2);
    g_clear_pointer(&history, history_close);
    g_assert_cmpint(sqlite3_open(path, &other), ==, SQLITE_OK);
    g_assert_cmpint(sqlite3_exec(other, sql, NULL, NULL, NULL), ==, SQLITE_OK);
    sqlite3_close(other);
    const clock_t begun = clock();
    history = history_open(path, HISTORY_READ, &error);
    g_assert_no_error(error);
    g_autoptr(GPtrArray) series = series_read(history, &query, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(series->len, ==, 1);
    const GArray *points = ((const Series *)series->pdata[0])->points;
    g_assert_cmpuint(points->len, ==, values);
    for (guint i = 1; i < points->len; i++)
        g_assert_cmpint(g_array_index(points, SeriesPoint, i - 1).time_us, <=,
                        g_array_index(points, SeriesPoint, i).time_us);
    g_assert_cmpint(clock() - begun, <, MOST_SECONDS * CLOCKS_PER_SEC);
    fixture_remove(path);
}

#define COUNT_TO(n) "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < " #n ") "

static void
test_overlapping_blocks(void)
{
    read_forged(
        COUNT_TO(20000) "INSERT INTO block(target, incarnation, first_us, last_us, rows, step_us, times, totals)"
                        " SELECT target, incarnation, first_us, last_us + 10000000, rows, step_us, times, totals"
                        " FROM block, n",
        40002);
}

static void
test_targets_with_unprintable_names(void)
{
    read_forged(COUNT_TO(20000) "INSERT INTO target(name) SELECT char(1) || i FROM n", 2);
}

static void
read_words_whose_numbers_collide(void)
{
    read_forged(COUNT_TO(150000) "INSERT INTO word(id, text) SELECT i << 32, 'w' || i FROM n", 2);
}

static void
test_words_whose_numbers_collide(void)
{
    run_in_a_child(read_words_whose_numbers_collide);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    /* Before the file is read. */
    g_test_add_func("/history/max-bytes-is-shared-with-subordinate-ids", test_max_bytes_is_shared_with_subordinate_ids);
    g_test_add_func("/history/round-trip", test_round_trip);
    g_test_add_func("/history/files-of-the-owner-alone", test_files_of_the_owner_alone);
    g_test_add_func("/history/range", test_range);
    g_test_add_func("/history/missing-row", test_missing_row);
    g_test_add_func("/history/restart", test_restart);
    g_test_add_func("/history/gap", test_gap);
    g_test_add_func("/history/clock-back", test_clock_back);
    g_test_add_func("/history/parts", test_parts);
    g_test_add_func("/history/only", test_only);
    g_test_add_func("/history/rolled-back", test_rolled_back);
    g_test_add_func("/history/two-writers", test_two_writers);
    g_test_add_func("/history/missing", test_missing);
    g_test_add_func("/history/not-history", test_not_history);
    g_test_add_func("/history/newer", test_newer);
    g_test_add_func("/history/process", test_process);
    g_test_add_func("/history/many-short-lives", test_many_short_lives);
    g_test_add_func("/history/target-of", test_target_of);
    g_test_add_func("/history/locked", test_locked);
    g_test_add_func("/history/damaged-block", test_damaged_block);
    g_test_add_func("/history/damaged-time", test_damaged_time);
    g_test_add_func("/history/corrupt-file", test_corrupt_file);
    g_test_add_func("/history/full", test_full);
    g_test_add_func("/history/keep", test_keep);
    g_test_add_func("/history/thin", test_thin);
    g_test_add_func("/history/max-bytes", test_max_bytes);
    g_test_add_func("/history/max-bytes-is-shared", test_max_bytes_is_shared);
    g_test_add_func("/history/any-number-of-names", test_any_number_of_names);
    g_test_add_func("/history/wide-sample-after-many", test_wide_sample_after_many);
    g_test_add_func("/history/sample-of-many-values", test_sample_of_many_values);
    g_test_add_func("/history/overlapping-blocks", test_overlapping_blocks);
    g_test_add_func("/history/targets-with-unprintable-names", test_targets_with_unprintable_names);
    g_test_add_func("/history/words-whose-numbers-collide", test_words_whose_numbers_collide);
    return g_test_run();
}
