/* SPDX-License-Identifier: Apache-2.0 */
#include "history/dumps.h"

#include "etc-file.h"
#include "fixture.h"

#include <sqlite3.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* LENGTH bytes that compress a little, different for each SEED. */
static GBytes *
make_content(guint seed, gsize length)
{
    char *bytes = g_malloc(length);
    guint32 state = seed * 2654435761u + 1;
    for (gsize i = 0; i < length; i++) {
        state = state * 1664525u + 1013904223u;
        bytes[i] = "0123456789abcdef"[state >> 28];
    }
    return g_bytes_new_take(bytes, length);
}

static int
make_file(GBytes *content)
{
    gsize length;
    const void *bytes = g_bytes_get_data(content, &length);
    int fd = memfd_create("test", MFD_CLOEXEC);
    g_assert_cmpint(write(fd, bytes, length), ==, (ssize_t)length);
    return fd;
}

/* As the service does. */
static void
add_file(History *history, gint64 life, int fd, RouteDump *dump)
{
    g_autoptr(GError) error = NULL;
    g_auto(HistoryPackedDump) packed = {0};
    g_assert_true(history_dump_pack(fd, &packed, &error));
    g_assert_true(history_dump_add_packed(history, life, &packed, dump, &error));
}

static int
open_dump(History *history, gint64 life, guint64 id, GError **error)
{
    g_auto(HistoryPackedDump) packed = {0};
    return history_dump_read_packed(history, life, id, &packed, error) ? history_dump_unpack(&packed, error) : -1;
}

static guint64
add(History *history, gint64 life, guint seed, gsize length, gint64 taken_ms)
{
    g_autoptr(GBytes) content = make_content(seed, length);
    RouteDump dump = {.recording = seed, .taken_ms = taken_ms};
    int fd = make_file(content);
    add_file(history, life, fd, &dump);
    g_assert_cmpuint(dump.bytes, ==, length);
    close(fd);
    return dump.id;
}

static void
assert_content(History *history, gint64 life, guint64 id, guint seed, gsize length)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GBytes) content = make_content(seed, length);
    int fd = open_dump(history, life, id, &error);
    g_assert_no_error(error);
    g_autofree char *bytes = g_malloc(length + 1);
    g_assert_cmpint(read(fd, bytes, length + 1), ==, (ssize_t)length);
    g_assert_cmpmem(bytes, length, g_bytes_get_data(content, NULL), length);
    /* Sealed: data being sent does not change. */
    g_assert_cmpint(pwrite(fd, "x", 1, 0), ==, -1);
    close(fd);
}

static guint
count_dumps(History *history, gint64 life)
{
    g_autoptr(GArray) dumps = history_dumps(history, life, 100, NULL);
    return dumps->len;
}

static void
test_round_trip(void)
{
    static const gsize lengths[] = {0, 1, 256 * 1024, 256 * 1024 + 1, 3000000};
    char *path = fixture_path();
    g_autoptr(History) history = fixture_open(path);
    gint64 life = fixture_begin(history, "redis", 1);
    guint64 ids[G_N_ELEMENTS(lengths)];
    for (guint i = 0; i < G_N_ELEMENTS(lengths); i++)
        ids[i] = add(history, life, i, lengths[i], 1000 + i);
    for (guint i = 0; i < G_N_ELEMENTS(lengths); i++)
        assert_content(history, life, ids[i], i, lengths[i]);
    g_autoptr(GArray) dumps = history_dumps(history, life, 2, NULL);
    g_assert_cmpuint(dumps->len, ==, 2);
    const RouteDump *newest = &g_array_index(dumps, RouteDump, 0);
    g_assert_cmpuint(newest->id, ==, ids[4]);
    g_assert_cmpuint(newest->recording, ==, 4);
    g_assert_cmpint(newest->taken_ms, ==, 1004);
    g_assert_cmpuint(newest->bytes, ==, 3000000);
    fixture_remove(path);
}

/* A dump belongs to one life; another life of the same name does not see it. */
static void
test_missing(void)
{
    g_autoptr(History) history = history_open_in_memory(NULL);
    gint64 first = fixture_begin(history, "redis", 1), second = fixture_begin(history, "redis", 2);
    guint64 id = add(history, first, 1, 100, 1);
    g_autoptr(GError) error = NULL;
    g_assert_cmpint(open_dump(history, second, id, &error), ==, -1);
    g_assert_error(error, HISTORY_ERROR, HISTORY_ERROR_MISSING);
    g_assert_cmpuint(count_dumps(history, second), ==, 0);
    assert_content(history, first, id, 1, 100);
}

/* Readers see its age. */
static void
test_dated(void)
{
    g_autoptr(History) history = history_open_in_memory(NULL);
    gint64 life = fixture_begin(history, "redis", 1);
    guint64 id = add(history, life, 1, 100, 86400500);
    int fd = open_dump(history, life, id, NULL);
    struct stat status;
    g_assert_cmpint(fstat(fd, &status), ==, 0);
    g_assert_cmpint(status.st_mtim.tv_sec, ==, 86400);
    g_assert_cmpint(status.st_mtim.tv_nsec, ==, 500000000);
    close(fd);
}

static void
test_damaged(void)
{
    static const char *const damages[] = {
        "UPDATE dump SET content = x'00ff00ff'", "UPDATE dump SET content = substr(content, 1, length(content) - 9)",
        "UPDATE dump SET content = x''",         "UPDATE dump SET bytes = bytes + 1",
        "UPDATE dump SET bytes = bytes - 1",     "UPDATE dump SET bytes = -1",
    };
    for (gsize i = 0; i < G_N_ELEMENTS(damages); i++) {
        char *path = fixture_path();
        g_autoptr(History) history = fixture_open(path);
        gint64 life = fixture_begin(history, "redis", 1);
        guint64 id = add(history, life, 7, 100000, 1);
        sqlite3 *other = NULL;
        sqlite3_open(path, &other);
        g_assert_cmpint(sqlite3_exec(other, damages[i], NULL, NULL, NULL), ==, SQLITE_OK);
        sqlite3_close(other);
        g_autoptr(GError) error = NULL;
        g_assert_cmpint(open_dump(history, life, id, &error), ==, -1);
        g_assert_error(error, HISTORY_ERROR, HISTORY_ERROR_DAMAGED);
        fixture_remove(path);
    }
}

/* Over all lives of one target, but not of others. */
static void
test_retention(void)
{
    static const struct {
        HistoryDumpRetention retention;
        guint first, second;
    } rows[] = {
        {{0}, 5, 5},
        {{.count = 7}, 2, 5},
        {{.count = 3}, 0, 3},
        {{.keep_us = 4500 * 1000}, 0, 5},
        {{.keep_us = 1}, 0, 1},        /* the newest stays */
        {{.max_bytes = 160000}, 0, 3}, /* about 50 kB each */
        {{.max_bytes = 1}, 0, 1},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(History) history = history_open_in_memory(NULL);
        gint64 first = fixture_begin(history, "redis", 1), second = fixture_begin(history, "redis", 2);
        gint64 other = fixture_begin(history, "nginx", 3);
        add(history, other, 1, 1000, 1);
        for (guint n = 0; n < 10; n++)
            add(history, n < 5 ? first : second, n, 100000, 1000 * (n + 1));
        history_retain_dumps(history, second, &rows[i].retention, 10000 * 1000 + 1, &error);
        g_assert_no_error(error);
        g_assert_cmpuint(count_dumps(history, first), ==, rows[i].first);
        g_assert_cmpuint(count_dumps(history, second), ==, rows[i].second);
        g_assert_cmpuint(count_dumps(history, other), ==, 1);
    }
}

/* Of all targets together: the oldest of any goes. */
static void
test_total(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(History) history = history_open_in_memory(NULL);
    gint64 first = fixture_begin(history, "redis", 1), second = fixture_begin(history, "nginx", 2);
    for (guint n = 0; n < 6; n++)
        add(history, n % 2 == 0 ? first : second, n, 100000, 1000 * (n + 1));
    HistoryDumpRetention retention = {.total_bytes = 160000}; /* about 50 kB each */
    history_retain_dumps(history, second, &retention, 0, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(count_dumps(history, first), ==, 1);
    g_assert_cmpuint(count_dumps(history, second), ==, 2);
}

static void
claim_for(History *history, const char *target, guint32 user)
{
    gboolean granted = FALSE;
    g_assert_true(history_claim(history, target, &(HistoryOwner){.user = user, .unit = ""}, &granted, NULL));
    g_assert_true(granted);
}

/* However many targets a user has and however new their dumps are, another user's stay while they are fewer. */
static void
test_total_is_shared(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(History) history = history_open_in_memory(NULL);
    gint64 honest = fixture_begin(history, "redis", 1);
    const gint64 hostile[] = {fixture_begin(history, "one", 2), fixture_begin(history, "two", 3)};
    claim_for(history, "redis", 1000);
    claim_for(history, "one", 65534);
    claim_for(history, "two", 65534);
    add(history, honest, 1, 100000, 1000);
    for (guint n = 0; n < 6; n++)
        add(history, hostile[n % 2], n, 100000, 2000 + n);
    HistoryDumpRetention retention = {.total_bytes = 160000}; /* about 50 kB each */
    history_retain_dumps(history, hostile[0], &retention, 0, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(count_dumps(history, honest), ==, 1);
    g_assert_cmpuint(count_dumps(history, hostile[0]) + count_dumps(history, hostile[1]), ==, 2);
}

/* The same if each target has another id that is subordinate to the user. */
static void
test_total_is_shared_with_subordinate_ids(void)
{
    g_autoptr(GError) error = NULL;
    if (!etc_file_replace("/etc/subuid", "65531:200000:65536\n")) {
        g_test_skip("needs mounts of its own, and /etc/subuid");
        return;
    }
    g_autoptr(History) history = history_open_in_memory(NULL);
    gint64 honest = fixture_begin(history, "redis", 1), hostile = 0;
    claim_for(history, "redis", 1000);
    add(history, honest, 1, 100000, 1000);
    for (guint n = 0; n < 6; n++) {
        g_autofree char *target = g_strdup_printf("subordinate-%u", n);
        hostile = fixture_begin(history, target, 2 + n);
        claim_for(history, target, 200000 + n);
        add(history, hostile, n, 100000, 2000 + n);
    }
    HistoryDumpRetention retention = {.total_bytes = 160000}; /* about 50 kB each */
    history_retain_dumps(history, hostile, &retention, 0, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(count_dumps(history, honest), ==, 1);
}

/* An id that was given once is not given to another dump after the first is gone. */
static void
test_ids_are_not_reused(void)
{
    g_autoptr(History) history = history_open_in_memory(NULL);
    gint64 life = fixture_begin(history, "redis", 1), other = fixture_begin(history, "nginx", 2);
    add(history, other, 1, 10, 1);
    add(history, life, 1, 10, 1);
    guint64 last = add(history, life, 2, 10, 2);
    HistoryDumpRetention one = {.count = 1};
    history_retain_dumps(history, life, &one, 0, NULL);
    g_assert_cmpuint(add(history, other, 3, 10, 3), >, last);
}

static void
test_recordings(void)
{
    g_autoptr(History) history = history_open_in_memory(NULL);
    gint64 life = fixture_begin(history, "redis", 1);
    for (guint n = 1; n <= 5; n++) {
        HistoryRecording recording = {.id = n, .begin_ms = n * 1000, .duration_ms = 500};
        g_assert_true(history_recording_put(history, life, &recording, NULL));
    }
    g_autofree char *why = g_strdup("no way");
    HistoryRecording failed = {.id = 5, .begin_ms = 5000, .duration_ms = 400, .state = 3, .error = 14, .why = why};
    g_assert_true(history_recording_put(history, life, &failed, NULL));
    g_autoptr(GArray) recordings = history_recordings(history, life, 3, NULL);
    g_assert_cmpuint(recordings->len, ==, 3);
    const HistoryRecording *newest = &g_array_index(recordings, HistoryRecording, 0);
    g_assert_cmpuint(newest->id, ==, 5);
    g_assert_cmpuint(newest->duration_ms, ==, 400);
    g_assert_cmpuint(newest->state, ==, 3);
    g_assert_cmpint(newest->error, ==, 14);
    g_assert_cmpstr(newest->why, ==, "no way");
    g_assert_null(g_array_index(recordings, HistoryRecording, 1).why);
    HistoryDumpRetention retention = {.count = 4, .keep_us = 7000 * 1000};
    g_assert_true(history_retain_dumps(history, life, &retention, 10000 * 1000, NULL));
    g_autoptr(GArray) left = history_recordings(history, life, 10, NULL);
    g_assert_cmpuint(left->len, ==, 3); /* 1 and 2 are older */
}

static void
test_kept_lives(void)
{
    g_autoptr(History) history = history_open_in_memory(NULL);
    gint64 first = fixture_begin(history, "redis", 1), second = fixture_begin(history, "nginx", 2);
    fixture_begin(history, "idle", 3);
    HistoryRecording recording = {.id = 1};
    add(history, first, 1, 10, 1);
    g_assert_true(history_recording_put(history, second, &recording, NULL));
    g_autoptr(GArray) lives = history_kept_lives(history, 10, NULL);
    g_assert_cmpuint(lives->len, ==, 2);
    const HistoryKept *latest = &g_array_index(lives, HistoryKept, 0);
    g_assert_cmpstr(latest->target, ==, "nginx");
    g_assert_cmpint(latest->incarnation, ==, second);
    g_assert_cmpint(latest->pid, ==, 2);
    g_assert_cmpuint(latest->start_ticks, ==, 100);
    g_assert_cmpstr(latest->boot, ==, "boot");
}

/* A file of the first schema: its samples are read as they are, and it takes dumps once it was opened for writing. */
static void
test_migration(void)
{
    char *path = fixture_path();
    History *old = fixture_open(path);
    fixture_add(old, fixture_begin(old, "redis", 1), SOME_DAY, 3);
    history_close(old);
    sqlite3 *db = NULL;
    sqlite3_open(path, &db);
    g_assert_cmpint(
        sqlite3_exec(
            db, "DROP TABLE dump; DROP TABLE recording; DROP TABLE owner; DROP TABLE process; PRAGMA user_version = 1",
            NULL, NULL, NULL),
        ==, SQLITE_OK);
    sqlite3_close(db);
    g_autoptr(GError) error = NULL;
    History *reader = history_open(path, HISTORY_READ, &error);
    g_assert_no_error(error);
    g_autoptr(GPtrArray) samples = fixture_read(reader, "redis", HISTORY_ALL_TIME);
    g_assert_cmpuint(samples->len, ==, 3);
    history_close(reader);
    g_autoptr(History) history = fixture_open(path);
    gint64 life = fixture_begin(history, "redis", 1);
    assert_content(history, life, add(history, life, 1, 1000, 1), 1, 1000);
    g_autoptr(GPtrArray) same = fixture_read(history, "redis", HISTORY_ALL_TIME);
    g_assert_cmpuint(same->len, ==, 3);
    fixture_remove(path);
}

/* A bound of the file's size is about samples: dumps do not push them out. */
static void
test_dumps_spare_samples(void)
{
    char *path = fixture_path();
    g_autoptr(History) history = fixture_open(path);
    gint64 life = fixture_begin(history, "redis", 1);
    fixture_add(history, life, SOME_DAY, 20);
    add(history, life, 1, 4000000, 1);
    HistoryRetention retention = {.max_bytes = 1000000};
    HistoryRetained retained;
    g_assert_true(history_retain(history, &retention, SOME_DAY, &retained, NULL));
    g_assert_cmpuint(retained.bytes, >, retention.max_bytes);
    g_assert_cmpuint(retained.removed, ==, 0);
    fixture_remove(path);
}

static gboolean
claim(History *history, guint32 user, const char *unit)
{
    HistoryOwner owner = {.user = user, .unit = unit};
    g_autoptr(GError) error = NULL;
    gboolean granted = FALSE;
    g_assert_true(history_claim(history, "redis", &owner, &granted, &error));
    g_assert_no_error(error);
    return granted;
}

/* The first owner keeps a target, also when the file is opened again. */
static void
test_owner(void)
{
    char *path = fixture_path();
    History *history = fixture_open(path);
    g_assert_true(claim(history, 1000, "redis.service"));
    g_assert_false(claim(history, 65534, "redis.service"));
    history_close(history);
    history = fixture_open(path);
    g_assert_true(claim(history, 1000, "redis.service"));
    g_assert_true(claim(history, 1000, ""));
    g_assert_false(claim(history, 1000, "other.service"));
    g_assert_false(claim(history, 0, ""));
    history_close(history);
    fixture_remove(path);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    /* Before the file is read. */
    g_test_add_func("/history/dumps/total-is-shared-with-subordinate-ids", test_total_is_shared_with_subordinate_ids);
    g_test_add_func("/history/dumps/round-trip", test_round_trip);
    g_test_add_func("/history/dumps/missing", test_missing);
    g_test_add_func("/history/dumps/dated", test_dated);
    g_test_add_func("/history/dumps/damaged", test_damaged);
    g_test_add_func("/history/dumps/retention", test_retention);
    g_test_add_func("/history/dumps/total", test_total);
    g_test_add_func("/history/dumps/total-is-shared", test_total_is_shared);
    g_test_add_func("/history/dumps/ids", test_ids_are_not_reused);
    g_test_add_func("/history/dumps/recordings", test_recordings);
    g_test_add_func("/history/dumps/kept-lives", test_kept_lives);
    g_test_add_func("/history/dumps/migration", test_migration);
    g_test_add_func("/history/dumps/spare-samples", test_dumps_spare_samples);
    g_test_add_func("/history/dumps/owner", test_owner);
    return g_test_run();
}
