/* SPDX-License-Identifier: Apache-2.0 */
#include "blackbox/files.h"
#include "blackbox/keeper.h"
#include "blackbox/record.h"

#include <glib/gstdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PID = 4000000 /* above every process id */ };

static char *root;

static void
begin(void)
{
    root = g_dir_make_tmp("jescope-blackbox-XXXXXX", NULL);
}

static void
end(void)
{
    char remove[] = "rm", whole[] = "-r";
    char *words[] = {remove, whole, root, NULL};
    g_assert_true(g_spawn_sync(NULL, words, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL, NULL, NULL));
    g_free(root);
}

static uid_t user; /* of the processes */

static BlackboxKeeper *
keeper_of(const char *name, pid_t pid, const BlackboxQuota *quota)
{
    Process process = {.pid = pid, .start_time = 7, .uids = {user, user, user}};
    g_strlcpy(process.name, name, sizeof(process.name));
    return blackbox_keeper_new(root, &process, quota, NULL);
}

/* Adds a snapshot with a dump of BYTES bytes; 0: no dump. */
static void
add(BlackboxKeeper *keeper, gint64 time_us, gsize bytes)
{
    g_autoptr(BlackboxSnapshot) snapshot = g_new0(BlackboxSnapshot, 1);
    g_autofree char *text = g_malloc0(bytes + 1);
    int dump = bytes > 0 ? memfd_create("dump", MFD_CLOEXEC) : -1;
    *snapshot = (BlackboxSnapshot){.time_us = time_us,
                                   .reason = g_strdup("grew"),
                                   .memory = {.used = 5, .limit = BLACKBOX_UNKNOWN, .held = 9},
                                   .missing = bytes == 0 ? g_strdup("refused\nthere") : NULL};
    if (dump >= 0)
        g_assert_cmpint(write(dump, text, bytes), ==, bytes);
    g_assert_true(blackbox_keeper_add(keeper, snapshot, dump, NULL));
    if (dump >= 0)
        close(dump);
}

static GPtrArray *
lives_of(const char *name)
{
    GPtrArray *lives = blackbox_lives(root, name, NULL, NULL);
    g_assert_nonnull(lives);
    return lives;
}

static void
assert_numbers(const BlackboxLife *life, const char *expected)
{
    g_autoptr(GString) numbers = g_string_new(NULL);
    for (guint i = 0; i < life->snapshots->len; i++)
        g_string_append_printf(numbers, "%u ", ((const BlackboxSnapshot *)life->snapshots->pdata[i])->number);
    g_assert_cmpstr(numbers->str, ==, expected);
}

/* A process is found by its name as the kernel has it, whatever is in it. */
static void
test_names(void)
{
    static const char *const names[][2] = {
        {"two words", "two words"}, {" blanks ", " blanks "},    {"back\\slash", "back\\slash"},
        {"a?[31mb", "a\033[31mb"},  {"a?b", "a\xff\x62"},        {"a-name-of-a-service", "a-name-of-a-ser"},
        {"; #=[x]", "; #=[x]"},     {"line?feed", "line\nfeed"},
    };
    const BlackboxQuota quota = {.snapshots = 3, .lives = 50, .lives_of_user = 99, .bytes = 1 << 20};
    for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
        begin();
        BlackboxKeeper *keeper = keeper_of(names[i][0], PID, &quota);
        add(keeper, 11, 1000);
        g_autoptr(GPtrArray) whole = lives_of(names[i][0]);
        g_autoptr(GPtrArray) found = lives_of(names[i][1]);
        g_autoptr(GPtrArray) none = lives_of("another");
        g_assert_cmpuint(whole->len, ==, 1);
        g_assert_cmpuint(found->len, ==, 1);
        g_assert_cmpuint(none->len, ==, 0);
        blackbox_keeper_free(keeper);
        end();
    }
}

/* Any process may have an empty name; what was in memory before must not be in the path. */
static void
test_no_name(void)
{
    gpointer blocks[8];
    for (gsize i = 0; i < G_N_ELEMENTS(blocks); i++)
        blocks[i] = g_strnfill(20, 'x');
    for (gsize i = 0; i < G_N_ELEMENTS(blocks); i++)
        g_free(blocks[i]);
    g_autofree char *path = files_life("/root", "", 7, 9);
    g_assert_cmpstr(path, ==, "/root/_/7.9");
    g_autofree char *hidden = files_life("/root", "..", 7, 9);
    g_assert_cmpstr(hidden, ==, "/root/_./7.9");
}

/* Snapshots are written and read back: the first, the latest ones and the end are kept. */
static void
test_round(void)
{
    const BlackboxQuota quota = {.snapshots = 3, .lives = 5, .lives_of_user = 99, .bytes = 1 << 20};
    const BlackboxEnd killed = {.time_us = 77,
                                .cause = BLACKBOX_CAUSE_OOM,
                                .number = 9,
                                .used = 99,
                                .limit = 100,
                                .read_us = 76,
                                .kills_before = 1,
                                .kills_after = 2,
                                .unit = "redis.service",
                                .unit_result = "oom-kill"};
    begin();
    BlackboxKeeper *keeper = keeper_of("a/../b", PID, &quota);
    for (guint i = 1; i <= 5; i++)
        add(keeper, 10 + i, 1000 * i);
    g_autoptr(GPtrArray) lives = lives_of(NULL);
    g_assert_cmpuint(lives->len, ==, 1);
    const BlackboxLife *life = lives->pdata[0];
    assert_numbers(life, "1 4 5 ");
    const BlackboxSnapshot *last = life->snapshots->pdata[2];
    struct stat st;
    g_assert_cmpint(g_lstat(last->dump, &st), ==, 0);
    g_assert_cmpuint(st.st_mode & 0777, ==, 0600);
    g_assert_cmpuint(last->dump_bytes, ==, 5000);
    g_assert_cmpuint(last->memory.used, ==, 5);
    g_assert_cmpuint(last->memory.held, ==, 9);
    g_assert_cmpuint(last->memory.limit, ==, BLACKBOX_UNKNOWN);
    g_assert_cmpstr(last->reason, ==, "grew");
    g_assert_cmpstr(life->name, ==, "a/../b");
    g_assert_true(life->watched);
    g_assert_false(life->has_end);
    g_assert_true(blackbox_keeper_end(keeper, &killed, NULL));
    blackbox_keeper_free(keeper);
    g_autoptr(GPtrArray) ended = lives_of("4000000");
    life = ended->pdata[0];
    g_assert_false(life->watched);
    g_assert_true(life->has_end);
    g_assert_cmpint(life->end.cause, ==, BLACKBOX_CAUSE_OOM);
    g_assert_cmpuint(life->end.kills_after, ==, 2);
    g_assert_cmpstr(life->end.unit, ==, "redis.service");
    g_assert_cmpstr(life->end.unit_result, ==, "oom-kill");
    g_assert_cmpint(life->latest_us, ==, 77);
    end();
}

/* Snapshots without a dump do not displace any with one. */
static void
test_without_dump(void)
{
    const BlackboxQuota quota = {.snapshots = 2, .lives = 5, .lives_of_user = 99, .bytes = 1 << 20};
    begin();
    g_autoptr(BlackboxKeeper) keeper = keeper_of("service", PID, &quota);
    add(keeper, 1, 100);
    add(keeper, 2, 100);
    for (guint i = 0; i < 5; i++)
        add(keeper, 3 + i, 0);
    g_autoptr(GPtrArray) lives = lives_of("service");
    const BlackboxLife *life = lives->pdata[0];
    assert_numbers(life, "1 7 ");
    const BlackboxSnapshot *last = life->snapshots->pdata[1];
    g_assert_null(last->dump);
    g_assert_cmpstr(last->missing, ==, "refused\\u{000A}there");
    end();
}

/* A second keeper is refused; after the first is freed, it continues the numbers. */
static void
test_again(void)
{
    const BlackboxQuota quota = {.snapshots = 9, .lives = 5, .lives_of_user = 99, .bytes = 1 << 20};
    const Process process = {.pid = PID, .start_time = 7, .name = "service"};
    g_autoptr(GError) error = NULL;
    begin();
    BlackboxKeeper *keeper = keeper_of("service", PID, &quota);
    add(keeper, 1, 100);
    g_assert_null(blackbox_keeper_new(root, &process, &quota, &error));
    g_assert_error(error, BLACKBOX_ERROR, BLACKBOX_ERROR_BUSY);
    g_autofree char *life = files_life(root, "service", PID, 7);
    g_autofree char *half = g_build_filename(life, "000002.heap.new", NULL);
    g_assert_true(g_file_set_contents(half, "half", -1, NULL));
    blackbox_keeper_free(keeper);
    keeper = keeper_of("service", PID, &quota);
    g_assert_false(g_file_test(half, G_FILE_TEST_EXISTS));
    add(keeper, 2, 100);
    g_autoptr(GPtrArray) lives = lives_of(NULL);
    assert_numbers(lives->pdata[0], "1 2 ");
    blackbox_keeper_free(keeper);
    end();
}

/* Old lives of the name are removed, then the oldest of all; a watched one keeps its last snapshot. */
static void
test_quota(void)
{
    const BlackboxQuota quota = {.snapshots = 9, .lives = 2, .lives_of_user = 99, .bytes = 10000};
    begin();
    g_autoptr(BlackboxKeeper) watched = keeper_of("watched", PID, &quota);
    add(watched, 1, 1000);
    for (guint i = 0; i < 4; i++) {
        g_autoptr(BlackboxKeeper) keeper = keeper_of("service", PID + 1 + (pid_t)i, &quota);
        add(keeper, 10 + i, 100);
    }
    g_autoptr(BlackboxKeeper) keeper = keeper_of("service", PID + 10, &quota);
    add(keeper, 20, 4000);
    g_autoptr(GPtrArray) some = lives_of("service");
    g_assert_cmpuint(some->len, ==, 3); /* two ended lives and this one */
    add(keeper, 21, 4000);
    add(keeper, 22, 8500);
    g_autoptr(GPtrArray) lives = lives_of(NULL);
    g_assert_cmpuint(lives->len, ==, 2);
    assert_numbers(lives->pdata[0], "3 ");
    assert_numbers(lives->pdata[1], "1 ");
    end();
}

/* What was kept before the clock was set back is not the latest, and does not displace what has ended since. */
static void
test_clock_set_back(void)
{
    const gint64 now_us = g_get_real_time(), later_us = now_us + G_GINT64_CONSTANT(3600) * G_USEC_PER_SEC;
    const BlackboxQuota quota = {.snapshots = 9, .lives = 2, .lives_of_user = 99, .bytes = 10000};
    begin();
    for (guint i = 0; i < 5; i++) {
        g_autoptr(BlackboxKeeper) keeper = keeper_of("service", PID + 1 + (pid_t)i, &quota);
        add(keeper, i < 2 ? later_us + i : now_us - 5 + i, 100);
    }
    g_autoptr(GPtrArray) lives = lives_of("service");
    g_assert_cmpuint(lives->len, ==, 3); /* two that had ended when the last one was added */
    for (guint i = 0; i < lives->len; i++)
        g_assert_cmpint(((const BlackboxLife *)lives->pdata[i])->pid, ==, PID + 5 - (pid_t)i);
    end();
}

static guint
count_of(const GPtrArray *lives, uid_t whose)
{
    guint n = 0;
    for (guint i = 0; i < lives->len; i++)
        n += ((const BlackboxLife *)lives->pdata[i])->user == whose;
    return n;
}

/* A user whose processes take the name of another user's service, and end any number of times, removes nothing of
 * it. */
static void
test_namesakes(void)
{
    const BlackboxQuota quota = {.snapshots = 9, .lives = 2, .lives_of_user = 99, .bytes = 10000};
    begin();
    user = 1000;
    g_autoptr(BlackboxKeeper) first = keeper_of("service", PID, &quota);
    add(first, 1, 1000);
    g_clear_pointer(&first, blackbox_keeper_free);
    user = 1001;
    for (guint i = 0; i < 5; i++) {
        g_autoptr(BlackboxKeeper) keeper = keeper_of("service", PID + 1 + (pid_t)i, &quota);
        add(keeper, 10 + i, 100);
    }
    g_autoptr(GPtrArray) lives = lives_of("service");
    g_assert_cmpuint(count_of(lives, 1000), ==, 1);
    g_assert_cmpuint(count_of(lives, 1001), ==,
                     3); /* two ended lives, and the one that was running at the last check */
    end();
    user = 0;
}

/* A user whose processes take many names does not fill the directory. A life without snapshots leaves no files. */
static void
test_many_names(void)
{
    const BlackboxQuota quota = {.snapshots = 9, .lives = 2, .lives_of_user = 3, .bytes = 10000};
    begin();
    g_autoptr(BlackboxKeeper) other = keeper_of("service", PID, &quota);
    add(other, 1, 1000);
    g_clear_pointer(&other, blackbox_keeper_free);
    user = 1001;
    for (guint i = 0; i < 8; i++) {
        g_autofree char *name = g_strdup_printf("name%u", i);
        g_autoptr(BlackboxKeeper) keeper = keeper_of(name, PID + 1 + (pid_t)i, &quota);
        if (i % 2 == 0)
            add(keeper, 10 + i, 0);
        else
            add(keeper, 10 + i, 100);
    }
    g_autoptr(BlackboxKeeper) nothing = keeper_of("nothing", PID + 10, &quota);
    g_clear_pointer(&nothing, blackbox_keeper_free);
    g_autofree char *empty = files_life(root, "nothing", PID + 10, 7);
    g_assert_false(g_file_test(empty, G_FILE_TEST_EXISTS));
    g_autoptr(GPtrArray) lives = lives_of(NULL);
    g_assert_cmpuint(count_of(lives, 0), ==, 1);
    g_assert_cmpuint(count_of(lives, 1001), ==,
                     4); /* three ended lives, and the one that was running at the last check */
    end();
    user = 0;
}

/* Nor does one whose processes end before a snapshot is taken. */
static void
test_many_ends(void)
{
    enum { ENDS = 60, AT_ONCE = 16 };
    const BlackboxQuota quota = {.snapshots = 9, .lives = 2, .lives_of_user = 3, .bytes = 10000};
    begin();
    for (guint i = 0; i < ENDS; i++) {
        g_autofree char *name = g_strdup_printf("name%u", i);
        g_autoptr(BlackboxKeeper) keeper = keeper_of(name, PID + (pid_t)i, &quota);
        const BlackboxEnd end = {.time_us = i + 1};
        g_assert_true(blackbox_keeper_end(keeper, &end, NULL));
    }
    g_autoptr(GPtrArray) lives = lives_of(NULL);
    g_assert_cmpuint(lives->len, <=, quota.lives_of_user + AT_ONCE);
    end();
}

/* The user with the most bytes loses the oldest, even if its processes are watched and came last. */
static void
test_users_share_the_bytes(void)
{
    const BlackboxQuota quota = {.snapshots = 9, .lives = 9, .lives_of_user = 99, .bytes = 10000};
    begin();
    user = 1000;
    g_autoptr(BlackboxKeeper) ended = keeper_of("service", PID, &quota);
    add(ended, 1, 2000);
    g_clear_pointer(&ended, blackbox_keeper_free);
    user = 1001;
    g_autoptr(BlackboxKeeper) greedy = keeper_of("greedy", PID + 1, &quota);
    for (guint i = 0; i < 4; i++)
        add(greedy, 10 + i, 4000);
    user = 1000;
    g_autoptr(BlackboxKeeper) later = keeper_of("service", PID + 2, &quota);
    add(later, 20, 3000);
    g_autoptr(GPtrArray) lives = lives_of(NULL);
    g_assert_cmpuint(count_of(lives, 1000), ==, 2);
    assert_numbers(lives->pdata[1], "4 ");
    end();
    user = 0;
}

/* Any number of processes may be watched, but their last snapshots do not take more than the size for all, and displace
 * nothing of others. */
static void
test_last_snapshots(void)
{
    enum { N = 8, EACH = 2500 };
    const BlackboxQuota quota = {.snapshots = 9, .lives = 9, .lives_of_user = 99, .bytes = 10000};
    BlackboxKeeper *greedy[N];
    guint64 bytes = 0;
    begin();
    user = 1000;
    g_autoptr(BlackboxKeeper) ended = keeper_of("service", PID, &quota);
    add(ended, 1, 1000);
    g_clear_pointer(&ended, blackbox_keeper_free);
    user = 1001;
    for (guint i = 0; i < N; i++) {
        greedy[i] = keeper_of("greedy", PID + 1 + (pid_t)i, &quota);
        add(greedy[i], 10 + i, EACH);
    }
    g_autoptr(GPtrArray) lives = lives_of(NULL);
    g_assert_cmpuint(count_of(lives, 1000), ==, 1);
    g_assert_cmpuint(count_of(lives, 1001), ==, N);
    for (guint i = 0; i < lives->len; i++) {
        const BlackboxLife *life = lives->pdata[i];
        g_assert_cmpuint(life->snapshots->len, ==, 1);
        const BlackboxSnapshot *last = life->snapshots->pdata[0];
        g_assert_true((last->dump == NULL) == (last->missing != NULL));
        g_assert_cmpuint(last->memory.used, ==, 5);
        bytes += last->dump_bytes;
    }
    g_assert_cmpuint(bytes, ==, 1000 + 3 * EACH);
    for (guint i = 0; i < N; i++)
        blackbox_keeper_free(greedy[i]);
    end();
    user = 0;
}

/* Files in the directory are removed by name, and another user could have put links there. */
static void
test_directory_of_others(void)
{
    const BlackboxQuota quota = {.snapshots = 9, .lives = 9, .lives_of_user = 99, .bytes = 10000};
    const Process process = {.pid = PID, .start_time = 7, .name = "service"};
    const mode_t modes[] = {0777, 01777, 0770};
    begin();
    for (gsize i = 0; i < G_N_ELEMENTS(modes); i++) {
        g_autoptr(GError) error = NULL;
        g_assert_cmpint(chmod(root, modes[i]), ==, 0);
        g_assert_null(blackbox_keeper_new(root, &process, &quota, &error));
        g_assert_error(error, BLACKBOX_ERROR, BLACKBOX_ERROR_FILE);
    }
    end();
}

/* A damaged file is skipped, and the others are read. */
static void
test_damaged(void)
{
    const BlackboxQuota quota = {.snapshots = 9, .lives = 2, .lives_of_user = 99, .bytes = 1 << 20};
    begin();
    g_autoptr(BlackboxKeeper) keeper = keeper_of("service", PID, &quota);
    add(keeper, 1, 100);
    add(keeper, 2, 100);
    g_autofree char *life = files_life(root, "service", PID, 7);
    g_autofree char *path = files_snapshot(life, 1);
    g_assert_true(g_file_set_contents(path, "[snapshot]\ntime-us=x\n", -1, NULL));
    g_autoptr(GPtrArray) left_out = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GPtrArray) lives = blackbox_lives(root, NULL, left_out, NULL);
    assert_numbers(lives->pdata[0], "2 ");
    g_assert_cmpuint(left_out->len, ==, 1);
    g_assert_nonnull(strstr(left_out->pdata[0], "000001.snapshot: "));
    end();
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/keeper/no-name", test_no_name);
    g_test_add_func("/keeper/clock-set-back", test_clock_set_back);
    g_test_add_func("/keeper/round", test_round);
    g_test_add_func("/keeper/without-dump", test_without_dump);
    g_test_add_func("/keeper/again", test_again);
    g_test_add_func("/keeper/quota", test_quota);
    g_test_add_func("/keeper/namesakes", test_namesakes);
    g_test_add_func("/keeper/many-names", test_many_names);
    g_test_add_func("/keeper/many-ends", test_many_ends);
    g_test_add_func("/keeper/users-share-the-bytes", test_users_share_the_bytes);
    g_test_add_func("/keeper/last-snapshots", test_last_snapshots);
    g_test_add_func("/keeper/directory-of-others", test_directory_of_others);
    g_test_add_func("/keeper/damaged", test_damaged);
    g_test_add_func("/keeper/names", test_names);
    return g_test_run();
}
