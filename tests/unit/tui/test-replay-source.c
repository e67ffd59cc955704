/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/replay-source.h"

#include "../history/fixture.h"
#include "history/database.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void
add_dump(const char *path)
{
    g_autoptr(History) history = fixture_open(path);
    g_auto(HistoryPackedDump) packed = {0};
    RouteDump dump = {.taken_ms = 2000};
    gint64 life = fixture_begin(history, "redis", 1);
    int fd = memfd_create("dump", MFD_CLOEXEC);
    g_assert_cmpint(write(fd, "heap_v2", 7), ==, 7);
    fixture_add(history, life, G_USEC_PER_SEC, 3);
    g_assert_true(history_dump_pack(fd, &packed, NULL) && history_dump_add_packed(history, life, &packed, &dump, NULL));
    close(fd);
}

static ReplaySource *
open_source(const char *path)
{
    g_autoptr(GError) error = NULL;
    ReplaySource *source = replay_source_new(path, &error);
    g_assert_no_error(error);
    return source;
}

/* Frees SOURCE. */
static uid_t
owner_of_first_dump(ReplaySource *source)
{
    g_autoptr(GError) error = NULL;
    struct stat status;
    g_autoptr(GArray) dumps = replay_source_dumps(source, "redis", G_MAXINT64, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(dumps->len, ==, 1);
    int fd = replay_source_open_dump(source, &g_array_index(dumps, ReplayDump, 0), &error);
    g_assert_no_error(error);
    g_assert_no_errno(fstat(fd, &status));
    close(fd);
    replay_source_free(source);
    return status.st_uid;
}

static uid_t
owner_of_dump(const char *path)
{
    return owner_of_first_dump(open_source(path));
}

/* The dump in another user's history names files of his choice: they are read with his rights. */
static void
test_owner(void)
{
    char *path = fixture_path();
    g_autofree char *directory = g_path_get_dirname(path);
    add_dump(path);
    g_assert_cmpuint(owner_of_dump(path), ==, geteuid());
    if (geteuid() == 0) {
        g_assert_no_errno(chown(path, 4321, (gid_t)-1));
        g_assert_cmpuint(owner_of_dump(path), ==, 4321);
        g_assert_no_errno(chown(path, 0, (gid_t)-1));
        g_assert_no_errno(chown(directory, 4321, (gid_t)-1));
        g_assert_cmpuint(owner_of_dump(path), ==, 65534);
    }
    fixture_remove(path);
}

/* Its author does not become root by a link to a directory of root's that he puts in the place of his own. */
static void
test_owner_after_an_exchange(void)
{
    if (geteuid() != 0) {
        g_test_skip("only root has files of other users");
        return;
    }
    char *path = fixture_path(), *other = fixture_path();
    g_autofree char *directory = g_path_get_dirname(path), *of_root = g_path_get_dirname(other);
    g_autofree char *moved = g_strconcat(directory, ".moved", NULL);
    add_dump(path);
    add_dump(other);
    g_assert_no_errno(chown(path, 4321, (gid_t)-1));
    g_assert_no_errno(chown(directory, 4321, (gid_t)-1));
    ReplaySource *source = open_source(path);
    g_assert_no_errno(rename(directory, moved));
    g_assert_no_errno(symlink(of_root, directory));
    g_assert_cmpuint(owner_of_first_dump(source), ==, 4321);
    g_assert_no_errno(unlink(directory));
    g_assert_no_errno(rename(moved, directory));
    fixture_remove(path);
    fixture_remove(other);
}

static gboolean
has_event(const GArray *events, gint64 time_us, const char *text)
{
    for (guint i = 0; i < events->len; i++) {
        const ReplayEvent *event = &g_array_index(events, ReplayEvent, i);
        g_test_message("%" G_GINT64_FORMAT " %s", event->time_us, event->text);
        if (event->time_us == time_us && g_strcmp0(event->text, text) == 0)
            return TRUE;
    }
    return FALSE;
}

/* Two processes of one target, the second of which is the user's, with what was kept and remarked. */
static void
add_lives(const char *path)
{
    g_autoptr(History) history = fixture_open(path);
    const HistoryRecording recording = {.id = 7,
                                        .begin_ms = 1000,
                                        .duration_ms = 30000,
                                        .state = ROUTE_RECORDING_FAILED,
                                        .why = (char *)(guintptr) "no\nspace"};
    gboolean granted;
    gint64 first = fixture_begin(history, "redis", 41);
    fixture_add(history, first, G_USEC_PER_SEC, 3);
    g_assert_true(history_recording_put(history, first, &recording, NULL));
    const HistoryLife named = {.target = "redis",
                               .pid = 42,
                               .boot = "boot",
                               .version = "5.3.0",
                               .every_us = 10 * G_USEC_PER_SEC,
                               .process = {"me", "redis-server\033[2J --port 1", "/redis.service"}};
    gint64 second;
    g_assert_true(history_begin(history, &named, &second, NULL));
    fixture_add(history, second, 100 * G_USEC_PER_SEC, 2);
    fixture_add(history, second, 500 * G_USEC_PER_SEC, 2);
    g_assert_true(history_note(history, "redis", 200 * G_USEC_PER_SEC, "the clock was set", NULL));
    g_assert_true(history_claim(history, "redis", &(HistoryOwner){4321, ""}, &granted, NULL));
    fixture_add(history, fixture_begin(history, "other", 0), G_USEC_PER_SEC, 1);
}

/* Another process keeps what readers of the history lock until it is ended. */
static pid_t
lock_out(const char *path)
{
    g_autofree char *index = g_strconcat(path, "-shm", NULL);
    int ready[2];
    char byte = 0;
    g_assert_no_errno(pipe(ready));
    const pid_t pid = fork();
    if (pid == 0) {
        struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        const int fd = open(index, O_RDWR | O_CREAT, 0600);
        if (fd < 0 || fcntl(fd, F_SETLK, &all) != 0 || write(ready[1], &byte, 1) != 1)
            _exit(1);
        pause();
        _exit(0);
    }
    close(ready[1]);
    g_assert_cmpint(read(ready[0], &byte, 1), ==, 1);
    close(ready[0]);
    return pid;
}

/* It is said, not shown as a history without samples. */
static void
test_locked(void)
{
    g_autoptr(GError) error = NULL;
    char *path = fixture_path();
    const ReplayWindow window = {.from_us = 0, .step_us = G_USEC_PER_SEC, .count = 10, .parts = HISTORY_TOTALS};
    add_dump(path);
    ReplaySource *source = open_source(path);
    g_autoptr(GPtrArray) samples = replay_source_read(source, &window, &error);
    g_assert_no_error(error);
    g_assert_nonnull(samples);
    const pid_t pid = lock_out(path);
    g_assert_null(replay_source_read(source, &window, &error));
    g_assert_nonnull(error);
    g_test_message("%s", error->message);
    g_assert_nonnull(strstr(error->message, "is locked by another process"));
    kill(pid, SIGKILL);
    g_assert_cmpint(waitpid(pid, NULL, 0), ==, pid);
    replay_source_free(source);
    fixture_remove(path);
}

static void
test_lives(void)
{
    g_autoptr(GError) error = NULL;
    char *path = fixture_path();
    add_dump(path);
    add_lives(path);
    ReplaySource *source = replay_source_new(path, &error);
    g_assert_no_error(error);
    const GArray *targets = replay_source_targets(source);
    g_assert_cmpuint(targets->len, ==, 2);
    const ReplayTarget *other = &g_array_index(targets, ReplayTarget, 0);
    const ReplayTarget *redis = &g_array_index(targets, ReplayTarget, 1);
    g_assert_cmpint(other->user, ==, -1);
    g_assert_cmpint(redis->user, ==, 4321);
    g_assert_cmpuint(redis->lives->len, ==, 3);
    g_assert_cmpint(g_array_index(redis->lives, ReplayLife, 2).pid, ==, 42);
    g_assert_cmpstr(g_array_index(redis->lives, ReplayLife, 1).user, ==, "");
    g_assert_cmpstr(g_array_index(redis->lives, ReplayLife, 1).arguments, ==, "");
    g_assert_cmpstr(g_array_index(redis->lives, ReplayLife, 2).user, ==, "me");
    g_assert_cmpstr(g_array_index(redis->lives, ReplayLife, 2).arguments, ==, "redis-server\\u{001B}[2J --port 1");
    g_assert_cmpstr(g_array_index(redis->lives, ReplayLife, 2).group, ==, "/redis.service");
    g_assert_cmpint(g_array_index(redis->lives, ReplayLife, 2).first_us, ==, 100 * G_USEC_PER_SEC);
    g_assert_cmpint(g_array_index(redis->lives, ReplayLife, 2).last_us, ==, 510 * G_USEC_PER_SEC);

    g_autoptr(GArray) events = replay_source_events(source, "redis");
    g_assert_true(has_event(events, 2 * G_USEC_PER_SEC, "heap dump 1 was kept"));
    g_assert_true(has_event(events, G_USEC_PER_SEC, "recording 7 began: for 30 s; it failed: no\\u{000A}space"));
    g_assert_true(has_event(events, G_USEC_PER_SEC, "process 41: its first sample"));
    g_assert_true(has_event(events, 21 * G_USEC_PER_SEC, "process 41: its last sample; another one follows"));
    g_assert_true(has_event(events, 100 * G_USEC_PER_SEC, "process 42: its first sample"));
    g_assert_false(has_event(events, 510 * G_USEC_PER_SEC, "process 42: its last sample; another one follows"));
    g_assert_true(has_event(events, 110 * G_USEC_PER_SEC, "no samples for 390 s"));
    g_assert_true(has_event(events, 200 * G_USEC_PER_SEC, "the clock was set"));
    for (guint i = 1; i < events->len; i++)
        g_assert_cmpint(g_array_index(events, ReplayEvent, i - 1).time_us, <=,
                        g_array_index(events, ReplayEvent, i).time_us);
    replay_source_free(source);
    fixture_remove(path);
}

/* Another user's processes have had more names than are shown: a service whose name comes after them is shown, and so
 * are the latest of that user's. */
static void
test_crowd(void)
{
    enum { CROWD = 4200, USER = 4321 };
    g_autoptr(GError) error = NULL;
    char *path = fixture_path();
    History *history = fixture_open(path);
    gboolean mine, granted, has_first = FALSE, has_last = FALSE, has_service = FALSE;
    g_assert_true(database_begin(history, &mine, NULL));
    for (guint i = 0; i <= CROWD; i++) {
        g_autofree char *name = i < CROWD ? g_strdup_printf("a%04u", i) : g_strdup("redis");
        g_autoptr(StatsSample) sample = stats_sample_new(STATS_SOURCE_LIVE);
        sample->time_us = SOME_DAY + (i < CROWD ? i + 1 : 0) * SECOND;
        stats_values_set(sample->totals, STATS_ALLOCATED, 1);
        g_assert_true(history_claim(history, name, &(HistoryOwner){i < CROWD ? USER : 0, ""}, &granted, NULL));
        g_assert_true(history_add(history, fixture_begin(history, name, i + 1), sample, HISTORY_TOTALS, NULL));
    }
    g_assert_true(database_end(history, mine, TRUE, NULL));
    history_close(history);
    ReplaySource *source = replay_source_new(path, &error);
    g_assert_no_error(error);
    const GArray *targets = replay_source_targets(source);
    g_assert_cmpuint(targets->len, ==, 4096);
    g_assert_cmpuint(replay_source_left_out(source), ==, CROWD + 1 - 4096);
    for (guint i = 0; i < targets->len; i++) {
        const char *name = g_array_index(targets, ReplayTarget, i).name;
        has_service = has_service || g_str_equal(name, "redis");
        has_first = has_first || g_str_equal(name, "a0000");
        has_last = has_last || g_str_equal(name, "a4199");
    }
    g_assert_true(has_service);
    g_assert_true(has_last);
    g_assert_false(has_first);
    replay_source_free(source);
    fixture_remove(path);
}

/* Adds a sample of process PID of NAME, whose arguments and control group have TEXT bytes each. */
static void
add_process(History *history, const char *name, gint64 pid, gsize text)
{
    g_autofree char *arguments = g_strnfill(text, 'a'), *group = g_strnfill(text, 'g');
    const HistoryLife life = {
        .target = name, .pid = pid, .boot = "boot", .every_us = 10 * SECOND, .process = {"me", arguments, group}};
    gint64 incarnation;
    g_autoptr(StatsSample) sample = stats_sample_new(STATS_SOURCE_LIVE);
    sample->time_us = SOME_DAY + pid * SECOND;
    stats_values_set(sample->totals, STATS_ALLOCATED, 1);
    g_assert_true(history_begin(history, &life, &incarnation, NULL) &&
                  history_add(history, incarnation, sample, HISTORY_TOTALS, NULL));
}

/* Of thousands of targets, each has a share of the memory for texts, which its last processes have, and one whose name
 * is too long is left out. */
static void
test_long_texts(void)
{
    enum { TARGETS = 4000, SHARE = (64 << 20) / TARGETS };
    g_autoptr(GError) error = NULL;
    g_autofree char *long_name = g_strnfill(2000, 'n');
    char *path = fixture_path();
    History *history = fixture_open(path);
    gboolean mine;
    g_assert_true(database_begin(history, &mine, NULL));
    for (guint i = 1; i < TARGETS; i++) {
        g_autofree char *name = g_strdup_printf("a%04u", i);
        add_process(history, name, i, 1);
    }
    for (guint i = 0; i < 3; i++)
        add_process(history, "redis", TARGETS + i, SHARE / 5);
    add_process(history, long_name, 1, 1);
    g_assert_true(database_end(history, mine, TRUE, NULL));
    history_close(history);
    ReplaySource *source = replay_source_new(path, &error);
    g_assert_no_error(error);
    const GArray *targets = replay_source_targets(source);
    g_assert_cmpuint(targets->len, ==, TARGETS);
    g_assert_cmpuint(replay_source_left_out(source), ==, 1);
    const ReplayTarget *redis = &g_array_index(targets, ReplayTarget, TARGETS - 1);
    g_assert_cmpstr(redis->name, ==, "redis");
    g_assert_cmpuint(redis->lives->len, ==, 3);
    g_assert_cmpuint(strlen(g_array_index(redis->lives, ReplayLife, 2).arguments), ==, SHARE / 5);
    g_assert_cmpuint(strlen(g_array_index(redis->lives, ReplayLife, 1).arguments), ==, SHARE / 5);
    g_assert_cmpstr(g_array_index(redis->lives, ReplayLife, 0).arguments, ==, "");
    replay_source_free(source);
    fixture_remove(path);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/replay-source/owner", test_owner);
    g_test_add_func("/replay-source/owner-after-an-exchange", test_owner_after_an_exchange);
    g_test_add_func("/replay-source/locked", test_locked);
    g_test_add_func("/replay-source/lives", test_lives);
    g_test_add_func("/replay-source/crowd", test_crowd);
    g_test_add_func("/replay-source/long-texts", test_long_texts);
    return g_test_run();
}
