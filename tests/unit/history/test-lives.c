/* SPDX-License-Identifier: Apache-2.0 */
/* What processes leave in a history when there are very many of them. */
#include "history/dumps.h"
#include "history/forget.h"

#include "fixture.h"

#include "confine/thread-time.h"

#include <sqlite3.h>
#include <string.h>
#include <time.h>

enum {
    LIVES = 3000,
    ARGUMENTS = 4000,
};

static void
claim(History *history, const char *name, guint32 user, gboolean wanted)
{
    gboolean granted = FALSE;
    g_assert_true(history_claim(history, name, &(HistoryOwner){.user = user, .unit = ""}, &granted, NULL));
    g_assert_cmpint(granted, ==, wanted);
}

static gint64
count_rows(const char *path, const char *table)
{
    sqlite3 *db;
    sqlite3_stmt *statement;
    g_autofree char *sql = g_strdup_printf("SELECT count(*) FROM %s", table);
    g_assert_cmpint(sqlite3_open(path, &db), ==, SQLITE_OK);
    g_assert_cmpint(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), ==, SQLITE_OK);
    g_assert_cmpint(sqlite3_step(statement), ==, SQLITE_ROW);
    const gint64 count = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return count;
}

/* Processes of a user, each with a name of its own, long arguments and one sample. */
static void
add_lives(History *history, guint32 user, guint first, guint count)
{
    g_autofree char *arguments = g_strnfill(ARGUMENTS, 'a');
    for (guint i = first; i < first + count; i++) {
        g_autoptr(StatsSample) sample = fixture_sample(SOME_DAY + i * SECOND, i);
        g_autofree char *name = g_strdup_printf("p%u", i);
        const HistoryLife life = {.target = name,
                                  .source = HISTORY_SOURCE_LIVE,
                                  .pid = 10 + i,
                                  .boot = "boot",
                                  .process = {"other", arguments, "/"}};
        claim(history, name, user, TRUE);
        g_assert_true(history_record(history, &life, sample, HISTORY_TOTALS, NULL));
    }
}

static void
assert_kept(History *history, guint wanted)
{
    g_autoptr(GPtrArray) kept = fixture_read(history, "redis", HISTORY_ALL_TIME);
    g_assert_cmpuint(kept->len, ==, wanted);
}

/* The texts of ended processes displace no samples of another user, and go when their samples go. */
static void
test_texts_displace_no_samples(void)
{
    const guint64 max = 4 << 20;
    g_autoptr(GError) error = NULL;
    g_autoptr(History) history = history_open_in_memory(NULL);
    claim(history, "redis", 1000, TRUE);
    fixture_add(history, fixture_begin(history, "redis", 1), SOME_DAY - 10000 * SECOND, 300);
    for (guint round = 0; round < 3; round++) {
        const HistoryRetention retention = {.max_bytes = max};
        HistoryRetained retained;
        add_lives(history, 65534, round * LIVES, LIVES);
        g_assert_true(history_retain(history, &retention, SOME_DAY, &retained, &error));
        g_assert_no_error(error);
        g_assert_cmpuint(retained.bytes, <=, max);
        assert_kept(history, 300);
    }
}

/* Of processes without data a number is kept, and the rest of what described them goes. */
static void
test_empty_lives(void)
{
    char *path = fixture_path();
    {
        g_autoptr(History) history = fixture_open(path);
        claim(history, "redis", 1000, TRUE);
        const gint64 first = fixture_begin(history, "redis", 1);
        fixture_add(history, first, SOME_DAY, 3);
        add_lives(history, 65534, 0, LIVES);
        const HistoryRetention retention = {.keep_us = 1};
        g_assert_true(history_retain(history, &retention, SOME_DAY * 2, NULL, NULL));
        g_assert_true(history_has(history, first));
        claim(history, "redis", 65534, FALSE);
    }
    g_assert_cmpint(count_rows(path, "block"), ==, 0);
    g_assert_cmpint(count_rows(path, "process"), ==, 0);
    g_assert_cmpint(count_rows(path, "incarnation"), ==, FORGET_LIVES_OF_USER + 1);
    g_assert_cmpint(count_rows(path, "target"), ==, FORGET_LIVES_OF_USER + 1);
    fixture_remove(path);
}

/* An id that was given once belongs to no other process. */
static void
test_ids_are_not_reused(void)
{
    g_autoptr(History) history = history_open_in_memory(NULL);
    const HistoryRetention retention = {.keep_us = 1};
    gint64 last = 0;
    for (guint i = 0; i < FORGET_LIVES_OF_USER + 10; i++)
        last = fixture_begin(history, "redis", 1 + i);
    g_assert_true(history_retain(history, &retention, SOME_DAY, NULL, NULL));
    g_assert_false(history_has(history, 1));
    g_assert_true(history_has(history, last));
    g_assert_cmpint(fixture_begin(history, "redis", 1), ==, last + 1);
}

/* Of a user's names without data, some are forgotten; those of others stay theirs. */
static void
test_names(void)
{
    char *path = fixture_path();
    {
        g_autoptr(History) history = fixture_open(path);
        claim(history, "redis", 1000, TRUE);
        for (guint i = 0; i < FORGET_NAMES_OF_USER * 2; i++) {
            g_autofree char *name = g_strdup_printf("name%u", i);
            claim(history, name, 65534, TRUE);
        }
        claim(history, "redis", 65534, FALSE);
    }
    g_assert_cmpint(count_rows(path, "owner"), <=, FORGET_NAMES_OF_USER + 1025);
    fixture_remove(path);
}

/* Remarks on one user's series displace none on another's. */
static void
test_notes(void)
{
    char *path = fixture_path();
    {
        g_autoptr(History) history = fixture_open(path);
        const HistoryRetention retention = {.keep_us = 1};
        claim(history, "redis", 1000, TRUE);
        claim(history, "noisy", 65534, TRUE);
        g_assert_true(history_note(history, "redis", SOME_DAY, "it is silent", NULL));
        for (guint i = 0; i < FORGET_NOTES_OF_USER + 100; i++)
            g_assert_true(history_note(history, "noisy", SOME_DAY, "it is silent", NULL));
        g_assert_true(history_retain(history, &retention, SOME_DAY, NULL, NULL));
    }
    g_assert_cmpint(count_rows(path, "note"), ==, FORGET_NOTES_OF_USER + 1);
    fixture_remove(path);
}

/* The limits of all targets are kept to in a time that does not grow with the square of their number. */
static void
test_dumps_of_many(void)
{
    g_autoptr(History) history = history_open_in_memory(NULL);
    const HistoryDumpRetention retention = {.count = 1, .total_bytes = G_MAXINT64};
    for (guint i = 0; i < LIVES; i++) {
        g_autofree char *name = g_strdup_printf("p%u", i);
        const gint64 life = fixture_begin(history, name, 1 + i);
        const HistoryPackedDump packed = {.bytes = 0, .content = g_bytes_new_static("x", 1)};
        for (guint n = 0; n < 2; n++) {
            RouteDump dump = {.taken_ms = 1};
            g_assert_true(history_dump_add_packed(history, life, &packed, &dump, NULL));
        }
        g_bytes_unref(packed.content);
    }
    const clock_t begun = clock();
    g_assert_true(history_retain_all_dumps(history, &retention, SOME_DAY, NULL));
    g_assert_cmpint(clock() - begun, <, 5 * CLOCKS_PER_SEC);
    g_autoptr(GArray) kept = history_dumps(history, 1, 10, NULL);
    g_assert_cmpuint(kept->len, ==, 1);
}

static void
add_of_log(History *history, HistorySource source, const char *name, guint version, const char *writer, guint number)
{
    g_autoptr(StatsSample) sample = fixture_sample(SOME_DAY + number * SECOND, number);
    g_autofree char *boot = g_strdup_printf("%u\n%s", version, writer);
    const HistoryLife life = {.target = name, .source = source, .boot = boot};
    g_autoptr(GError) error = NULL;
    history_record(history, &life, sample, HISTORY_TOTALS, &error);
    g_assert_no_error(error);
}

static const HistoryTarget *
find_target(const GPtrArray *targets, const char *name)
{
    for (guint i = 0; i < targets->len; i++)
        if (g_str_equal(((const HistoryTarget *)targets->pdata[i])->name, name))
            return targets->pdata[i];
    g_assert_not_reached();
}

/* No sample is lost, and nobody else's life is taken. */
static void
test_versions_of_a_log(void)
{
    const guint beyond = HISTORY_LIVES_OF_WRITER + 44;
    g_autoptr(History) history = history_open_in_memory(NULL);
    add_of_log(history, HISTORY_SOURCE_IMPORT, "redis", 0, "main", beyond);
    for (guint i = 0; i < beyond; i++)
        add_of_log(history, HISTORY_SOURCE_LOG, "redis", i, "main", i);
    add_of_log(history, HISTORY_SOURCE_LOG, "other", 0, "main", 0);
    g_autoptr(GPtrArray) kept = fixture_read(history, "redis", HISTORY_ALL_TIME);
    g_assert_cmpuint(kept->len, ==, beyond + 1);
    g_autoptr(GPtrArray) targets = history_targets(history, NULL);
    const HistoryTarget *redis = find_target(targets, "redis"), *other = find_target(targets, "other");
    g_assert_cmpuint(redis->incarnations, ==, HISTORY_LIVES_OF_WRITER + 1);
    g_assert_cmpuint(redis->notes->len, ==, 1);
    g_assert_nonnull(strstr(((const HistoryNote *)redis->notes->pdata[0])->text, "256 versions"));
    g_assert_cmpuint(other->incarnations, ==, 1);
    g_assert_cmpuint(other->notes->len, ==, 0);
}

static void
run_sql(const char *path, const char *sql)
{
    sqlite3 *db;
    g_assert_cmpint(sqlite3_open(path, &db), ==, SQLITE_OK);
    g_assert_cmpint(sqlite3_exec(db, sql, NULL, NULL, NULL), ==, SQLITE_OK);
    sqlite3_close(db);
}

/* A history of an earlier version, in which a log has left many lives. Counting them took 20 ms for each sample. */
static void
test_writers_of_a_log(void)
{
    char *path = fixture_path();
    history_close(fixture_open(path));
    run_sql(path, "INSERT INTO target(name) VALUES ('redis');"
                  "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)"
                  "INSERT INTO incarnation(target, source, pid, start_ticks, boot, every_us)"
                  " SELECT 1, 1, 0, 0, i || char(10) || 'main', 0 FROM n;"
                  "DROP INDEX life_by_writer; PRAGMA user_version = 5");
    {
        g_autoptr(History) history = fixture_open(path);
        const gint64 begun_us = thread_time_us();
        for (guint i = 0; i < 1000; i++) {
            g_autofree char *first = history_log_target(history, "redis", "main");
            g_autofree char *next = history_log_target(history, "redis", "next");
            g_assert_cmpstr(first, ==, "redis");
            g_assert_cmpstr(next, ==, "redis/next");
            add_of_log(history, HISTORY_SOURCE_LOG, "redis", 200000 + i, "main", i);
        }
        g_assert_cmpint(thread_time_us() - begun_us, <, 5 * SECOND);
    }
    g_assert_cmpint(count_rows(path, "incarnation"), ==, 100000);
    fixture_remove(path);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/history/texts-displace-no-samples", test_texts_displace_no_samples);
    g_test_add_func("/history/empty-lives", test_empty_lives);
    g_test_add_func("/history/ids-are-not-reused", test_ids_are_not_reused);
    g_test_add_func("/history/names", test_names);
    g_test_add_func("/history/notes", test_notes);
    g_test_add_func("/history/dumps-of-many", test_dumps_of_many);
    g_test_add_func("/history/versions-of-a-log", test_versions_of_a_log);
    g_test_add_func("/history/writers-of-a-log", test_writers_of_a_log);
    return g_test_run();
}
